// The objects of the manifests: which pods are on which node, and edits of the text that keep comments. Everything that is decided is
// decided by the engine, from the same text.
import { Document, isCollection, parseAllDocuments, type DocumentOptions, type ParseOptions, type SchemaOptions } from 'yaml';

import type { ManifestFile } from './engine';

export type Path = (string | number)[];

// Tree is a document of a file: YAML with its comments, or JSON.
interface Tree {
  get(path: Path): unknown;
  set(path: Path, value: unknown): void;
  remove(path: Path): void;
  text(): string;
}

// Place is where an object is: the document itself if item is undefined, or an item of its list.
interface Place { file: number; document: number; item?: number }

export interface KubeObject { kind: string; namespace: string; name: string; value: Record<string, unknown>; place: Place }

type Value = Record<string, unknown>;

// The engine reads YAML 1.1, in which yes and on are booleans and 0644 is octal, but times and 1:30 as texts and 0o14 as a number. Texts like
// any of these are written in quotes.
const yaml: DocumentOptions & ParseOptions & SchemaOptions = {
  version: '1.1', uniqueKeys: false, compat: ['timestamp', 'intTime', 'floatTime'],
  customTags: (tags) => [...tags.filter((t) => typeof t === 'string' || (t.format !== 'TIME' && t.tag !== 'tag:yaml.org,2002:timestamp')), 'intOct'],
};

function documents(text: string): Document[] { return [...parseAllDocuments(text, yaml)] as Document[]; }

function isValue(v: unknown): v is Value {
  return typeof v === 'object' && v !== null && !Array.isArray(v);
}

// at returns what a path of a plain value leads to.
export function at(v: unknown, ...path: Path): unknown {
  for (const key of path) {
    if (typeof v !== 'object' || v === null) return undefined;
    v = (v as Record<string | number, unknown>)[key];
  }
  return v;
}

export function textAt(v: unknown, ...path: Path): string {
  const found = at(v, ...path);
  return typeof found === 'string' ? found : '';
}

