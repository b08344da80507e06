"use strict";
/* The state of the controls at first, and the cases to start from, each with a sentence of what to notice. */
const DEFAULTS = {
  kind: "orthogonal", labels: "AABB", angle: 60, matrix: "", names: null, unequal: null, order: null,
  T: 8, n: 50, p: 100, sigma: 0.3, memory: 0,
  learner: "minimum-norm", weight: 0.5, penalty: 10, time: 0.01, rate: 0.002, steps: 20,
};

const PRESETS = [
  {
    group: "The paper",
    cases: [
      { name: "Figure 1 b, d: orthogonal tasks", state: {}, notice: "More parameters mean less forgetting: right of p = n the curve falls." },
      { name: "Figure 1 a, c: identical tasks", state: { kind: "identical" }, notice: "F is negative: learning the same task again improves what was learned before." },
      { name: "Identical tasks, much noise", state: { kind: "identical", sigma: 1 }, notice: "The part of label noise makes even identical tasks forget just above p = n." },
      { name: "Theorem 2: p smaller than n", state: { p: 20 }, notice: "Left of p = n the model keeps nothing of older tasks: F is the full distance between tasks." },
      { name: "At the threshold p = n", state: { p: 55, sigma: 0.5 }, notice: "Just above p = n noise dominates everything. Move p in either direction." },
      { name: "Sec. 4.1: benign overfitting", state: { p: 1000, sigma: 0.6 }, notice: "G far right of the peak is below any G left of it: fitting the noise of many samples with many parameters does less harm." },
      { name: "Sec. 4.1: a descent floor", state: { kind: "angle", angle: 18, p: 112, sigma: 0.1 }, notice: "Similar tasks with little noise: F and G have a lowest point right of p = n. A still larger model is worse." },
      { name: "Sec. 4.2: two tasks at an angle", state: { kind: "angle", angle: 60, sigma: 0.1, p: 200 }, notice: "Move the angle: with two tasks, forgetting grows with their distance." },
      { name: "Sec. 4.2: alike, yet forgotten", state: { kind: "gram", p: 70, sigma: 0, matrix: "1, 0.9, 0, 0\n0.9, 1, 0, 0\n0, 0, 1, 0\n0, 0, 0, 1" }, notice: "Change 0.9 to 0: tasks 1 and 2 are then less alike, and less is forgotten. With p = 200 (r above 0.618) it is the other way round." },
      { name: "Sec. 5.1: opposite tasks", state: { kind: "angle", angle: 180, sigma: 0.1, p: 200 }, notice: "Opposite tasks destroy each other: more is forgotten than with orthogonal ones (90°)." },
      { name: "Prop. C.1: negative forgetting", state: { kind: "angle", angle: 20, sigma: 0.1, p: 200 }, notice: "F is below zero: the second task improves the first. Widen the angle until it no longer does." },
      { name: "Prop. order1: one special task", state: { kind: "categories", labels: "BAAAAA" }, notice: "Drag B, or press “Find the order of least forgetting”: its best place is in the first half, but not the first." },
      { name: "Prop. order2: two categories", state: { kind: "categories", labels: "AAABBB", p: 200 }, notice: "Press “Find the order of least forgetting”: alternating the categories forgets least." },
      { name: "Prop. order3: three categories", state: { kind: "categories", labels: "AABBCC", p: 200 }, notice: "Press “Find the order of least forgetting”: again the categories take turns." },
    ],
  },
  {
    group: "Beyond the paper",
    cases: [
      { name: "Order: unequal categories", state: { kind: "categories", labels: "AAAAAB", p: 55 }, notice: "The paper expects that taking turns, A B A A A A, is best. Press “Find the order of least forgetting”: it is not." },
      { name: "Replay helps", state: { T: 4, p: 20, n: 100, memory: 30 }, notice: "With more samples than parameters, old data is all that keeps old tasks: both curves of “How much old data should I mix in?” fall." },
      { name: "Replay hurts", state: { T: 4, p: 1000, n: 100, memory: 50 }, notice: "A large model has room for all tasks. Old data of unrelated tasks adds conflict to each batch: F and G rise with it." },
      { name: "Replay at the threshold", state: { T: 4, p: 100, n: 50, sigma: 0.5, memory: 12 }, notice: "Old data makes the batch as large as the model (N near p): noise and conflict explode." },
      { name: "Ridge at the threshold", state: { p: 55, sigma: 0.5, learner: "ridge", penalty: 10 }, notice: "A penalty on moving away from the old weights removes the peak at p = n. Choose minimum norm to see it again." },
      { name: "Ridge with replay", state: { T: 4, p: 100, n: 50, sigma: 0.5, memory: 12, learner: "ridge", penalty: 20 }, notice: "The same old data explodes under minimum norm. With a penalty it does little harm; as many old samples as new ones even help a little." },
      { name: "Early stopping: gradient flow", state: { T: 6, p: 100, n: 80, learner: "gradient-flow", time: 0.01 }, notice: "Move the time: long training learns more of the new task and keeps less of the old ones." },
      { name: "Early stopping: gradient steps", state: { T: 6, p: 100, n: 80, learner: "gradient-steps", rate: 0.002, steps: 10 }, notice: "A few steps per task: the error just after learning is higher, and less of it is lost." },
      { name: "One pass of SGD", state: { T: 6, p: 100, n: 80, learner: "one-pass-sgd", rate: 0.005 }, notice: "Each sample is used once: there is no peak at p = n, because nothing is fitted to the end." },
      { name: "Averaged weights (merging)", state: { T: 6, p: 100, n: 80, learner: "averaged", weight: 0.5 }, notice: "Averaging new with old weights trades learning for memory. Move its share." },
    ],
  },
];
