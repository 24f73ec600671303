// Workloads of the manifests: the number of their replicas and the maxSkew of their spread constraints, which can be changed.
import { at, type Editor, type KubeObject, nested, type Path, textAt } from './objects';

// specPath is where an object has the spec of its pods.
export function specPath(kind: string): Path {
  if (kind === 'Pod') return ['spec'];
  if (kind === 'CronJob') return ['spec', 'jobTemplate', 'spec', 'template', 'spec'];
  return ['spec', 'template', 'spec'];
}

export interface Named { kind: string; namespace: string; name: string }

// Skew is the maxSkew of a spread constraint.
export interface Skew { topologyKey: string; whenUnsatisfiable: string; maxSkew: number }

// Numbers are what can be changed. A workload without a number of replicas has undefined, such as a DaemonSet.
export interface Numbers { of: Named; replicas?: number; skews: Skew[] }

// scaled are the kinds with one replica unless they say otherwise.
const scaled = ['Deployment', 'ReplicaSet', 'ReplicationController', 'StatefulSet'];

// isWorkload reports whether an object makes pods, and is not made by another one.
export function isWorkload(o: KubeObject): boolean {
  return (scaled.includes(o.kind) || at(o.value, ...specPath(o.kind), 'containers') !== undefined) && o.kind !== 'Pod' && !ownerOf(o);
}

function ownerOf(o: KubeObject): { kind: string; name: string } | undefined {
  const owners = at(o.value, 'metadata', 'ownerReferences');
  const owner = Array.isArray(owners) ? owners.find((x) => at(x, 'controller') === true) as unknown : undefined;
  return owner === undefined ? undefined : { kind: textAt(owner, 'kind'), name: textAt(owner, 'name') };
}

// workloadOf is the workload that makes a pod, or the object itself if no object of the manifests makes it.
export function workloadOf(e: Editor, of: Named): Named {
  let o = e.find(of.kind, of.namespace, of.name);
  for (let i = 0; o && i < 5; i++) { // a Job of a CronJob is the longest way
    const owner = ownerOf(o);
    const next = owner && e.find(owner.kind, o.namespace, owner.name);
    if (!next) break;
    o = next;
  }
  return o ? { kind: o.kind, namespace: o.namespace, name: o.name } : of;
}

function skewsOf(o: KubeObject): Skew[] {
  const all = at(o.value, ...specPath(o.kind), 'topologySpreadConstraints');
  return (Array.isArray(all) ? all as unknown[] : []).map((c) => ({
    topologyKey: textAt(c, 'topologyKey'), whenUnsatisfiable: textAt(c, 'whenUnsatisfiable') || 'DoNotSchedule', maxSkew: Number(at(c, 'maxSkew') ?? 1),
  }));
}

function replicasOf(o: KubeObject): number | undefined {
  const n = at(o.value, 'spec', 'replicas');
  return typeof n === 'number' ? n : undefined;
}

// numbersOf reads the numbers of a workload: of the object, and of the patches of it that the manifests have.
export function numbersOf(e: Editor, of: Named): Numbers | undefined {
  const all = e.all(of.kind, of.namespace, of.name);
  const whole = all.findLast(complete);
  if (!whole) return undefined;
  const patches = all.filter((o) => !complete(o));
  const skews = skewsOf(whole).map((s) => ({ ...s, maxSkew: patches.flatMap(skewsOf).findLast((p) => same(p, s))?.maxSkew ?? s.maxSkew }));
  return { of, replicas: [whole, ...patches].map(replicasOf).findLast((n) => n !== undefined) ?? (scaled.includes(of.kind) ? 1 : undefined), skews };
}

function same(a: Skew, b: Skew): boolean { return a.topologyKey === b.topologyKey && a.whenUnsatisfiable === b.whenUnsatisfiable; }

function complete(o: KubeObject): boolean { return at(o.value, ...specPath(o.kind), 'containers') !== undefined; }

// setReplicas changes the number of replicas.
export function setReplicas(e: Editor, of: Named, to: number): boolean { return set(e, of, ['spec', 'replicas'], to); }

// setMaxSkew changes the maxSkew of a constraint, by its index.
export function setMaxSkew(e: Editor, of: Named, index: number, to: number): boolean {
  const skews = numbersOf(e, of)?.skews.map((s, i) => (i === index ? { ...s, maxSkew: to } : s));
  const own = manifest(e, of);
  if (!skews?.[index]) return false;
  const path = [...specPath(of.kind), 'topologySpreadConstraints'];
  // A patch has all constraints, so that they keep their order.
  return own && complete(own) ? set(e, of, [...path, index, 'maxSkew'], to) : set(e, of, path, skews);
}

// manifest is the object that can be edited. The pods of a workload that the API server has stored are objects of their own: a change of it is
// a manifest that is applied to it. Another pod is decided as it is written.
function manifest(e: Editor, of: Named): KubeObject | undefined {
  return e.all(of.kind, of.namespace, of.name).findLast((o) => of.kind === 'Pod' || at(o.value, 'metadata', 'uid') === undefined);
}

function set(e: Editor, of: Named, path: Path, value: unknown): boolean {
  const own = manifest(e, of), stored = e.find(of.kind, of.namespace, of.name);
  if (own) e.set(own, path, value);
  else if (stored) e.add(of.kind.toLowerCase() + '-' + of.name + '.yaml', {
    apiVersion: stored.value.apiVersion, kind: of.kind, metadata: { name: of.name, namespace: of.namespace },
    ...nested(path, value) as object,
  });
  return !!(own ?? stored);
}
