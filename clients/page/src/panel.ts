// What an answer says, as elements. Sentences are the command's.
import type { Change, ClusterNode, Drain, Explain, Fail, FilterAnswer, Finding, Header, Place, Problem, Score, TopologyCounts } from './answers';
import { bar, button, h, table, type Child } from './dom';
import type { Difference, Moved } from './effect';
import type { PodSquare } from './paint';
import { share } from './quantity';
import type { Named, Numbers } from './workload';

// many is how many rows of a table are shown.
const many = 200;

// restGroup is the group of the pods without a group that are placed together (kube.RestGroup).
const restGroup = 'queue';

export interface Actions {
  explain(kind: string, namespace: string, name: string): void;
  pod(pod: PodSquare, node: string): void;
  node(name: string): void;
  drain(node: string): void;
  failNode(node: string): void;
  removeNode(node: string): void;
  likeNode(node: string): void;
  can(doc: Explain, change: Change): boolean;
  apply(doc: Explain, change: Change): void;
  overview(): void;
  domain(key: string, value: string, nodes: string[]): void;
  // workload shows the numbers of a workload, and starts at a field of them.
  workload(of: Named, field?: string): void;
  replicas(of: Named, to: number): void;
  maxSkew(of: Named, index: number, to: number): void;
}

// rest counts the rows that are not shown. The document of the answer may have them.
function rest(all: number, inDocument = true): HTMLElement | undefined {
  return all > many ? h('p', { class: 'note' }, (all - many) + ' more' + (inDocument ? '; the JSON has all.' : '.')) : undefined;
}

function title(text: string, a: Actions, back: boolean): HTMLElement {
  return h('div', {}, back && button('← Placement', () => a.overview()), h('h2', {}, text));
}

// refusal shows errors, with the way back to a placement that is still right.
export function refusal(problems: Problem[], a: Actions, back: boolean): Child[] {
  return [back && title('No answer', a, true), ...errors(problems)];
}

// state describes a node for those who do not see the picture.
export function state(n: ClusterNode, there: PodSquare[]): string {
  const used = n.requestedAfter ?? n.requested;
  const amounts = Object.keys(n.allocatable).map((r) => r + ' ' + Math.round(share(used[r], n.allocatable[r]) * 100) + ' %');
  return ['Node ' + n.name, n.domain && 'domain ' + n.domain, ...amounts, pods(there.length)].filter(Boolean).join(', ');
}

export function errors(problems: Problem[]): HTMLElement[] {
  return problems.map((p) => h('p', { class: 'error', role: 'alert' }, [p.object, p.field, p.detail].filter(Boolean).join(': ')));
}

function sayings(d: Header): Child[] {
  const out: Child[] = [];
  const findings = (d.findings ?? []).slice(0, many);
  if (findings.length > 0) out.push(h('h3', {}, 'Findings'));
  for (const f of findings) out.push(finding(f));
  if (d.notes && d.notes.length > 0) out.push(h('h3', {}, 'Notes'));
  for (const n of d.notes ?? []) out.push(h('p', { class: 'note' }, n));
  return out;
}

function finding(f: Finding): HTMLElement {
  return h('p', { class: 'finding' }, f.severity + ': ' + [f.at, f.field, f.message].filter(Boolean).join(': '));
}

function pods(n: number): string { return n === 1 ? '1 pod' : n + ' pods'; }

const hows: Record<Moved['how'], string> = { moved: 'moved', placed: 'placed', lost: 'without a node now', waits: 'new and pending', gone: 'removed' };

// movesOf counts what a change moved.
export function movesOf(moved: Moved[]): string {
  const parts = Object.entries(hows).map(([how, words]) => [moved.filter((m) => m.how === how).length, words] as const).filter(([n]) => n > 0);
  return parts.length === 0 ? 'The change moves no pod.' : 'By the change: ' + parts.map(([n, words]) => pods(n) + ' ' + words).join(', ') + '.';
}

