// The page: manifests on the left, the cluster in the middle, the answer on the right.
import type { Change, ClusterNode, Drain, Explain, Fail, Place, Score } from './answers';
import { addNode, apply } from './change';
import { ClusterView, type DrawnNode, type PodSquare } from './cluster';
import { byId, h, type Child } from './dom';
import { connect, type Engine, type ManifestFile, type Result } from './engine';
import { decode, encode } from './link';
import { Editor, podsByNode, read, type KubeObject } from './objects';
import * as panel from './panel';

// Effect is what a failure or a drain does to the cluster.
interface Effect { nodes: ClusterNode[]; gone: Set<string>; added: Map<string, PodSquare[]>; bad: Set<string> }

const view = new ClusterView(byId<HTMLCanvasElement>('cluster'));
const text = byId<HTMLTextAreaElement>('text');
const step = byId<HTMLInputElement>('step');
let engine: Engine;
let files: ManifestFile[] = [];
let current = 0;
let history: ManifestFile[][] = [];
let place: Place | undefined;
let there = new Map<string, KubeObject[]>();
let effect: Effect | undefined;
let last: { call: { verb: string; values: Record<string, string[]> }; answer: string } | undefined;
let question = 0;

async function ask<T>(verb: string, values: Record<string, string[]>): Promise<{ doc?: T; result: Result }> {
  document.body.classList.add('busy');
  try {
    const result = await engine.ask({ verb, values: { output: ['json'], ...values }, files });
    if (!result.answer) return { result };
    last = { call: { verb, values }, answer: result.answer };
    return { doc: JSON.parse(result.answer) as T, result };
  } catch (err) {
    return { result: { exit: 2, answer: '', errors: [{ detail: String(err) }] } };
  } finally {
    document.body.classList.remove('busy');
  }
}

// settled counts the questions that are answered and shown, for tests.
function settled(): void {
  document.body.dataset.settled = String(Number(document.body.dataset.settled ?? 0) + 1);
}

function show(...children: Child[]): void {
  const answer = byId('answer');
  answer.replaceChildren(...children.filter((c): c is Node | string => c !== undefined && c !== false));
  answer.scrollTop = 0;
}

function verdict(words: string, exit: number): void {
  const v = byId('verdict');
  v.textContent = words;
  v.className = ['yes', 'no', 'no', 'warn'][exit] ?? '';
}

function refused(r: Result): void {
  verdict('No answer', 2);
  show(...panel.errors(r.errors));
  settled();
}

// decide places what is pending.
async function decide(fit: boolean): Promise<void> {
  const mine = ++question;
  effect = undefined;
  if (files.length === 0) return;
  const { doc, result } = await ask<Place>('place', {});
  if (mine !== question) return;
  if (!doc) {
    refused(result);
    return;
  }
  place = doc;
  there = podsByNode(read(files));
  verdict(doc.verdict, result.exit);
  step.max = String(doc.pods.length);
  step.value = step.max;
  domains(doc);
  show(...panel.overview(doc, actions));
  draw(fit);
  settled();
}

function domains(d: Place): void {
  const names = [...new Set(d.nodes.map((n) => n.domain).filter((x): x is string => !!x))];
  byId('domains').replaceChildren(...names.slice(0, 500).map((n) => new Option(n, n)));
  byId<HTMLButtonElement>('fail').disabled = names.length === 0;
  const options = [...d.nodes.slice(0, 300).map((n) => n.name), ...[...there.values()].flat().slice(0, 300).map((p) => p.namespace + '/' + p.name)];
  byId('found').replaceChildren(...options.map((o) => {
    const e = document.createElement('option');
    e.value = o;
    return e;
  }));
}

function key(node: string, namespace: string, name: string): string { return node + ' ' + namespace + '/' + name; }

