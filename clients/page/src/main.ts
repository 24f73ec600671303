// The page: manifests on the left, the cluster in the middle, the answer on the right.
import type { Change, Drain, Explain, Fail, Place, Score } from './answers';
import { addNode, apply, removeNode } from './change';
import { choose, chosen, offer, placing } from './choices';
import { ClusterView } from './cluster';
import { byId, type Child } from './dom';
import { differences, moves, ofComparison, ofDrain, ofFailure, type Effect } from './effect';
import { connect, type ManifestFile, type Result } from './engine';
import { decode, encode } from './link';
import { Manifests } from './manifests';
import { Editor } from './objects';
import { examples, opened } from './open';
import * as panel from './panel';
import { Questions, type Answered } from './questions';
import { announce, copied, download, settled, show, suggest, verdict } from './screen';
import { Shown } from './shown';
import { type Named, type Numbers, numbersOf, setMaxSkew, setReplicas, workloadOf } from './workload';

const view = new ClusterView(byId<HTMLCanvasElement>('cluster'));
const text = byId<HTMLTextAreaElement>('text');
const step = byId<HTMLInputElement>('step');
const welcome = byId('verdict').textContent ?? '';
const manifests = new Manifests();
const shown = new Shown();
const engine = connect(() => { byId('where').textContent = 'The server does not answer. Trying again.'; });
const questions = new Questions(engine, (busy) => {
  document.body.classList.toggle('busy', busy);
  byId<HTMLButtonElement>('stop').disabled = !busy;
});
let last: Answered<unknown> | undefined; // the answer that is shown
let question = 0, decision = 0; // the last ones: earlier answers are not shown

async function ask<T>(verb: string, values: Record<string, string[]>, profile: ManifestFile | null | undefined = manifests.profile()): Promise<{ answered?: Answered<T>; result: Result }> {
  return questions.document<T>({ verb, values, files: manifests.objects(), profile: profile ?? undefined });
}

// refused shows errors: with the way back, unless the placement is of other manifests. With a token everything is decided again.
function refused(r: Result, back: boolean): void {
  if (r.locked) {
    verdict('Locked', 2);
    show(...panel.locked(r.errors, (token) => void engine.then((e) => {
      e.unlock?.(token);
      return decide({ fit: true });
    })));
  } else {
    show(...panel.refusal(r.errors, actions, back && !!shown.place));
  }
  settled();
}

// failed shows what went wrong before any request.
function failed(err: unknown): void { refused({ exit: 2, answer: '', errors: [{ detail: err instanceof Error ? err.message : String(err) }] }, true); }

// decide places what is pending. After an edit it shows what the edit moves, has words announced, and shows the overview or something else.
async function decide(o: { fit?: boolean; edited?: boolean; words?: string; then?: () => void }): Promise<void> {
  const mine = ++decision;
  question++;
  if (manifests.files.length === 0) {
    last = undefined;
    verdict(welcome, -1);
    set(undefined, true);
    show();
    settled();
    return;
  }
  const { answered, result } = await ask<Place>('place', placing());
  if (mine !== decision) return;
  if (!answered) {
    verdict('No answer', 2);
    refused(result, false);
    return;
  }
  const before = o.edited && shown.place ? shown.standings() : undefined;
  set(answered, !!o.fit);
  if (before) {
    shown.moved = moves(before, shown.standings());
    draw(false);
  }
  announce([o.words, shown.moved && panel.movesOf(shown.moved)].filter(Boolean).join(' '));
  (o.then ?? overview)();
  settled();
}

// set shows the picture of a placement.
function set(placement: Answered<Place> | undefined, fit: boolean): void {
  shown.set(placement, manifests.objects());
  step.max = String(shown.steps);
  offer([...new Set((shown.place?.nodes ?? []).map((n) => n.domain).filter((x): x is string => !!x))], shown.keys);
  draw(fit);
}

