// What the picture shows: a placement up to a step, a failure, a drain or another profile, and what an edit moved.
import type { ClusterNode, Place } from './answers';
import { key, type Effect, type Moved, type Standing } from './effect';
import type { Answered } from './questions';
import { labelKeys, podsByNode, read, type KubeObject } from './objects';
import type { ManifestFile } from './engine';
import type { DrawnNode, PodSquare } from './paint';
import { isWorkload, type Named } from './workload';

export class Shown {
  placement?: Answered<Place>;
  there = new Map<string, KubeObject[]>();
  keys: string[] = []; // of the nodes' labels
  private workloads = new Map<string, Named>(); // by the text that finds one
  effect?: Effect;
  moved?: Moved[]; // since the answer before, if the manifests are those of before with an edit
  step = 0;
  private placedCache: { at: number; of?: Place; by: Map<string, Place['pods']> } = { at: -1, by: new Map() };

  get place(): Place | undefined { return this.placement?.doc; }

  get steps(): number { return this.place?.pods.length ?? 0; }

  set(placement: Answered<Place> | undefined, files: ManifestFile[]): void {
    const objects = read(files);
    this.placement = placement;
    this.there = podsByNode(objects);
    this.keys = labelKeys(objects);
    this.workloads = new Map(objects.filter(isWorkload).map((o) => [o.kind + ' ' + o.namespace + '/' + o.name, o]));
    this.effect = this.moved = undefined;
    this.step = this.steps;
  }

  private atEnd(): boolean { return this.step === this.steps; }

  // standings are all pods with their nodes, once all steps are made.
  standings(): Standing[] {
    const gone = this.victims(), left = this.leavers();
    const out: Standing[] = [];
    for (const [node, pods] of this.there) {
      for (const p of pods) {
        const as = key(node, p.namespace, p.name);
        if (!left.has(as)) out.push({ kind: 'Pod', namespace: p.namespace, name: p.name, node: gone.has(as) ? undefined : node });
      }
    }
    for (const p of [...(this.place?.pods ?? []), ...this.replacements()]) out.push({ kind: p.kind, namespace: p.namespace, name: p.name, node: p.node });
    return out;
  }

  // placed are the pods that are placed up to the step, by node.
  private placed(): Map<string, Place['pods']> {
    if (this.placedCache.at === this.step && this.placedCache.of === this.place) return this.placedCache.by;
    const by = new Map<string, Place['pods']>();
    for (const p of this.place?.pods.slice(0, this.step) ?? []) {
      if (!p.node) continue;
      const list = by.get(p.node);
      if (list) list.push(p);
      else by.set(p.node, [p]);
    }
    this.placedCache = { at: this.step, of: this.place, by };
    return by;
  }

  // victims are the pods that the placement evicts.
  private victims(): Set<string> {
    const out = new Set<string>();
    for (const e of this.place?.evictions ?? []) for (const v of e.victims) out.add(key(e.nodeName, v.namespace, v.name));
    return out;
  }

  // leavers are the pods that leave as their workloads have fewer replicas or another template.
  private leavers(): Set<string> {
    const out = new Set((this.place?.leavers ?? []).map((l) => key(l.node, l.namespace, l.name)));
    for (const r of this.place?.rollouts ?? []) for (const s of r.steps) for (const l of s.left) out.add(key(l.node, r.namespace, l.name));
    return out;
  }

  // replacements are the new pods of workloads with another template.
  private replacements(): Standing[] {
    return (this.place?.rollouts ?? []).flatMap((r) => r.steps.flatMap((s) => s.placed.map((node) => ({ kind: r.kind, namespace: r.namespace, name: r.name, node }))));
  }

  nodes(): ClusterNode[] {
    if (!this.effect) return (this.place?.nodes ?? []).map((n) => (this.atEnd() ? n : { ...n, requestedAfter: n.requested }));
    // Other answers group nodes by zone, and the picture keeps its domains.
    const domains = new Map(this.place?.nodes.map((n) => [n.name, n.domain]));
    return this.effect.nodes.map((n) => (domains.has(n.name) ? { ...n, domain: domains.get(n.name) } : n));
  }