// squares are the pods of a node as they are shown now.
function squares(node: string): PodSquare[] {
  const gone = effect?.gone ?? victims();
  const out: PodSquare[] = (there.get(node) ?? []).map((p) => ({
    name: p.name, namespace: p.namespace, kind: 'Pod', state: gone.has(key(node, p.namespace, p.name)) ? 'gone' : 'there',
  }));
  if (effect) return [...out, ...(effect.added.get(node) ?? [])];
  for (const p of placed().get(node) ?? []) out.push({ name: p.name, namespace: p.namespace, kind: p.kind, state: 'added' });
  return out;
}

let placedCache: { at: string; of?: Place; by: Map<string, Place['pods']> } = { at: '', by: new Map() };

// placed are the pods that are placed up to the step, by node.
function placed(): Map<string, Place['pods']> {
  if (placedCache.at === step.value && placedCache.of === place) return placedCache.by;
  const by = new Map<string, Place['pods']>();
  for (const p of place?.pods.slice(0, Number(step.value)) ?? []) {
    if (!p.node) continue;
    const list = by.get(p.node);
    if (list) list.push(p);
    else by.set(p.node, [p]);
  }
  placedCache = { at: step.value, of: place, by };
  return by;
}

// victims are the pods that the placement evicts, once all steps are made.
function victims(): Set<string> {
  const out = new Set<string>();
  if (!place || step.value !== step.max) return out;
  for (const e of place.evictions) for (const v of e.victims) out.add(key(e.nodeName, v.namespace, v.name));
  return out;
}

function shownNodes(): ClusterNode[] {
  const before = Number(step.value) < Number(step.max);
  return (effect?.nodes ?? place?.nodes ?? []).map((n) => (before && !effect ? { ...n, requestedAfter: n.requested } : n));
}

function draw(fit: boolean): void {
  const nodes: DrawnNode[] = shownNodes().map((n) => ({ node: n, pods: squares(n.name), mark: effect?.bad.has(n.name) ? 'bad' : undefined }));
  view.show(nodes, fit);
  const total = place?.pods.length ?? 0;
  byId('count').textContent = total === 0 ? '' : step.value + ' of ' + total;
  const pod = place?.pods[Number(step.value) - 1];
  step.setAttribute('aria-valuetext', step.value + ' of ' + total + (pod ? ': ' + pod.name + ' ' + (pod.node ?? 'has no node') : ''));
}

const actions: panel.Actions = {
  explain: (kind, namespace, name) => void explain(kind, namespace, name, false),
  explainRunning: (namespace, name) => void explain('Pod', namespace, name, true),
  node: openNode,
  drain: (name) => void drain(name),
  failNode: (name) => void fail({ node: [name] }),
  removeNode: (name) => edit((e) => {
    const n = e.find('Node', '', name);
    if (!n) return false;
    for (const p of there.get(name) ?? []) {
      const pod = e.find('Pod', p.namespace, p.name);
      if (pod) e.remove(pod);
    }
    e.remove(n);
    return true;
  }),
  likeNode: (name) => edit((e) => {
    const n = e.find('Node', '', name);
    if (n) addNode(e, n, []);
    return !!n;
  }),
  can: (doc, change) => Object.keys(change).length > 0 && apply(change, new Editor(files), doc),
  apply: (doc, change: Change) => edit((e) => apply(change, e, doc)),
  overview: () => {
    effect = undefined;
    view.selected = '';
    if (!place) return;
    verdict(place.verdict, place.pods.every((p) => p.node) ? 0 : 1);
    show(...panel.overview(place, actions));
    draw(false);
  },
};

// edit changes the text of the files, and decides again.
function edit(change: (e: Editor) => boolean): void {
  const e = new Editor(files);
  if (!change(e)) {
    show(...panel.errors([{ detail: 'the text does not have that object in a form that can be edited here' }]));
    return;
  }
  remember();
  setFiles(e.files(), Math.max(0, e.files().length > files.length ? e.files().length - 1 : current));
  void decide(true);
}

