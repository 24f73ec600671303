// What a failure, a drain or another profile does to the cluster, as the picture shows it.
import type { ClusterNode, Drain, Fail, Place, PlacedPod } from './answers';
import type { PodSquare } from './paint';

export interface Effect { nodes: ClusterNode[]; gone: Set<string>; added: Map<string, PodSquare[]>; bad: Set<string> }

// key names a pod on a node.
export function key(node: string, namespace: string, name: string): string { return node + ' ' + namespace + '/' + name; }

function effect(nodes: ClusterNode[], bad: string[]): Effect { return { nodes, gone: new Set(), added: new Map(), bad: new Set(bad) }; }

function add(e: Effect, node: string, pod: PodSquare): void {
  const list = e.added.get(node);
  if (list) list.push(pod);
  else e.added.set(node, [pod]);
}

function move(e: Effect, from: string | undefined, to: string | undefined, namespace: string, name: string): void {
  if (from) e.gone.add(key(from, namespace, name));
  if (to) add(e, to, { name, namespace, kind: 'Pod', state: 'added' });
}

export function ofFailure(d: Fail): Effect {
  const e = effect(d.nodes, d.nodes.filter((n) => n.state === 'failed').map((n) => n.name));
  for (const f of d.failures) for (const p of f.pods) move(e, p.from, p.node, p.namespace, p.name);
  return e;
}

export function ofDrain(node: string, d: Drain): Effect {
  const e = effect(d.nodes, [node]);
  for (const m of d.moves) {
    move(e, m.from, undefined, m.namespace, m.name);
    for (const to of m.to) for (let i = 0; i < to.pods; i++) move(e, undefined, to.name, m.namespace, m.name);
  }
  return e;
}

// Difference is a node that has more or fewer pods of a workload with the second of two profiles.
export interface Difference { pod: PlacedPod; node?: string; first: number; second: number }

// differences compares workloads, not single pods: which replica is on which node makes no difference.
export function differences(first: Place, second: Place): Difference[] {
  const all = new Map<string, Difference>();
  const count = (pods: PlacedPod[], which: 'first' | 'second'): void => {
    for (const pod of pods) {
      const of = JSON.stringify([pod.kind, pod.namespace, pod.name, pod.node]);
      const d = all.get(of) ?? { pod, node: pod.node, first: 0, second: 0 };
      d[which]++;
      all.set(of, d);
    }
  };
  count(first.pods, 'first');
  count(second.pods, 'second');
  return [...all.values()].filter((d) => d.first !== d.second);
}

// ofComparison is the second placement, with the pods that the first one has on other nodes.
export function ofComparison(first: Place, second: Place): Effect {
  const e = effect(second.nodes, []);
  const square = (p: PlacedPod, state: PodSquare['state']): PodSquare => ({ name: p.name, namespace: p.namespace, kind: p.kind, state });
  for (const p of second.pods) if (p.node) add(e, p.node, square(p, 'added'));
  for (const d of differences(first, second)) for (let i = d.second; d.node && i < d.first; i++) add(e, d.node, square(d.pod, 'gone'));
  for (const x of second.evictions) for (const v of x.victims) e.gone.add(key(x.nodeName, v.namespace, v.name));
  return e;
}

// Standing is a pod with its node. Replicas of a workload have its name.
export interface Standing { kind: string; namespace: string; name: string; node?: string }

// Moved is a pod that has another node than before: it moved, was placed, lost its node, is new or is gone.
export interface Moved { pod: Standing; how: 'moved' | 'placed' | 'lost' | 'waits' | 'gone'; from?: string; to?: string }

// moves compares where pods are before and after an edit. It compares workloads, as differences does: the replicas of one are alike.
export function moves(before: Standing[], after: Standing[]): Moved[] {
  const all = new Map<string, { pod: Standing; from: (string | undefined)[]; to: (string | undefined)[] }>();
  const add = (pods: Standing[], side: 'from' | 'to'): void => {
    for (const pod of pods) {
      const of = pod.kind + ' ' + key('', pod.namespace, pod.name);
      let both = all.get(of);
      if (!both) all.set(of, both = { pod, from: [], to: [] });
      both[side].push(pod.node);
    }
  };
  add(before, 'from');
  add(after, 'to');
  return [...all.values()].flatMap(({ pod, from, to }) => paired(pod, less(from, to), less(to, from)));
}

// less is what a list has more often than another one, with pods without a node last.
function less(list: (string | undefined)[], other: (string | undefined)[]): (string | undefined)[] {
  const count = new Map<string | undefined, number>();
  for (const node of other) count.set(node, (count.get(node) ?? 0) + 1);
  return list.filter((node) => {
    const n = count.get(node) ?? 0;
    count.set(node, n - 1);
    return n <= 0;
  }).sort();
}

function paired(pod: Standing, from: (string | undefined)[], to: (string | undefined)[]): Moved[] {
  return Array.from({ length: Math.max(from.length, to.length) }, (_, i) => {
    const m = { pod, from: from[i], to: to[i] };
    if (i >= to.length) return { ...m, how: 'gone' };
    if (m.to === undefined) return { ...m, how: m.from === undefined ? 'waits' : 'lost' };
    return { ...m, how: m.from === undefined ? 'placed' : 'moved' };
  });
}
