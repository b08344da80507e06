"use strict";
/* The state of the controls in the address of the page, so that a link restores it exactly. */
const address = (() => {
  /** Least and largest number, and whether it is whole. */
  const NUMBERS = {
    T: [2, 20, true], n: [1, 1e6, true], p: [2, 1e9, true], sigma: [0, 1e3], memory: [0, 1e6, true], angle: [0, 180],
    weight: [0.001, 1], penalty: [1e-6, 1e9], time: [1e-9, 1e6], rate: [1e-9, 1e3], steps: [1, 1e6, true],
  };
  const OF_KIND = { orthogonal: ["T"], identical: ["T"], categories: ["labels"], angle: ["angle"], gram: ["matrix"], distances: ["matrix"] };
  const OF_LEARNER = {
    "minimum-norm": [], ridge: ["penalty"], "gradient-steps": ["rate", "steps"], "gradient-flow": ["time"],
    averaged: ["weight"], "one-pass-sgd": ["rate"],
  };

  const numbers = (text, key) => text.split(",").map((part) => number(part, key));

  function number(text, key) {
    const [low, high, whole] = NUMBERS[key];
    const value = Number(text);
    if (text.trim() !== "" && value >= low && value <= high && (!whole || Number.isInteger(value))) return value;
    throw new problems.Complaint(`The address has ${key}=${problems.visible(text.slice(0, 40))}: give ${whole ? "a whole number" : "a number"} from ${low} to ${high}.`);
  }

  /** The changes that a fragment asks for, and the complaints about the rest. */
  function read(fragment) {
    const state = {};
    const complaints = [];
    const found = new URLSearchParams(fragment.replace(/^#/, ""));
    const readers = {
      kind: (value) => { if (Object.hasOwn(OF_KIND, value)) state.kind = value; },
      learner: (value) => { if (Object.hasOwn(OF_LEARNER, value)) state.learner = value; },
      labels: (value) => { state.labels = value.slice(0, 200); },
      matrix: (value) => { state.matrix = value.slice(0, 20_000); },
      order: (value) => { state.order = value.split("-").map(Number); },
      names: (value) => { state.names = value.split("\n").slice(0, 30).map((name) => name.slice(0, 200)); },
      ns: (value) => { state.unequal = { ...state.unequal, n: numbers(value, "n") }; },
      sigmas: (value) => { state.unequal = { ...state.unequal, sigma: numbers(value, "sigma") }; },
    };
    for (const [key, value] of found) {
      try {
        if (Object.hasOwn(NUMBERS, key)) state[key] = number(value, key);
        else if (Object.hasOwn(readers, key)) readers[key](value);
      } catch (error) {
        if (!(error instanceof problems.Complaint)) throw error;
        complaints.push(error.message);
      }
    }
    if (!(state.unequal?.n && state.unequal?.sigma)) delete state.unequal;
    return { state, complaint: complaints[0] ?? "" };
  }

  function write(state) {
    const query = new URLSearchParams();
    const keys = ["kind", ...OF_KIND[state.kind], "n", "p", "sigma", "memory", "learner", ...OF_LEARNER[state.learner]];
    for (const key of keys) query.set(key, state[key]);
    if (state.order) query.set("order", state.order.join("-"));
    if (state.names) query.set("names", state.names.map(problems.visible).join("\n"));
    if (state.unequal) {
      query.set("ns", state.unequal.n.join(","));
      query.set("sigmas", state.unequal.sigma.join(","));
    }
    return `#${query}`;
  }

  return { read, write };
})();