function draw(fit: boolean): void {
  view.show(shown.drawn(), fit);
  step.value = String(shown.step);
  byId('count').textContent = shown.steps === 0 ? '' : shown.step + ' of ' + shown.steps;
  const pod = shown.place?.pods[shown.step - 1];
  step.setAttribute('aria-valuetext', shown.step + ' of ' + shown.steps + (pod ? ': ' + pod.name + ' ' + (pod.node ?? 'has no node') : ''));
}

// placed has the placement as the answer, and returns it.
function placed(): Place | undefined {
  const placement = shown.placement;
  if (!placement) return undefined;
  last = placement;
  verdict(placement.doc.verdict, placement.exit);
  return placement.doc;
}

function overview(): void {
  const placement = placed();
  if (placement) show(...panel.overview(placement, shown.moved, actions));
}

// numbers are the numbers of the workload that makes a pod, undefined if the manifests do not have it.
function numbers(of: Named): Numbers | undefined {
  const trial = manifests.trial();
  return numbersOf(trial, workloadOf(trial, of));
}

function openWorkload(of: Named, field = 'answer'): void {
  question++;
  const n = numbers(of), placement = n && placed();
  if (!placement) {
    overview();
    return;
  }
  stepTo(shown.step);
  show(...panel.workload(n, placement, shown.moved, actions));
  byId(field).focus({ preventScroll: true });
}

const actions: panel.Actions = {
  explain: (kind, namespace, name) => void explain(kind, namespace, name, false),
  pod: (pod, node) => void explain(pod.kind, pod.namespace, pod.name, shown.runs(pod, node)),
  node: openNode,
  drain: (name) => void drain(name),
  failNode: (name) => void fail({ node: [name] }),
  removeNode: (name) => edit('Node ' + name + ' is removed; Undo brings it back.', (e) => removeNode(e, name, shown.there.get(name) ?? [])),
  likeNode: (name) => edit('There is one more node like ' + name + '.', (e) => {
    const n = e.find('Node', '', name);
    if (n) addNode(e, n, []);
    return !!n;
  }),
  can: (doc, change) => Object.keys(change).length > 0 && apply(change, manifests.trial(), doc),
  apply: (doc, change: Change) => edit('', (e) => apply(change, e, doc)),
  overview: () => {
    question++;
    view.selected = '';
    stepTo(shown.step);
    overview();
  },
  domain: openDomain,
  workload: openWorkload,
  replicas: (of, to) => edit('', (e) => setReplicas(e, of, to), () => openWorkload(of, 'replicas')),
  maxSkew: (of, index, to) => edit('', (e) => setMaxSkew(e, of, index, to), () => openWorkload(of, 'skew-' + index)),
};

// edit changes the text of the files, and decides again.
function edit(words: string, change: (e: Editor) => boolean, then?: () => void): void {
  const e = new Editor(manifests.files);
  if (!change(e)) {
    failed(new Error('the text does not have that object in a form that can be edited here'));
    return;
  }
  manifests.edited(e.files());
  void decide({ fit: !then, edited: true, words, then });
}

async function explain(kind: string, namespace: string, name: string, running: boolean): Promise<void> {
  const mine = ++question;
  const of = namespace + '/' + kind + '/' + name;
  const { answered, result } = await ask<Explain>('explain', { [running ? 'target' : 'pod']: [of] });
  if (mine !== question) return;
  if (!answered) {
    refused(result, true);
    return;
  }
  last = answered;
  show(...panel.explanation(kind + ' ' + namespace + '/' + name, answered.doc, numbers({ kind, namespace, name }), () => void score(of), actions));
  byId('answer').focus({ preventScroll: true });
  settled();
}

// score adds the scores of a pod to its explanation.
async function score(of: string): Promise<void> {
  const mine = ++question;
  const { answered, result } = await ask<Score>('score', { pod: [of] });
  if (mine !== question) return;
  byId('scores').replaceChildren(...(answered ? [panel.scores(answered.doc)] : panel.errors(result.errors)));
  settled();
}