async function explain(kind: string, namespace: string, name: string, running: boolean): Promise<void> {
  const mine = ++question;
  const of = namespace + '/' + kind + '/' + name;
  const [{ doc, result }, score] = running ? [await ask<Explain>('explain', { target: [of] }), undefined]
    : [await ask<Explain>('explain', { pod: [of] }), (await ask<Score>('score', { pod: [of] })).doc];
  if (mine !== question) return;
  if (!doc) {
    show(...panel.errors(result.errors));
    settled();
    return;
  }
  show(...panel.explanation(kind + ' ' + namespace + '/' + name, doc, score, actions));
  byId('answer').focus({ preventScroll: true });
  settled();
}

function openNode(name: string): void {
  const n = shownNodes().find((x) => x.name === name);
  if (!n) return;
  view.select(name);
  show(...panel.node(n, squares(name), actions));
}

async function fail(values: Record<string, string[]>): Promise<void> {
  const mine = ++question;
  const { doc, result } = await ask<Fail>('fail', values);
  if (mine !== question) return;
  if (!doc) {
    show(...panel.errors(result.errors));
    settled();
    return;
  }
  effect = { nodes: doc.nodes, gone: new Set(), added: new Map(), bad: new Set(doc.nodes.filter((n) => n.state === 'failed').map((n) => n.name)) };
  for (const f of doc.failures) for (const p of f.pods) moves(effect, p.from, p.node, p.namespace, p.name);
  verdict(doc.verdict, result.exit);
  show(...panel.failed(doc, actions));
  draw(false);
  settled();
}

async function drain(name: string): Promise<void> {
  const mine = ++question;
  const { doc, result } = await ask<Drain>('drain', { node: [name], moves: ['true'] });
  if (mine !== question) return;
  if (!doc) {
    show(...panel.errors(result.errors));
    settled();
    return;
  }
  effect = { nodes: doc.nodes, gone: new Set(), added: new Map(), bad: new Set([name]) };
  for (const m of doc.moves) for (const to of m.to.length > 0 ? m.to : [undefined]) moves(effect, m.from, to, m.namespace, m.name);
  verdict(doc.verdict, result.exit);
  show(...panel.drained(name, doc, actions));
  draw(false);
  settled();
}

function moves(e: Effect, from: string | undefined, to: string | undefined, namespace: string, name: string): void {
  if (from) e.gone.add(key(from, namespace, name));
  if (!to) return;
  const pod: PodSquare = { name, namespace, kind: 'Pod', state: 'added' };
  const list = e.added.get(to);
  if (list) list.push(pod);
  else e.added.set(to, [pod]);
}

function remember(): void {
  history.push(files);
  if (history.length > 50) history.shift();
}

function setFiles(to: ManifestFile[], select: number): void {
  files = to;
  current = Math.min(select, Math.max(0, files.length - 1));
  byId('files').replaceChildren(...files.map((f, i) => new Option(f.name, String(i), false, i === current)));
  const shown = files[current]?.text ?? '';
  text.readOnly = shown.length > maximumShown;
  text.value = text.readOnly ? shown.slice(0, 100_000) + '\n… the file is too large to edit here' : shown;
}

// maximumShown bounds the text of a file that can be edited.
const maximumShown = 2 << 20;

// keep takes over what was typed.
function keep(): void {
  if (text.readOnly || files[current]?.text === text.value || (files.length === 0 && text.value.trim() === '')) return;
  remember();
  if (files.length === 0) setFiles([{ name: 'pasted.yaml', text: text.value }], 0);
  else files = files.map((f, i) => (i === current ? { name: f.name, text: text.value } : f));
}

async function open(list: Iterable<File>): Promise<void> {
  const read = await Promise.all([...list].map(async (f) => ({ name: f.name, text: await f.text() })));
  if (read.length === 0) return;
  remember();
  setFiles(read, 0);
  await decide(true);
}

