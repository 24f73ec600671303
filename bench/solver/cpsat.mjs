// Solves instances with OR-Tools CP-SAT, a JSON object a line. The model is that of arXiv 2511.08373 without moves of running pods: a
// literal for each pod and node, two linear constraints a node, and one objective after another, from the highest priority on. A
// priority that is done is kept as a constraint, and its solution is a hint for the next one. Each has an equal share of the time
// that is left. Building the models costs nothing of it.
import { createInterface } from 'node:readline';
import { CpSat } from 'or-tools-wasm/cp-sat';

async function solve({ nodes, cpu, mem, pods, hint, seconds, workers }) {
  const at = (i, n) => i * nodes + n;
  const all = [...pods.keys()];
  const row = (i) => Array.from({ length: nodes }, (_, n) => at(i, n));
  const constraints = all.map((i) => ({ atMostOne: { literals: row(i) } }));
  for (let n = 0; n < nodes; n++) {
    const vars = all.map((i) => at(i, n));
    constraints.push({ linear: { vars, coeffs: pods.map((p) => p.cpu), domain: [0, cpu] } });
    constraints.push({ linear: { vars, coeffs: pods.map((p) => p.mem), domain: [0, mem] } });
  }
  const tiers = [...new Set(pods.map((p) => p.priority))].sort((a, b) => b - a);
  let best = hint;
  let optimal = true;
  let spent = 0;
  let processor = 0;
  for (const [t, priority] of tiers.entries()) {
    const vars = all.filter((i) => pods[i].priority === priority).flatMap(row);
    const model = await CpSat.createModel({
      variables: Array.from({ length: pods.length * nodes }, () => ({ domain: [0, 1] })),
      constraints,
      objective: { vars, coeffs: vars.map(() => -1) },
      solutionHint: {
        vars: all.flatMap(row),
        values: all.flatMap((i) => Array.from({ length: nodes }, (_, n) => (best[i] === n ? 1 : 0))),
      },
    });
    const before = process.cpuUsage();
    const { response } = await CpSat.solve(model, {
      numSearchWorkers: workers,
      maxTimeInSeconds: Math.max(0.001, seconds - spent) / (tiers.length - t),
    });
    const used = process.cpuUsage(before);
    processor += (used.user + used.system) / 1e6;
    spent += response.wallTime;
    if (response.status !== 'OPTIMAL' && response.status !== 'FEASIBLE') {
      optimal = false;
      break;
    }
    best = all.map((i) => row(i).findIndex((v) => Number(response.solution[v]) === 1));
    optimal &&= response.status === 'OPTIMAL';
    const placed = all.filter((i) => pods[i].priority === priority && best[i] >= 0).length;
    constraints.push({ linear: { vars, coeffs: vars.map(() => 1), domain: [placed, vars.length] } });
  }
  return { at: best, optimal, seconds: spent, processor };
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await solve(JSON.parse(line))));
}
process.exit(0);