function openNode(name: string): void {
  const n = shown.nodes().find((x) => x.name === name);
  if (!n) return;
  question++;
  view.select(name);
  const pods = shown.squares()(name);
  announce(panel.state(n, pods));
  show(...panel.node(n, pods, actions));
}

function openDomain(of: string, value: string, nodes: string[]): void {
  question++;
  const squares = shown.squares();
  show(...panel.domain(of + '=' + value, nodes.map((name) => ({ name, pods: squares(name) })), actions));
}

// happened shows the answer about something that happens to the cluster.
function happened<T extends Fail | Drain>(answered: Answered<T>, effect: Effect, children: Child[]): void {
  last = answered;
  shown.effect = effect;
  verdict(answered.doc.verdict, answered.exit);
  show(...children);
  draw(false);
  settled();
}

async function fail(values: Record<string, string[]>): Promise<void> {
  const mine = ++question;
  const { answered, result } = await ask<Fail>('fail', values);
  if (mine !== question) return;
  if (answered) happened(answered, ofFailure(answered.doc), panel.failed(answered.doc, actions));
  else refused(result, true);
}

async function drain(name: string): Promise<void> {
  const mine = ++question;
  const { answered, result } = await ask<Drain>('drain', { node: [name], moves: ['true'] });
  if (mine !== question) return;
  if (answered) happened(answered, ofDrain(name, answered.doc), panel.drained(name, answered.doc, actions));
  else refused(result, true);
}

// compare places the pods with two profiles, and shows the second placement with what differs from the first.
async function compare(): Promise<void> {
  manifests.keep();
  const added = manifests.addProfile();
  const mine = ++decision;
  question++;
  const profiles = [manifests.profile(), manifests.other()] as const;
  const first = await ask<Place>('place', placing(), profiles[0] ?? null);
  const second = first.answered ? await ask<Place>('place', placing(), profiles[1] ?? null) : first;
  if (mine !== decision) return;
  if (!first.answered || !second.answered) {
    refused(second.result, true);
    return;
  }
  const [one, two] = [first.answered.doc, second.answered.doc];
  set(first.answered, added);
  shown.effect = ofComparison(one, two);
  last = second.answered;
  const names = profiles.map((p) => p?.name ?? 'default') as [string, string];
  const differ = differences(one, two);
  verdict(differ.length === 0 ? 'Both profiles place the pods alike' : names[1] + ': ' + two.verdict, second.answered.exit);
  show(...panel.compared(names, one, two, differ, actions));
  draw(false);
  settled();
}

// replace decides about other files. A note about them is beside where they are decided.
async function replace(files: ManifestFile[], note = ''): Promise<void> {
  manifests.replace(files);
  byId('where').textContent = [note, (await engine).where].filter(Boolean).join(' ');
  await decide({ fit: true });
}

async function open(list: Iterable<File>): Promise<void> {
  try {
    const files = await opened(list);
    if (files.length > 0) await replace(files);
  } catch (err) {
    failed(err);
  }
}

// readCluster reads the cluster behind the server as it is now.
async function readCluster(): Promise<void> {
  const mine = ++decision;
  question++;
  const read = await questions.cluster();
  if (mine !== decision) return;
  if (read.answer) await replace([{ name: 'cluster.json', text: read.answer }], ['The cluster of ' + new Date().toLocaleTimeString() + '.', read.notes].filter(Boolean).join(' '));
  else refused(read, true);
}

async function copyLink(): Promise<void> {
  manifests.keep();
  try {
    window.history.replaceState(null, '', await encode({ files: manifests.files, profile: manifests.profile()?.name ?? '', ...chosen() }));
  } catch (err) {
    failed(err);
    return;
  }
  await copied(byId<HTMLButtonElement>('link'));
}

function find(name: string): void {
  const workload = shown.workload(name), node = shown.find(name);
  if (workload) openWorkload(workload);
  else if (node) openNode(node);
}

