// Changes of the contract, made in the text of the manifests. A change that is not made here is a sentence without a button.
import type { Change, Rule } from './answers';
import { at, type Editor, type KubeObject, type Path, textAt } from './objects';
import { setMaxSkew, specPath } from './workload';

interface Target { pod: { kind: string; namespace: string; name: string }; nodes: { name: string }[] }

const effects: Record<string, string> = {
  TAINT_EFFECT_NO_SCHEDULE: 'NoSchedule', TAINT_EFFECT_PREFER_NO_SCHEDULE: 'PreferNoSchedule', TAINT_EFFECT_NO_EXECUTE: 'NoExecute',
};

const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';

// rulePath is where a spec has a rule, undefined for rules that are not edited here.
function rulePath(r: Rule): Path | undefined {
  switch (r.rule) {
    case 'TOPOLOGY_RULE_HARD_SPREAD': return ['topologySpreadConstraints', r.index];
    case 'TOPOLOGY_RULE_POD_AFFINITY': return ['affinity', 'podAffinity', required, r.index];
    case 'TOPOLOGY_RULE_POD_ANTI_AFFINITY': return ['affinity', 'podAntiAffinity', required, r.index];
  }
  return undefined;
}

// apply makes a change, and reports whether it did.
export function apply(c: Change, e: Editor, t: Target): boolean {
  if (c.combined) return c.combined.changes.every((part) => apply(part, e, t));
  const node = (index: number): KubeObject | undefined => e.find('Node', '', t.nodes[index]?.name ?? '');
  if (c.addedNode) {
    const like = node(c.addedNode.likeNodeIndex);
    if (like) addNode(e, like, c.addedNode.newDomainKeys);
    return !!like;
  }
  if (c.victims) {
    const pods = c.victims.pods.map((p) => e.find('Pod', p.namespace, p.name));
    if (pods.some((p) => !p)) return false;
    for (const p of pods) e.remove(p as KubeObject);
    return true;
  }
  if (c.uncordonedNode) {
    const n = node(c.uncordonedNode.nodeIndex);
    if (n) e.delete(n, ['spec', 'unschedulable']);
    return !!n;
  }
  if (c.labelledNode) {
    const n = node(c.labelledNode.nodeIndex);
    if (n) e.set(n, ['metadata', 'labels', c.labelledNode.key], c.labelledNode.value);
    return !!n;
  }
  if (c.clearedTaints) {
    const n = node(c.clearedTaints.nodeIndex);
    const gone = c.clearedTaints.taints;
    const taints = n && at(n.value, 'spec', 'taints');
    if (!n || !Array.isArray(taints)) return false;
    e.set(n, ['spec', 'taints'], taints.filter((x) => !gone.some((g) => g.key === textAt(x, 'key') && effects[g.effect] === textAt(x, 'effect'))));
    return true;
  }
  return applyToPod(c, e, t);
}

function applyToPod(c: Change, e: Editor, t: Target): boolean {
  if (c.raisedMaxSkew) return setMaxSkew(e, t.pod, c.raisedMaxSkew.index, c.raisedMaxSkew.to);
  const o = e.find(t.pod.kind, t.pod.namespace, t.pod.name);
  const spec = specPath(t.pod.kind);
  // The pods of a workload that the API server has stored are objects of their own, and a patch of it lacks the rules.
  if (!o || at(o.value, ...spec, 'containers') === undefined || (o.kind !== 'Pod' && at(o.value, 'metadata', 'uid') !== undefined)) return false;
  const set = (path: Path, value: unknown): boolean => {
    e.set(o, [...spec, ...path], value);
    return true;
  };
  if (c.loweredMinDomains) return set(['topologySpreadConstraints', c.loweredMinDomains.index, 'minDomains'], c.loweredMinDomains.to);
  if (c.honoredPolicy) {
    const field = c.honoredPolicy.policy === 'UNCOUNTED_REASON_NODE_TAINTS_POLICY' ? 'nodeTaintsPolicy' : 'nodeAffinityPolicy';
    return set(['topologySpreadConstraints', c.honoredPolicy.index, field], 'Honor');
  }
  if (c.removedSchedulingGates) {
    e.delete(o, [...spec, 'schedulingGates']);
    return true;
  }
  if (c.addedTolerations) {
    const before = at(o.value, ...spec, 'tolerations');
    return set(['tolerations'], [...(Array.isArray(before) ? before as unknown[] : []), ...c.addedTolerations.tolerations.map((x) => ({
      key: x.key, operator: x.operator === 'TOLERATION_OPERATOR_EXISTS' ? 'Exists' : 'Equal', ...(x.value ? { value: x.value } : {}),
      ...(effects[x.effect] ? { effect: effects[x.effect] } : {}),
    }))]);
  }
  return applyToRule(c, e, o, spec);
}