function download(name: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const a = h('a', { href: url });
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

async function copyLink(): Promise<void> {
  keep();
  const fragment = await encode(files);
  window.history.replaceState(null, '', fragment);
  const b = byId<HTMLButtonElement>('link');
  try {
    await navigator.clipboard.writeText(location.href);
    b.textContent = 'Copied';
  } catch {
    b.textContent = 'In the address bar';
  }
  setTimeout(() => { b.textContent = 'Copy link'; }, 2000);
}

function find(name: string): void {
  const pod = [...there].find(([, pods]) => pods.some((p) => p.namespace + '/' + p.name === name || p.name === name));
  const n = place?.nodes.find((x) => x.name === name)?.name ?? pod?.[0] ?? place?.nodes.find((x) => name && x.name.includes(name))?.name;
  if (n) openNode(n);
}

function stepTo(to: number): void {
  step.value = String(to);
  effect = undefined;
  draw(false);
}

function listen(): void {
  const on = (id: string, f: () => void): void => byId(id).addEventListener('click', f);
  on('decide', () => { keep(); void decide(true); });
  on('fail', () => void fail({ 'topology-key': [(place?.topologyKey ?? '') + '=' + byId<HTMLSelectElement>('domains').value] }));
  on('back', () => stepTo(Number(step.value) - 1));
  on('forth', () => stepTo(Number(step.value) + 1));
  on('in', () => view.zoom(1.3));
  on('out', () => view.zoom(1 / 1.3));
  on('fit', () => view.fit());
  on('link', () => void copyLink());
  on('json', () => { if (last) download(last.call.verb + '.json', 'application/json', last.answer); });
  on('svg', () => void (async () => {
    if (!last) return;
    const { verb, values } = last.call;
    const r = await engine.ask({ verb: verb === 'score' ? 'explain' : verb, values: { ...values, output: ['svg'] }, files });
    if (r.answer) download(verb + '.svg', 'image/svg+xml', r.answer);
  })());
  on('undo', () => {
    const before = history.pop();
    if (before) {
      setFiles(before, current);
      void decide(true);
    }
  });
  on('add', () => { keep(); remember(); setFiles([...files, { name: 'file-' + (files.length + 1) + '.yaml', text: '' }], files.length); text.focus(); });
  on('drop', () => { remember(); setFiles(files.filter((_, i) => i !== current), Math.max(0, current - 1)); void decide(true); });
  step.addEventListener('input', () => stepTo(Number(step.value)));
  byId('files').addEventListener('change', (e) => { const to = Number((e.target as HTMLSelectElement).value); keep(); setFiles(files, to); });
  byId('open').addEventListener('change', (e) => void open((e.target as HTMLInputElement).files ?? []));
  byId('find').addEventListener('change', (e) => find((e.target as HTMLInputElement).value.trim()));
  text.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { keep(); void decide(false); }
  });
  document.addEventListener('dragover', (e) => e.preventDefault());
  document.addEventListener('drop', (e) => {
    e.preventDefault();
    void open(e.dataTransfer?.files ?? []);
  });
  window.addEventListener('hashchange', () => void restore());
  view.onNode = openNode;
  view.onPod = (pod) => (pod.state === 'added' && !effect ? actions.explain(pod.kind, pod.namespace, pod.name) : actions.explainRunning(pod.namespace, pod.name));
}

async function restore(): Promise<boolean> {
  try {
    const found = await decode(location.hash);
    if (!found) return false;
    setFiles(found, 0);
    await decide(true);
    return true;
  } catch (err) {
    show(...panel.errors([{ detail: 'the link cannot be read: ' + String(err) }]));
    return true;
  }
}

async function examples(): Promise<void> {
  const response = await fetch('examples.json');
  const all = (await response.json()) as { name: string; files: [string, string][] }[];
  const select = byId<HTMLSelectElement>('examples');
  select.append(...all.map((x) => new Option(x.name.replaceAll('-', ' '), x.name)));
  select.addEventListener('change', () => {
    const x = all.find((y) => y.name === select.value);
    if (!x) return;
    remember();
    setFiles(x.files.map(([name, content]) => ({ name, text: content })), 0);
    void decide(true);
  });
}

async function start(): Promise<void> {
  listen();
  await examples();
  engine = await connect();
  byId('where').textContent = engine.where;
  document.body.dataset.ready = 'true';
  await restore();
}

// The test reads the frames and the places of nodes, which a canvas does not have.
Object.assign(window, { stowageView: view });
void start();