// edited shows what a change moved.
function edited(moved: Moved[] | undefined, a: Actions): Child[] {
  if (!moved) return [];
  const at = (node: string | undefined): Child => (node === undefined ? '' : button(node, () => a.node(node), { label: 'Node ' + node }));
  return [h('p', {}, h('strong', {}, movesOf(moved))), moved.length > 0 && table('What the change moved', ['Pod', '', 'From', 'To'], moved.slice(0, many).map((m) => [
    m.pod.namespace + '/' + m.pod.name + (m.pod.kind === 'Pod' ? '' : ' (' + m.pod.kind + ')'), hows[m.how], at(m.from), at(m.to),
  ])), rest(moved.length, false)];
}

export function overview(d: Place, moved: Moved[] | undefined, a: Actions): Child[] {
  const out: Child[] = [title('Placement', a, false), ...edited(moved, a)];
  const waiting = d.pods.filter((p) => !p.node);
  if (d.workloads.length > 0) {
    out.push(table('What is to place', ['Workload', 'Placed', ''], d.workloads.slice(0, many).map((w) => [
      button(w.namespace + '/' + w.name + ' (' + w.kind + ')', () => a.workload(w)), w.placed + ' of ' + w.pods,
      button('Explain', () => a.explain(w.kind, w.namespace, w.name), { label: 'Explain ' + w.kind + ' ' + w.namespace + '/' + w.name }),
    ])), rest(d.workloads.length));
  }
  out.push(...d.workloads.filter((x) => x.placed < x.pods).slice(0, 20).flatMap(unplaced));
  for (const r of d.rollouts ?? []) {
    out.push(h('p', {}, h('strong', {}, r.name + ': '), 'rollout, ' + r.placed + ' of ' + r.replicas + ' new pods placed, ' + r.old + ' old ones left', r.stuck && '. ' + r.stuck.message));
  }
  for (const g of d.podGroups.filter((x) => x.message).slice(0, 20)) {
    out.push(h('p', {}, h('strong', {}, (g.name === restGroup ? 'All pods' : g.name) + ': '), g.message));
    const conflict = new Set((g.conflict ?? []).map((r) => [rules[r.rule] ?? plugin(r.plugin), r.resource, r.topologyKey && 'by ' + r.topologyKey].filter(Boolean).join(' ')));
    if (conflict.size > 0) out.push(h('p', { class: 'note' }, 'No placement satisfies together: ' + [...conflict].join('; ')));
  }
  if (d.pods.length === 0) out.push(h('p', { class: 'note' }, 'No pod is pending. Click a pod or a node, fail a domain, or add a workload.'));
  if (waiting.length > 0 && d.workloads.length === 0) out.push(h('p', {}, waiting.length + ' pods have no node.'));
  return [...out, ...sayings(d)];
}

function unplaced(w: Place['workloads'][number]): HTMLElement[] {
  return w.unplaced.flatMap((u) => [h('p', {}, h('strong', {}, w.name + ': '), u.reason), ...(u.preemption ? [h('p', { class: 'note' }, u.preemption)] : [])]);
}

// number is a field for a number, which changes it at once: by the arrow keys, its steps, or Enter.
function number(id: string, label: string, value: number, least: number, on: (to: number) => void): HTMLElement {
  const input = h('input', { type: 'number', id });
  input.min = String(least);
  input.max = String(mostReplicas);
  input.step = '1';
  input.required = true;
  input.value = String(value);
  input.addEventListener('change', () => { if (input.reportValidity() && input.valueAsNumber !== value) on(value = input.valueAsNumber); });
  return h('label', {}, label + ' ', input);
}

// mostReplicas bounds what is typed: a cluster has fewer pods.
const mostReplicas = 1_000_000;