function applyToRule(c: Change, e: Editor, o: KubeObject, spec: Path): boolean {
  const rule = c.preferredRule ?? c.renamedTopologyKey?.rule ?? c.addedMatchLabelKey?.rule;
  const path = rule && rulePath(rule);
  if (!path) return false;
  if (c.renamedTopologyKey) {
    e.set(o, [...spec, ...path, 'topologyKey'], c.renamedTopologyKey.to);
    return true;
  }
  if (c.addedMatchLabelKey) {
    const keys = at(o.value, ...spec, ...path, 'matchLabelKeys');
    e.set(o, [...spec, ...path, 'matchLabelKeys'], [...(Array.isArray(keys) ? keys as unknown[] : []), c.addedMatchLabelKey.key]);
    return true;
  }
  if (path[0] === 'topologySpreadConstraints') {
    return preferSpread(e, o, [...spec, 'topologySpreadConstraints'], path[1] as number);
  }
  const kind = [...spec, ...path.slice(0, 2)];
  const terms = at(o.value, ...kind, required);
  const soft = at(o.value, ...kind, preferred);
  if (!Array.isArray(terms)) return false;
  const index = path[3] as number;
  e.set(o, [...kind, preferred], [...(Array.isArray(soft) ? soft as unknown[] : []), { weight: 100, podAffinityTerm: terms[index] as unknown }]);
  e.set(o, [...kind, required], terms.filter((_, i) => i !== index));
  return true;
}

// preferSpread makes a spread constraint a preference, as clients/remedy does: a preference has no minDomains, and is there once for a key.
function preferSpread(e: Editor, o: KubeObject, path: Path, index: number): boolean {
  const all = at(o.value, ...path);
  if (!Array.isArray(all)) return false;
  const of = textAt(all[index], 'topologyKey');
  if (all.some((c) => textAt(c, 'topologyKey') === of && textAt(c, 'whenUnsatisfiable') === 'ScheduleAnyway')) {
    e.delete(o, [...path, index]);
    return true;
  }
  e.set(o, [...path, index, 'whenUnsatisfiable'], 'ScheduleAnyway');
  if (at(all[index], 'minDomains') !== undefined) e.delete(o, [...path, index, 'minDomains']);
  return true;
}

// addNode adds a node like another one, with domains of its own for some keys.
export function addNode(e: Editor, like: KubeObject, newDomainKeys: string[]): string {
  const name = e.free('Node', 'new-');
  const value = structuredClone(like.value);
  const labels: Record<string, unknown> = { ...(at(value, 'metadata', 'labels') as Record<string, unknown> | undefined) };
  if ('kubernetes.io/hostname' in labels) labels['kubernetes.io/hostname'] = name;
  for (const key of newDomainKeys) labels[key] = name;
  value.metadata = { name, ...(Object.keys(labels).length > 0 ? { labels } : {}) };
  const spec = { ...(value.spec as Record<string, unknown> | undefined) };
  delete spec.unschedulable;
  if (Object.keys(spec).length > 0) value.spec = spec;
  e.add(name + '.yaml', value);
  return name;
}

// removeNode removes a node. Its pods are as after the end of the node: controllers create theirs again, and others are lost. A DaemonSet and
// the node itself have pods for nodes that are there.
export function removeNode(e: Editor, name: string, pods: KubeObject[]): boolean {
  const n = e.find('Node', '', name);
  if (!n) return false;
  for (const p of pods) {
    const pod = e.find('Pod', p.namespace, p.name);
    if (!pod) continue;
    if (!created(pod)) {
      e.remove(pod);
      continue;
    }
    e.delete(pod, ['spec', 'nodeName']);
    if (at(pod.value, 'status') !== undefined) e.delete(pod, ['status']);
  }
  e.remove(n);
  return true;
}

function created(pod: KubeObject): boolean {
  const owners = at(pod.value, 'metadata', 'ownerReferences');
  return Array.isArray(owners) && owners.some((o) => at(o, 'controller') === true && !['DaemonSet', 'Node'].includes(textAt(o, 'kind')));
}
