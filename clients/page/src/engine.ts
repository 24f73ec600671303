// What answers: stowage serve, or the engine in a worker of the page.
import type { Problem } from './answers';

export interface ManifestFile { name: string; text: string }

export interface Call { verb: string; values: Record<string, string[]>; files: ManifestFile[]; profile?: ManifestFile }

// Result is locked if the server wants a token.
export interface Result { exit: number; answer: string; errors: Problem[]; locked?: boolean }

export interface Engine {
  // where says where the manifests go.
  where: string;
  unlock?(token: string): void;
  ask(call: Call): Promise<Result>;
}

// connect returns the engine of the page: the server that the page is from, unless it is a server of files.
export async function connect(): Promise<Engine> {
  try {
    const health = await fetch('healthz', { cache: 'no-store' });
    if (health.ok && (await health.text()) === 'ok\n') return new Served();
  } catch {
    // a server of files
  }
  return new InWorker();
}

const tokenItem = 'stowage-token';

class Served implements Engine {
  where = 'This server decides; nothing is kept.';

  // unlock keeps a token until the tab is closed.
  unlock(token: string): void { sessionStorage.setItem(tokenItem, token); }

  async ask(call: Call): Promise<Result> {
    const form = new FormData();
    for (const [name, values] of Object.entries(call.values)) for (const value of values) form.append(name, value);
    for (const f of call.files) form.append('file', new Blob([f.text]), f.name);
    if (call.profile) form.append('profile', new Blob([call.profile.text]), call.profile.name);
    const token = sessionStorage.getItem(tokenItem);
    const headers: HeadersInit = token ? { Authorization: 'Bearer ' + token } : {};
    const response = await fetch('v1/' + encodeURIComponent(call.verb), { method: 'POST', body: form, headers });
    const text = await response.text();
    if (response.ok) return { exit: Number(response.headers.get('Stowage-Exit-Status')), answer: text, errors: [] };
    try {
      return { exit: 2, answer: '', errors: (JSON.parse(text) as { errors: Problem[] }).errors, locked: response.status === 401 };
    } catch {
      return { exit: 2, answer: '', errors: [{ detail: response.status + ' ' + response.statusText }] };
    }
  }
}

class InWorker implements Engine {
  where = 'Decided in this browser: manifests do not leave it.';
  private worker = new Worker('worker.js');
  private waiting = new Map<number, { resolve: (r: Result) => void; reject: (e: Error) => void }>();
  private last = 0;

  constructor() {
    this.worker.onmessage = (e: MessageEvent<{ id: number; result: string }>) => {
      this.waiting.get(e.data.id)?.resolve(JSON.parse(e.data.result) as Result);
      this.waiting.delete(e.data.id);
    };
    this.worker.onerror = (e) => {
      for (const w of this.waiting.values()) w.reject(new Error(e.message || 'the engine does not start'));
      this.waiting.clear();
    };
  }

  ask(call: Call): Promise<Result> {
    const id = ++this.last;
    const files = call.files.map((f) => ({ parameter: 'file', name: f.name, text: f.text }));
    if (call.profile) files.push({ parameter: 'profile', name: call.profile.name, text: call.profile.text });
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, call: JSON.stringify({ verb: call.verb, values: call.values, files }) });
    });
  }
}