// workload has the numbers of a workload, to change them.
export function workload(n: Numbers, d: Place, moved: Moved[] | undefined, a: Actions): Child[] {
  const { kind, namespace, name } = n.of;
  const placed = d.workloads.find((w) => w.kind === kind && w.namespace === namespace && w.name === name);
  const hard = (s: string): string => (s === 'DoNotSchedule' ? '' : ' (preferred)');
  return [
    title(kind + ' ' + namespace + '/' + name, a, true), ...edited(moved, a),
    h('div', { class: 'numbers', role: 'group', label: 'Numbers of ' + kind + ' ' + namespace + '/' + name },
      n.replicas !== undefined && number('replicas', 'Replicas', n.replicas, 0, (to) => a.replicas(n.of, to)),
      ...n.skews.map((s, i) => number('skew-' + i, 'maxSkew by ' + s.topologyKey + hard(s.whenUnsatisfiable), s.maxSkew, 1, (to) => a.maxSkew(n.of, i, to)))),
    n.replicas === undefined && n.skews.length === 0 && h('p', { class: 'note' }, 'It has no number of replicas and no topology spread constraints.'),
    placed && h('p', {}, placed.placed + ' of ' + pods(placed.pods) + ' placed ', button('Explain', () => a.explain(kind, namespace, name))),
    ...(placed ? unplaced(placed) : []),
  ];
}

// explanation has a button for scores, which are a question of their own.
export function explanation(name: string, d: Explain, numbers: Numbers | undefined, score: () => void, a: Actions): Child[] {
  const target = d.targets?.[0];
  const of: FilterAnswer = target?.answer ?? d;
  const out: Child[] = [title(name, a, true), h('p', {}, h('strong', {}, d.verdict))];
  const fields = [numbers?.replicas !== undefined && 'replicas', numbers && numbers.skews.length > 0 && 'maxSkew'].filter(Boolean).join(' and ');
  if (numbers && fields) out.push(h('p', {}, button(numbers.of.kind + ' ' + numbers.of.namespace + '/' + numbers.of.name + ': ' + fields, () => a.workload(numbers.of))));
  if (target?.node) out.push(h('p', {}, 'Runs on ', button(target.node, () => a.node(target.node ?? ''))));
  if (d.why) out.push(h('p', {}, d.why));
  if (d.preemptionText) out.push(h('p', {}, d.preemptionText));
  if (d.remedies && d.remedies.length > 0) {
    out.push(h('h3', {}, 'What would place it'), h('ul', { class: 'remedy list' }, ...d.remedies.map((text, i) => {
      const edit = d.edits[i];
      return h('li', {}, edit && a.can(d, edit) ? button(text, () => a.apply(d, edit)) : h('span', {}, text));
    })));
  }
  for (const t of of.explanation?.topologyCounts ?? []) out.push(counts(t, a), spread(t) && numbers?.skews[t.index]?.topologyKey === t.topologyKey && changeSkew(t, numbers, a));
  if (!target && (of.feasibleNodes?.names ?? []).length > 0) out.push(h('div', { id: 'scores' }, button('Scores by plugin', score)));
  out.push(...verdicts(of, d.nodes ?? [], a));
  return [...out, ...sayings(d)];
}

const rules: Record<string, string> = {
  TOPOLOGY_RULE_HARD_SPREAD: 'Spread', TOPOLOGY_RULE_SOFT_SPREAD: 'Preferred spread', TOPOLOGY_RULE_POD_AFFINITY: 'Affinity', TOPOLOGY_RULE_POD_ANTI_AFFINITY: 'Anti-affinity',
  TOPOLOGY_RULE_EXISTING_POD_ANTI_AFFINITY: 'Anti-affinity of pods there',
};

function spread(t: TopologyCounts): boolean { return t.rule === 'TOPOLOGY_RULE_HARD_SPREAD'; }

function changeSkew(t: TopologyCounts, n: Numbers, a: Actions): HTMLElement {
  return button('Change maxSkew by ' + t.topologyKey, () => a.workload(n.of, 'skew-' + t.index));
}

// counts shows the pods that a rule counts in each domain.
function counts(t: TopologyCounts, a: Actions): HTMLElement {
  const most = Math.max(1, ...t.domains.map((d) => Number(d.matchingPods)));
  const hard = spread(t);
  const caption = (rules[t.rule] ?? t.rule) + ' by ' + t.topologyKey + (t.selector ? ', pods ' + t.selector : '') + (hard ? ', maxSkew ' + t.maxSkew : '');
  return table(caption, ['Domain', 'Pods', ...(hard ? ['Skew'] : []), ''], t.domains.slice(0, many).map((d) => [
    button(d.value, () => a.domain(t.topologyKey, d.value, d.nodes.names), { label: 'Pods of ' + t.topologyKey + '=' + d.value }),
    h('span', {}, bar(Number(d.matchingPods) / most, d.feasible ? '' : 'full'), d.matchingPods),
    ...(hard ? [d.skew] : []), tag(d.feasible),
  ]));
}

