// What answers: stowage serve, or the engine in a worker of the page.
import type { Problem } from './answers';

export interface ManifestFile { name: string; text: string }

export interface Call { verb: string; values: Record<string, string[]>; files: ManifestFile[]; profile?: ManifestFile }

// Result is locked if the server wants a token. Notes are what a cluster lacks.
export interface Result { exit: number; answer: string; errors: Problem[]; locked?: boolean; notes?: string }

export interface Engine {
  // where says where the manifests go.
  where: string;
  unlock?(token: string): void;
  // ask answers a call, unless the signal stops it.
  ask(call: Call, signal: AbortSignal): Promise<Result>;
  // cluster reads the cluster behind the engine, as kubectl get -o json prints it. Without a cluster it is undefined.
  cluster?: (signal: AbortSignal) => Promise<Result>;
}

// pause waits, unless the signal stops it.
function pause(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

// connect returns the engine of the page: the server that the page is from, unless it is a server of files, which has no healthz. A server
// that is busy or restarts does not show which one it is. Guessing could send manifests to a server that the page promised to keep here.
export async function connect(waiting: () => void): Promise<Engine> {
  for (;;) {
    try {
      const health = await fetch('healthz', { cache: 'no-store' });
      if (health.ok) return (await health.text()) === 'ok\n' ? new Served(health.headers.has('Stowage-Cluster')) : new InWorker();
      if (health.status < 500 && health.status !== 429) return new InWorker();
    } catch {
      // no connection
    }
    waiting();
    await pause(1);
  }
}

const tokenItem = 'stowage-token';

// A request to a busy server is sent so many times, each after the seconds of Retry-After, at most the longest wait.
const attempts = 10, longestWait = 30;

class Served implements Engine {
  where = 'This server decides; nothing is kept.';
  cluster?: (signal: AbortSignal) => Promise<Result>;

  constructor(hasCluster: boolean) {
    if (hasCluster) this.cluster = (signal) => this.post('v1/cluster', undefined, signal);
  }

  // unlock keeps a token until the tab is closed.
  unlock(token: string): void { sessionStorage.setItem(tokenItem, token); }

  ask(call: Call, signal: AbortSignal): Promise<Result> {
    const body = new FormData();
    for (const [name, values] of Object.entries(call.values)) for (const value of values) body.append(name, value);
    for (const f of call.files) body.append('file', new Blob([f.text]), f.name);
    if (call.profile) body.append('profile', new Blob([call.profile.text]), call.profile.name);
    return this.post('v1/' + encodeURIComponent(call.verb), body, signal);
  }

  private async post(path: string, body: FormData | undefined, signal: AbortSignal): Promise<Result> {
    const token = sessionStorage.getItem(tokenItem);
    const headers: HeadersInit = token ? { Authorization: 'Bearer ' + token } : {};
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(path, { method: 'POST', body, headers, signal });
      const wait = Number(response.headers.get('Retry-After'));
      if (![429, 503].includes(response.status) || !(wait > 0) || attempt === attempts) return resultOf(response);
      await response.body?.cancel();
      await pause(Math.min(wait, longestWait), signal);
    }
  }
}

async function resultOf(response: Response): Promise<Result> {
  const text = await response.text();
  if (response.ok) return { exit: Number(response.headers.get('Stowage-Exit-Status')), answer: text, errors: [], notes: response.headers.get('Stowage-Notes') ?? '' };
  try {
    return { exit: 2, answer: '', errors: (JSON.parse(text) as { errors: Problem[] }).errors, locked: response.status === 401 };
  } catch {
    return { exit: 2, answer: '', errors: [{ detail: response.status + ' ' + response.statusText }] };
  }
}

// Question is a message to the worker: a call, the keys of the texts of its files, and the texts that the worker lacks. It keeps those of the last call.
export interface Question { id: number; call: string; keys: number[]; texts: Map<number, string> }

// Reply is a message of the worker: the result of a call, or why its program answers nothing more.
export type Reply = { id: number; result: string } | { ended: string };

class InWorker implements Engine {
  where = 'Decided in this browser: manifests do not leave it.';
  private worker?: Worker;
  private waiting = new Map<number, { resolve: (r: Result) => void; reject: (e: Error) => void }>();
  private last = 0;
  private lastKey = 0;
  private keys = new Map<string, number>(); // of the texts that the worker has

  constructor() { this.worker = this.started(); }

  private started(): Worker {
    const worker = new Worker('worker.js');
    worker.onmessage = (e: MessageEvent<Reply>) => {
      if ('ended' in e.data) {
        this.end(worker, e.data.ended);
        return;
      }
      this.waiting.get(e.data.id)?.resolve(JSON.parse(e.data.result) as Result);
      this.waiting.delete(e.data.id);
    };
    worker.onerror = (e) => {
      e.preventDefault();
      this.end(worker, e.message || 'it does not start');
    };
    return worker;
  }

  // end gives a worker up: what waits for it has an error, and the next call starts another one.
  private end(worker: Worker, why: string): void {
    if (worker !== this.worker) return;
    worker.terminate();
    this.worker = undefined;
    this.keys.clear();
    for (const w of this.waiting.values()) w.reject(new Error('The engine ended: ' + why + '. The next question starts it again.'));
    this.waiting.clear();
  }

  ask(call: Call, signal: AbortSignal): Promise<Result> {
    const id = ++this.last;
    const all = [...call.files.map((f) => ({ parameter: 'file', ...f })), ...(call.profile ? [{ parameter: 'profile', ...call.profile }] : [])];
    const worker = this.worker ??= this.started();
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error);
        // A program that computes hears nothing: its worker ends.
        if (this.waiting.has(id)) this.end(worker, 'it was stopped');
      });
      const texts = new Map<number, string>(), keys = all.map(({ text }) => this.keys.get(text) ?? ++this.lastKey);
      all.forEach(({ text }, i) => { if (!this.keys.has(text)) texts.set(keys[i] as number, text); });
      this.keys = new Map(all.map(({ text }, i) => [text, keys[i] as number]));
      const files = all.map(({ parameter, name, text }, i) => ({ parameter, name, identity: String(keys[i]), bytes: text.length }));
      const question: Question = { id, call: JSON.stringify({ verb: call.verb, values: call.values, files }), keys, texts };
      worker.postMessage(question);
    });
  }
}