function stepTo(to: number): void {
  shown.step = Math.max(0, Math.min(shown.steps, to));
  shown.effect = undefined;
  draw(false);
}

// picture downloads the picture of the answer that is shown.
async function picture(): Promise<void> {
  if (!last) return;
  const r = await questions.ask({ ...last.call, values: { ...last.call.values, output: ['svg'] } });
  if (r.answer) download(last.call.verb + '.svg', 'image/svg+xml', r.answer);
  else refused(r, true);
}

// typed takes over what was typed, and decides.
function typed(fit: boolean): void {
  manifests.keep();
  void decide({ fit, edited: true });
}

function listen(): void {
  const on = (id: string, f: () => void): void => byId(id).addEventListener('click', f);
  const domain = (): string => byId<HTMLSelectElement>('domains').value;
  const of = (): string => shown.place?.topologyKey ?? '';
  on('decide', () => typed(true));
  on('stop', () => questions.stop());
  on('compare', () => void compare());
  on('fail', () => void fail({ 'topology-key': [of() + '=' + domain()] }));
  on('domain', () => openDomain(of(), domain(), shown.nodes().filter((n) => n.domain === domain()).map((n) => n.name)));
  on('back', () => stepTo(shown.step - 1));
  on('forth', () => stepTo(shown.step + 1));
  on('in', () => view.zoom(1.3));
  on('out', () => view.zoom(1 / 1.3));
  on('fit', () => view.fit());
  on('link', () => void copyLink());
  on('connect', () => void readCluster());
  on('json', () => { if (last) download(last.call.verb + '.json', 'application/json', last.answer); });
  on('svg', () => void picture());
  on('undo', () => {
    const undone = manifests.undo();
    if (undone) void decide({ fit: true, edited: undone.edit });
  });
  on('add', () => manifests.add());
  on('drop', () => { manifests.remove(); void decide({ fit: true, edited: true }); });
  for (const id of ['joint', 'profile']) {
    byId(id).addEventListener('change', () => {
      manifests.use(byId<HTMLSelectElement>('profile').value);
      typed(false);
    });
  }
  byId('key').addEventListener('change', () => typed(true));
  step.addEventListener('input', () => stepTo(Number(step.value)));
  byId('files').addEventListener('change', (e) => manifests.show(Number((e.target as HTMLSelectElement).value)));
  byId('open').addEventListener('change', (e) => void open((e.target as HTMLInputElement).files ?? []));
  byId('find').addEventListener('input', (e) => suggest(byId('found'), shown.suggestions((e.target as HTMLInputElement).value.trim(), 100)));
  byId('find').addEventListener('change', (e) => find((e.target as HTMLInputElement).value.trim()));
  text.addEventListener('keydown', (e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) typed(false); });
  document.addEventListener('dragover', (e) => e.preventDefault());
  document.addEventListener('drop', (e) => {
    e.preventDefault();
    void open(e.dataTransfer?.files ?? []);
  });
  window.addEventListener('hashchange', () => void restore());
  byId('cluster').addEventListener('keydown', (e) => { if (e.key === 'Enter' && view.selected) byId('answer').focus(); });
  view.onNode = openNode;
  view.onOut = actions.removeNode;
  view.onPod = actions.pod;
}

// restore shows the case of the link, if the address has one.
async function restore(): Promise<void> {
  try {
    const found = await decode(location.hash);
    if (!found) return;
    manifests.replace(found.files);
    manifests.use(found.profile);
    choose(found);
    await decide({ fit: true });
  } catch (err) {
    failed(new Error('the link cannot be read: ' + String(err)));
  }
}

async function start(): Promise<void> {
  listen();
  await examples(byId<HTMLSelectElement>('examples'), (files) => void replace(files));
  byId('where').textContent = (await engine).where;
  byId('connect').hidden = !(await engine).cluster;
  document.body.dataset.ready = 'true';
  await restore();
}

// The test reads the frames and the places of nodes, which a canvas does not have.
Object.assign(window, { stowageView: view });
void start();