function tag(ok: boolean): HTMLElement {
  return h('span', { class: 'tag ' + (ok ? 'ok' : 'no') }, ok ? 'accepts' : 'rejects');
}

function plugin(name: string): string { return name.replace(/^PLUGIN_/, '').toLowerCase().replaceAll('_', ' '); }

export function scores(s: Score): HTMLElement {
  if (!s.nodes || s.totalScores.length === 0) return h('p', { class: 'note' }, 'No node is scored.');
  const plugins = s.pluginScores.map((p) => plugin(p.plugin));
  const order = s.nodes.names.map((name, i) => ({ name, i, total: Number(s.totalScores[i]) })).sort((x, y) => y.total - x.total).slice(0, 20);
  const most = Math.max(1, ...order.map((o) => o.total));
  return table('Scores by plugin', ['Node', 'Total', ...plugins], order.map((o) => [
    o.name, h('span', {}, bar(o.total / most, 'added'), String(o.total)), ...s.pluginScores.map((p) => p.weightedScores[o.i] ?? ''),
  ]));
}

// verdicts shows on which nodes the pod can be, and what refuses it on the others.
function verdicts(of: FilterAnswer, nodes: ClusterNode[], a: Actions): Child[] {
  const reasons = new Map<string, string[]>();
  const checks = of.explanation && of.explanation.failingChecks.length > 0 ? of.explanation.failingChecks : of.rejections ?? [];
  for (const r of checks) {
    for (const n of r.nodes.names) reasons.set(n, [...(reasons.get(n) ?? []), ...r.reasons.map((x) => x.message)]);
  }
  const feasible = of.feasibleNodes?.names ?? [];
  const domain = new Map(nodes.map((n) => [n.name, n.domain ?? '']));
  const rows = [...feasible.map((n) => ({ n, text: '' })), ...[...reasons].map(([n, list]) => ({ n, text: [...new Set(list)].join('; ') }))];
  if (rows.length === 0) return [];
  return [table('Each node', ['Node', 'Domain', '', 'Why'], rows.slice(0, many).map((r) => [
    button(r.n, () => a.node(r.n), { label: 'Node ' + r.n }), domain.get(r.n) ?? '', tag(r.text === ''), r.text,
  ])), rest(rows.length)];
}

const states = { there: '', added: ' (comes)', gone: ' (goes)' };

function podButton(p: PodSquare, node: string, a: Actions): HTMLElement {
  return button(p.namespace + '/' + p.name + states[p.state], () => a.pod(p, node));
}

const byName = new Intl.Collator('en', { numeric: true });

// domain lists the pods of a topology domain, by name.
export function domain(name: string, nodes: { name: string; pods: PodSquare[] }[], a: Actions): Child[] {
  const all = nodes.flatMap((n) => n.pods.map((pod) => ({ pod, node: n.name })));
  all.sort((x, y) => byName.compare(x.pod.namespace + '/' + x.pod.name, y.pod.namespace + '/' + y.pod.name));
  return [
    title('Domain ' + name, a, true), h('p', {}, (nodes.length === 1 ? '1 node, ' : nodes.length + ' nodes, ') + pods(all.length)),
    table('Pods by name', ['Pod', 'Node'], all.slice(0, many).map(({ pod, node }) => [podButton(pod, node, a), button(node, () => a.node(node), { label: 'Node ' + node })])),
    rest(all.length, false),
  ];
}