  // squares returns the function that returns the pods of a node as they are shown now.
  squares(): (node: string) => PodSquare[] {
    const gone = this.effect?.gone ?? (this.atEnd() ? new Set([...this.victims(), ...this.leavers()]) : new Set<string>());
    const marked = this.effect || !this.atEnd() ? new Map<string, Moved[]>() : marks(this.moved ?? []);
    const placed = this.placed(), fresh = this.atEnd() ? this.replacements() : [];
    return (node) => {
      const out: PodSquare[] = (this.there.get(node) ?? []).map((p) => ({
        name: p.name, namespace: p.namespace, kind: 'Pod', state: gone.has(key(node, p.namespace, p.name)) ? 'gone' : 'there',
      }));
      if (this.effect) return [...out, ...(this.effect.added.get(node) ?? [])];
      for (const p of placed.get(node) ?? []) out.push({ name: p.name, namespace: p.namespace, kind: p.kind, state: 'added' });
      for (const p of fresh) if (p.node === node) out.push({ name: p.name, namespace: p.namespace, kind: p.kind, state: 'added' });
      for (const m of marked.get(node) ?? []) mark(out, m, node);
      return out;
    };
  }

  drawn(): DrawnNode[] {
    const squares = this.squares();
    return this.nodes().map((n) => ({ node: n, pods: squares(n.name), mark: this.effect?.bad.has(n.name) ? 'bad' : undefined }));
  }

  // runs reports whether a pod is on its node in the manifests.
  runs(pod: PodSquare, node: string): boolean {
    return pod.kind === 'Pod' && !!this.there.get(node)?.some((p) => p.namespace === pod.namespace && p.name === pod.name);
  }

  // find is the node of a name, the node of the pod of a name, or the first node whose name contains it.
  find(name: string): string | undefined {
    const nodes = this.place?.nodes ?? [];
    const pod = [...this.there].find(([, pods]) => pods.some((p) => p.namespace + '/' + p.name === name || p.name === name));
    return nodes.find((x) => x.name === name)?.name ?? pod?.[0] ?? nodes.find((x) => name && x.name.includes(name))?.name;
  }

  // workload is the workload that a suggestion names.
  workload(name: string): Named | undefined { return this.workloads.get(name); }

  // suggestions are nodes, workloads and pods whose names contain a text, up to a number.
  suggestions(text: string, most: number): string[] {
    const out: string[] = [];
    const add = (name: string): boolean => {
      if (name.includes(text)) out.push(name);
      return out.length >= most;
    };
    for (const n of this.place?.nodes ?? []) if (add(n.name)) return out;
    for (const name of this.workloads.keys()) if (add(name)) return out;
    for (const pods of this.there.values()) for (const p of pods) if (add(p.namespace + '/' + p.name)) return out;
    return out;
  }
}

// marks are the pods that came to a node or left it, by node.
function marks(moved: Moved[]): Map<string, Moved[]> {
  const out = new Map<string, Moved[]>();
  for (const m of moved) {
    for (const node of [m.from, m.to]) {
      if (node === undefined) continue;
      const list = out.get(node);
      if (list) list.push(m);
      else out.set(node, [m]);
    }
  }
  return out;
}

// mark marks the square of a pod that came, and adds a cross for a pod that left, unless the node has one, as for a victim.
function mark(squares: PodSquare[], m: Moved, node: string): void {
  const { kind, namespace, name } = m.pod;
  const is = (p: PodSquare, gone: boolean): boolean =>
    !p.changed && p.kind === kind && p.namespace === namespace && p.name === name && (p.state === 'gone') === gone;
  const square = squares.findLast((p) => is(p, m.to !== node));
  if (square) square.changed = true;
  else if (m.from === node) squares.push({ kind, namespace, name, state: 'gone', changed: true });
}
