// The page: manifests on the left, the cluster in the middle, the answer on the right.
import type { Change, ClusterNode, Drain, Explain, Fail, Place, Score } from './answers';
import { addNode, apply, removeNode } from './change';
import { ClusterView } from './cluster';
import { byId, h, type Child } from './dom';
import { differences, key, ofComparison, ofDrain, ofFailure, type Effect } from './effect';
import { connect, type Call, type Engine, type ManifestFile, type Result } from './engine';
import { decode, encode } from './link';
import { Manifests } from './manifests';
import { Editor, podsByNode, read, type KubeObject } from './objects';
import type { DrawnNode, PodSquare } from './paint';
import * as panel from './panel';

const view = new ClusterView(byId<HTMLCanvasElement>('cluster'));
const text = byId<HTMLTextAreaElement>('text');
const step = byId<HTMLInputElement>('step');
const joint = byId<HTMLInputElement>('joint');
const manifests = new Manifests();
let engine: Engine;
let place: Place | undefined;
let there = new Map<string, KubeObject[]>();
let effect: Effect | undefined;
let last: { call: Call; answer: string } | undefined;
let question = 0;

async function ask<T>(verb: string, values: Record<string, string[]>, profile: ManifestFile | null | undefined = manifests.profile()): Promise<{ doc?: T; result: Result }> {
  document.body.classList.add('busy');
  try {
    const call = { verb, values: { output: ['json'], ...values }, files: manifests.objects(), profile: profile ?? undefined };
    const result = await engine.ask(call);
    if (!result.answer) return { result };
    last = { call, answer: result.answer };
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

// refused shows errors. With a token everything is decided again.
function refused(r: Result): void {
  if (r.locked) {
    verdict('Locked', 2);
    show(...panel.locked(r.errors, (token) => {
      engine.unlock?.(token);
      void decide(true);
    }));
  } else {
    show(...panel.errors(r.errors));
  }
  settled();
}

// placing are the parameters of a placement.
function placing(): Record<string, string[]> { return joint.checked ? { joint: ['true'] } : {}; }

// decide places what is pending.
async function decide(fit: boolean): Promise<void> {
  const mine = ++question;
  effect = undefined;
  if (manifests.files.length === 0) return;
  const { doc, result } = await ask<Place>('place', placing());
  if (mine !== question) return;
  if (!doc) {
    verdict('No answer', 2);
    refused(result);
    return;
  }
  place = doc;
  there = podsByNode(read(manifests.objects()));
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
  removeNode: (name) => edit((e) => removeNode(e, name, there.get(name) ?? [])),
  likeNode: (name) => edit((e) => {
    const n = e.find('Node', '', name);
    if (n) addNode(e, n, []);
    return !!n;
  }),
  can: (doc, change) => Object.keys(change).length > 0 && apply(change, new Editor(manifests.files), doc),
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
  const e = new Editor(manifests.files);
  if (!change(e)) {
    show(...panel.errors([{ detail: 'the text does not have that object in a form that can be edited here' }]));
    return;
  }
  manifests.edited(e.files());
  void decide(true);
}

async function explain(kind: string, namespace: string, name: string, running: boolean): Promise<void> {
  const mine = ++question;
  const of = namespace + '/' + kind + '/' + name;
  const [{ doc, result }, score] = running ? [await ask<Explain>('explain', { target: [of] }), undefined]
    : [await ask<Explain>('explain', { pod: [of] }), (await ask<Score>('score', { pod: [of] })).doc];
  if (mine !== question) return;
  if (!doc) {
    refused(result);
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
    refused(result);
    return;
  }
  effect = ofFailure(doc);
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
    refused(result);
    return;
  }
  effect = ofDrain(name, doc);
  verdict(doc.verdict, result.exit);
  show(...panel.drained(name, doc, actions));
  draw(false);
  settled();
}

// compare places the pods with two profiles, and shows the second placement with what differs from the first.
async function compare(): Promise<void> {
  manifests.keep();
  const added = manifests.addProfile();
  const mine = ++question;
  const profiles = [manifests.profile(), manifests.other()] as const;
  const first = await ask<Place>('place', placing(), profiles[0] ?? null);
  const second = first.doc ? await ask<Place>('place', placing(), profiles[1] ?? null) : first;
  if (mine !== question) return;
  if (!first.doc || !second.doc) {
    refused(second.result);
    return;
  }
  place = first.doc;
  there = podsByNode(read(manifests.objects()));
  step.value = step.max = String(place.pods.length);
  effect = ofComparison(first.doc, second.doc);
  const names = profiles.map((p) => p?.name ?? 'default') as [string, string];
  const differ = differences(first.doc, second.doc);
  verdict(differ.length === 0 ? 'Both profiles place the pods alike' : names[1] + ': ' + second.doc.verdict, second.result.exit);
  show(...panel.compared(names, first.doc, second.doc, differ, actions));
  draw(added);
  settled();
}

async function open(list: Iterable<File>): Promise<void> {
  const read = await Promise.all([...list].map(async (f) => ({ name: f.name, text: await f.text() })));
  if (read.length === 0) return;
  manifests.replace(read);
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
  manifests.keep();
  const fragment = await encode({ files: manifests.files, profile: manifests.profile()?.name ?? '', joint: joint.checked });
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
  on('decide', () => { manifests.keep(); void decide(true); });
  on('compare', () => void compare());
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
    const r = await engine.ask({ ...last.call, verb: verb === 'score' ? 'explain' : verb, values: { ...values, output: ['svg'] } });
    if (r.answer) download(verb + '.svg', 'image/svg+xml', r.answer);
  })());
  on('undo', () => { if (manifests.undo()) void decide(true); });
  on('add', () => manifests.add());
  on('drop', () => { manifests.remove(); void decide(true); });
  for (const id of ['joint', 'profile']) {
    byId(id).addEventListener('change', () => {
      manifests.keep();
      manifests.use(byId<HTMLSelectElement>('profile').value);
      void decide(false);
    });
  }
  step.addEventListener('input', () => stepTo(Number(step.value)));
  byId('files').addEventListener('change', (e) => manifests.show(Number((e.target as HTMLSelectElement).value)));
  byId('open').addEventListener('change', (e) => void open((e.target as HTMLInputElement).files ?? []));
  byId('find').addEventListener('change', (e) => find((e.target as HTMLInputElement).value.trim()));
  text.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { manifests.keep(); void decide(false); }
  });
  document.addEventListener('dragover', (e) => e.preventDefault());
  document.addEventListener('drop', (e) => {
    e.preventDefault();
    void open(e.dataTransfer?.files ?? []);
  });
  window.addEventListener('hashchange', () => void restore());
  view.onNode = openNode;
  view.onOut = actions.removeNode;
  view.onPod = (pod) => (pod.state === 'added' && !effect ? actions.explain(pod.kind, pod.namespace, pod.name) : actions.explainRunning(pod.namespace, pod.name));
}

async function restore(): Promise<boolean> {
  try {
    const found = await decode(location.hash);
    if (!found) return false;
    manifests.set(found.files, 0);
    manifests.use(found.profile);
    joint.checked = found.joint;
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
    manifests.replace(x.files.map(([name, content]) => ({ name, text: content })));
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