export function node(n: ClusterNode, there: PodSquare[], a: Actions): Child[] {
  const used = n.requestedAfter ?? n.requested;
  const amounts = Object.keys(n.allocatable).map((r) => {
    const full = share(used[r], n.allocatable[r]);
    return [r, h('span', {}, bar(full, full >= 0.995 ? 'full' : full >= 0.8 ? 'nearly' : ''), (used[r] ?? '0') + ' of ' + (n.allocatable[r] ?? ''))];
  });
  return [
    title('Node ' + n.name, a, true), n.domain !== undefined && h('p', {}, 'Domain ' + n.domain),
    h('div', { class: 'row' }, button('Drain', () => a.drain(n.name)), button('Fail', () => a.failNode(n.name)),
      button('Remove', () => a.removeNode(n.name)), button('One more like it', () => a.likeNode(n.name))),
    table('Requested', ['Resource', 'Requested'], amounts),
    h('h3', {}, pods(there.length)), h('ul', { class: 'list' }, ...there.slice(0, many).map((p) => h('li', {}, podButton(p, n.name, a)))), rest(there.length, false),
  ];
}

export function failed(d: Fail, a: Actions): Child[] {
  const out: Child[] = [title(d.failures[0]?.name ?? 'Failure', a, true), h('p', {}, h('strong', {}, d.verdict))];
  for (const f of d.failures) {
    if (f.workloads.length > 0) {
      out.push(table('Workloads', ['Workload', 'Replicas', 'Lost', 'Missing'], f.workloads.slice(0, many).map((w) => [
        w.namespace + '/' + w.name + ' (' + w.kind + ')', String(w.replicas), String(w.lost), String(w.missing),
      ])));
      for (const w of f.workloads.filter((x) => x.reasons.length > 0).slice(0, 20)) {
        out.push(h('p', {}, h('strong', {}, w.name + ': '), w.reasons.join('; ')));
      }
    }
    out.push(moves(f.pods.map((p) => ({ pod: p.namespace + '/' + p.name, from: p.from ?? '', to: p.node ?? p.reason ?? 'no node' }))), rest(f.pods.length));
  }
  return [...out, ...sayings(d)];
}

export function drained(name: string, d: Drain, a: Actions): Child[] {
  return [
    title('Drain of ' + name, a, true), h('p', {}, h('strong', {}, d.verdict)),
    moves(d.moves.map((m) => ({ pod: m.namespace + '/' + m.name, from: m.from, to: m.to.map((to) => to.name + (to.pods > 1 ? ' (' + to.pods + ')' : '')).join(', ') }))), rest(d.moves.length), ...sayings(d),
  ];
}

function moves(all: { pod: string; from: string; to: string }[]): HTMLElement {
  return table('What moves', ['Pod', 'From', 'To'], all.slice(0, many).map((m) => [m.pod, m.from, m.to]));
}

// compared shows what differs between the placements of two profiles.
export function compared(names: [string, string], first: Place, second: Place, differ: Difference[], a: Actions): Child[] {
  const nodes = (d: Place): string => String(new Set(d.pods.map((p) => p.node).filter(Boolean)).size);
  const out: Child[] = [
    title('Two profiles', a, true),
    table('Placements', ['Profile', 'Answer', 'Nodes used'], [[names[0], first.verdict, nodes(first)], [names[1], second.verdict, nodes(second)]]),
  ];
  if (differ.length === 0) return out;
  out.push(table('What differs', ['Workload', 'Node', names[0], names[1]], differ.slice(0, many).map((d) => [
    d.pod.namespace + '/' + d.pod.name + ' (' + d.pod.kind + ')', d.node === undefined ? 'no node' : button(d.node, () => a.node(d.node ?? '')),
    String(d.first), String(d.second),
  ])), rest(differ.length, false));
  out.push(h('p', { class: 'note' }, 'The picture has the pods of ' + names[1] + '; a cross is a pod of ' + names[0] + '.'));
  return out;
}

// locked asks for the token of the server.
export function locked(problems: Problem[], use: (token: string) => void): Child[] {
  const input = h('input', { type: 'password', id: 'token' });
  input.autocomplete = 'off';
  const on = (): void => { if (input.value) use(input.value.trim()); };
  input.addEventListener('keydown', (e) => { if (e.key === 'Enter') on(); });
  return [
    h('h2', {}, 'The server wants a token'), ...errors(problems),
    h('p', {}, h('label', {}, 'Token ', input), ' ', button('Use it', on)),
    h('p', { class: 'note' }, 'The token of stowage serve --token-file. This tab keeps it until it is closed.'),
  ];
}