// json is the value of a text in JSON, undefined for others.
export function json(text: string): unknown {
  if (!/^\s*[{[]\s*["{}[\]]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // YAML has such brackets, too
  }
}

// values are the documents of a file as plain values. What is no YAML has none: the engine says what is wrong with it.
function values(text: string): unknown[] {
  const value = json(text);
  if (value !== undefined) return [value];
  try {
    return documents(text).map((d) => d.toJS({ maxAliasCount: 100 }) as unknown);
  } catch {
    return [];
  }
}

// parsed are the values of the files that were read last: a large one takes seconds.
let parsed = new Map<ManifestFile, unknown[]>();

export function read(files: ManifestFile[]): KubeObject[] {
  const out: KubeObject[] = [];
  parsed = new Map(files.map((f) => [f, parsed.get(f) ?? values(f.text)]));
  const add = (value: unknown, place: Place): void => {
    if (!isValue(value)) return;
    const name = textAt(value, 'metadata', 'name');
    const kind = textAt(value, 'kind');
    if (kind && name) out.push({ kind, namespace: textAt(value, 'metadata', 'namespace') || 'default', name, value, place });
  };
  files.forEach((f, file) => parsed.get(f)?.forEach((value, document) => {
    const items = at(value, 'items');
    if (!Array.isArray(items)) return add(value, { file, document });
    items.forEach((item: unknown, i) => {
      const kind = textAt(value, 'kind').replace(/List$/, '');
      add(isValue(item) && kind && !item.kind ? { apiVersion: at(value, 'apiVersion'), kind, ...item } : item, { file, document, item: i });
    });
  }));
  return out;
}

// finished reports whether a pod no longer occupies its node.
function finished(pod: Value): boolean {
  return ['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase'));
}

export function podsByNode(objects: KubeObject[]): Map<string, KubeObject[]> {
  const out = new Map<string, KubeObject[]>();
  for (const o of objects) {
    const node = o.kind === 'Pod' ? textAt(o.value, 'spec', 'nodeName') : '';
    if (!node || finished(o.value)) continue;
    const there = out.get(node);
    if (there) there.push(o);
    else out.set(node, [o]);
  }
  return out;
}

// labelKeys are the keys of the labels of nodes, in order.
export function labelKeys(objects: KubeObject[]): string[] {
  const keys = new Set<string>();
  for (const o of objects) {
    const labels = o.kind === 'Node' ? at(o.value, 'metadata', 'labels') : undefined;
    if (isValue(labels)) for (const k of Object.keys(labels)) keys.add(k);
  }
  return [...keys].sort();
}

// nested is a value at a path.
export function nested(path: Path, value: unknown): unknown { return path.reduceRight((inner, key) => ({ [key]: inner }), value); }

class YAMLTree implements Tree {
  constructor(private d: Document) {}
  get(path: Path): unknown {
    const found: unknown = this.d.getIn(path);
    return typeof found === 'object' && found !== null && 'toJSON' in found ? (found as { toJSON(): unknown }).toJSON() : found;
  }
  set(path: Path, value: unknown): void {
    let there = path.length - 1; // the library makes an ordered map of what is not there
    while (there > 0 && !isCollection(this.d.getIn(path.slice(0, there)))) there--;
    this.d.setIn(path.slice(0, there + 1), this.d.createNode(nested(path.slice(there + 1), value)));
  }
  remove(path: Path): void { this.d.deleteIn(path); }
  text(): string { return this.d.toString({ lineWidth: 0 }).replace(/^---\n/, ''); }
}

class JSONTree implements Tree {
  constructor(private value: unknown) {}
  get(path: Path): unknown { return at(this.value, ...path); }
  set(path: Path, value: unknown): void {
    let v = this.value as Record<string | number, unknown>;
    for (const key of path.slice(0, -1)) v = (v[key] ??= {}) as Record<string | number, unknown>;
    v[path[path.length - 1] as string] = value;
  }
  remove(path: Path): void {
    const from = at(this.value, ...path.slice(0, -1));
    const key = path[path.length - 1] as string | number;
    if (Array.isArray(from)) from.splice(Number(key), 1);
    else if (isValue(from)) delete from[key];
  }
  text(): string { return JSON.stringify(this.value, null, 2) + '\n'; }
}

function is(kind: string, namespace: string, name: string): (o: KubeObject) => boolean {
  return (o) => o.kind === kind && o.name === name && (kind === 'Node' || o.namespace === (namespace || 'default'));
}

// Editor edits objects in the text of files.
export class Editor {
  private trees = new Map<number, Tree[]>();
  private objects: KubeObject[];

  constructor(private input: ManifestFile[]) { this.objects = read(input); }

  // find returns the object of a name: the last one, which replaces others.
  find(kind: string, namespace: string, name: string): KubeObject | undefined { return this.objects.findLast(is(kind, namespace, name)); }

  // all returns the objects of a name: of several, the later ones replace or change the earlier ones.
  all(kind: string, namespace: string, name: string): KubeObject[] { return this.objects.filter(is(kind, namespace, name)); }

  private tree(p: Place): Tree {
    let trees = this.trees.get(p.file);
    if (!trees) {
      const text = this.input[p.file]?.text ?? '';
      const value = json(text);
      trees = value !== undefined ? [new JSONTree(value)] : documents(text).map((d) => new YAMLTree(d));
      this.trees.set(p.file, trees);
    }
    return trees[p.document] as Tree;
  }

  private path(o: KubeObject, path: Path): Path { return o.place.item === undefined ? path : ['items', o.place.item, ...path]; }

  get(o: KubeObject, path: Path): unknown { return this.tree(o.place).get(this.path(o, path)); }
  set(o: KubeObject, path: Path, value: unknown): void { this.tree(o.place).set(this.path(o, path), value); }
  delete(o: KubeObject, path: Path): void { this.tree(o.place).remove(this.path(o, path)); }

  // remove removes an object.
  remove(o: KubeObject): void {
    const tree = this.tree(o.place);
    if (o.place.item !== undefined) {
      tree.remove(['items', o.place.item]);
      for (const other of this.objects) {
        const p = other.place;
        if (p.file === o.place.file && p.document === o.place.document && (p.item ?? 0) > o.place.item) p.item = (p.item ?? 0) - 1;
      }
    } else {
      this.removed.add(tree);
    }
    this.objects.splice(this.objects.indexOf(o), 1);
  }
  private removed = new Set<Tree>();

  // add adds a file.
  add(name: string, value: unknown): void { this.added.push({ name, text: new Document(value, yaml).toString({ lineWidth: 0 }) }); }
  private added: ManifestFile[] = [];

  free(kind: string, prefix: string): string {
    for (let i = 1; ; i++) if (!this.find(kind, '', prefix + i)) return prefix + i;
  }

  files(): ManifestFile[] {
    const out = this.input.map((f, i) => {
      const trees = this.trees.get(i)?.filter((t) => !this.removed.has(t));
      return trees ? { name: f.name, text: trees.map((t) => t.text()).join('---\n') } : f;
    });
    return [...out.filter((f) => f.text.trim() !== ''), ...this.added];
  }
}

// Trial is an editor that changes nothing. It finds out which edits can be made.
export class Trial extends Editor {
  override set(): void {}
  override delete(): void {}
  override remove(): void {}
  override add(): void {}
}
