// Solves instances with OR-Tools CP-SAT, a JSON object a line. The model is that of arXiv 2511.08373 without moves of running pods: a
// literal for each pod and node, two linear constraints a node, and one objective after another, from the highest priority on. A
// priority that is done is kept as a constraint, and its solution is a hint for the next one. Each has an equal share of the time
// that is left.
import { createInterface } from 'node:readline';
import { CpModel, CpSolver } from 'or-tools-wasm/cp-sat';

const name = { 2: 'FEASIBLE', 4: 'OPTIMAL' };
const sum = (xs, weights) => xs.reduce((e, x, i) => (e ? e.plus(x.times(weights ? weights[i] : 1)) : x.times(weights ? weights[i] : 1)), null);

async function solve(input) {
  const begin = performance.now();
  const { nodes, cpu, mem, pods, seconds, workers } = input;
  const model = new CpModel();
  const on = pods.map((p, i) => Array.from({ length: nodes }, (_, n) => model.newBoolVar(`p${i}n${n}`)));
  for (const row of on) model.addAtMostOne(row);
  for (let n = 0; n < nodes; n++) {
    model.addLinearConstraint(sum(on.map((row) => row[n]), pods.map((p) => p.cpu)), 0, cpu);
    model.addLinearConstraint(sum(on.map((row) => row[n]), pods.map((p) => p.mem)), 0, mem);
  }
  const tiers = [...new Set(pods.map((p) => p.priority))].sort((a, b) => b - a);
  let at = input.hint;
  let optimal = true;
  const bounds = [];
  for (let t = 0; t < tiers.length; t++) {
    const left = seconds - (performance.now() - begin) / 1000;
    const literals = on.filter((_, i) => pods[i].priority === tiers[t]).flat();
    if (left <= 0.005) {
      optimal = false;
      break;
    }
    const objective = sum(literals);
    model.proto.solutionHint = undefined;
    on.forEach((row, i) => row.forEach((x, n) => model.addHint(x, at[i] === n)));
    model.maximize(objective);
    const solver = new CpSolver();
    await solver.solve(model, { numSearchWorkers: workers, maxTimeInSeconds: left / (tiers.length - t) });
    const status = name[solver.response()?.status] ?? solver.response()?.status;
    if (status !== 'OPTIMAL' && status !== 'FEASIBLE') {
      optimal = false;
      break;
    }
    at = on.map((row) => row.findIndex((x) => solver.booleanValue(x)));
    const placed = pods.filter((p, i) => p.priority === tiers[t] && at[i] >= 0).length;
    bounds.push(Math.floor(solver.bestObjectiveBound() + 1e-6));
    optimal &&= status === 'OPTIMAL';
    model.addLinearConstraint(objective, placed, literals.length);
  }
  return { at, optimal, bounds, seconds: (performance.now() - begin) / 1000 };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await solve(JSON.parse(line))));
}
process.exit(0);
