"use strict";
/* The Python lines and the command that give the numbers of the page. */
const recipes = (() => {
  const $ = (id) => document.getElementById(id);
  const equal = (values) => values.every((x) => x === values[0]);
  const list = (values) => (equal(values) ? String(values[0]) : `[${values.join(", ")}]`);
  const rows = (gram) => `[${gram.map((row) => `[${row.join(", ")}]`).join(", ")}]`;

  const PYTHON = {
    "minimum-norm": () => "",
    ridge: ({ penalty }) => `ebbing.Ridge(${penalty})`,
    "gradient-steps": ({ rate, steps }) => `ebbing.GradientSteps(learning_rate=${rate}, steps=${steps})`,
    "gradient-flow": ({ time }) => `ebbing.GradientFlow(${time})`,
    averaged: ({ weight }) => `ebbing.Averaged(${weight})`,
    "one-pass-sgd": ({ rate }) => `ebbing.OnePassSgd(${rate})`,
  };
  const COMMAND = {
    ridge: ({ penalty }) => penalty,
    "gradient-steps": ({ rate, steps }) => `${rate},${steps}`,
    "gradient-flow": ({ time }) => time,
    averaged: ({ weight }) => weight,
    "one-pass-sgd": ({ rate }) => rate,
  };

  const number = (x) => ({ NaN: "nan", Infinity: "inf", "-Infinity": "-inf" })[x] ?? String(x);

  function python({ problem, result, isRough }, state) {
    const sizes = `n=${list(problem.n)}, p=${problem.p}, sigma=${list(problem.sigma)}`;
    const make = {
      orthogonal: () => `ebbing.Problem.orthogonal(T=${problem.T}, ${sizes})`,
      identical: () => `ebbing.Problem.identical(T=${problem.T}, ${sizes})`,
      categories: () => `ebbing.Problem.categories(${JSON.stringify(problems.labelsOf(state).join(""))}, ${sizes})`,
    }[state.kind] ?? (() => `ebbing.Problem(gram=${rows(problem.gram)}, ${sizes})`);
    const lines = ["import ebbing", `problem = ${make()}`];
    if (problem.order.some((i, place) => i !== place)) lines.push(`problem = problem.reordered([${problem.order.join(", ")}])`);
    const plan = problem.memory ? `, ebbing.Curriculum.replay(problem, memory=${problem.memory})` : "";
    const learner = PYTHON[problem.learner.name](problem.learner);
    lines.push(`e = ebbing.expect(problem${plan}${learner && `, learner=${learner}`})`, `e.forgetting, e.generalization${isRough ? "" : `  # ${number(result.F)}, ${number(result.G)}`}`);
    return lines.join("\n");
  }

  /** The tasks in the order of learning: {option, file}; `file` is what the option reads, where it reads one. */
  function tasks(problem, state) {
    const labels = problem.order.map((i) => problems.labelsOf(state)[i]).join("");
    if (state.kind === "orthogonal" || state.kind === "identical") return { option: `--tasks ${state.kind}:${problem.T}` };
    if (state.kind === "categories" && /^[A-Za-z]+$/.test(labels)) return { option: `--tasks categories:${labels}` };
    const inOrder = problem.order.map((i) => problem.order.map((j) => problem.gram[i][j]).join(","));
    const names = problem.order.map((i) => `"${problem.names[i].replace(/"/g, '""')}"`).join(",");
    return { option: "--gram tasks.csv", file: `${[names, ...inOrder].join("\n")}\n` };
  }

  function command({ problem }, option) {
    const commas = (values) => (equal(values) ? values[0] : problem.order.map((i) => values[i]).join(","));
    const words = ["ebbing expect", option, `-n ${commas(problem.n)} -p ${problem.p} --sigma ${commas(problem.sigma)}`];
    if (problem.memory) words.push(`--replay ${problem.memory}`);
    const { name } = problem.learner;
    if (name in COMMAND) words.push(`--learner ${name}:${COMMAND[name](problem.learner)}`);
    return words.join(" ");
  }

  function show(computation, state) {
    const { option, file } = tasks(computation.problem, state);
    $("python").textContent = python(computation, state);
    $("command").textContent = command(computation, option);
    $("tasks-file").hidden = !file;
    $("save-tasks").dataset.text = file ?? "";
  }

  return { show };
})();
