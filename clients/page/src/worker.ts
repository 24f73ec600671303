// The worker that runs the engine. wasm_exec.js is of the Go release that the engine is built with.
type Ask = (text: string) => unknown;

interface Scope {
  importScripts(...paths: string[]): void;
  onmessage: ((e: MessageEvent<{ id: number; call: string }>) => void) | null;
  postMessage(message: unknown): void;
  Go: new () => { importObject: WebAssembly.Imports; run(i: WebAssembly.Instance): Promise<void> };
  stowageReady: (ask: Ask) => void;
  stowageExpressions: () => Promise<Ask>;
}

const scope = globalThis as unknown as Scope;

// load starts a program, and returns the function that it hands over.
async function load(name: string): Promise<Ask> {
  const go = new scope.Go();
  const ready = new Promise<Ask>((resolve) => { scope.stowageReady = resolve; });
  let response = await fetch(name);
  let body = response.body;
  if (response.ok && body && !/\bgzip\b/.test(response.headers.get('Content-Encoding') ?? '')) {
    body = body.pipeThrough(new DecompressionStream('gzip') as unknown as TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
  }
  if (!response.ok || !body) throw new Error(name + ': ' + response.status);
  response = new Response(body, { headers: { 'Content-Type': 'application/wasm' } });
  const { instance } = await WebAssembly.instantiateStreaming(response, go.importObject);
  void go.run(instance);
  return ready;
}

scope.importScripts('wasm_exec.js');
// Most manifests have no expressions: their program is loaded for the first one.
scope.stowageExpressions = () => load('stowage-cel.wasm.gz');
const started = load('stowage.wasm.gz');
started.catch((err: unknown) => { setTimeout(() => { throw err; }); });
scope.onmessage = (e) => {
  void started.then((ask) => ask(e.data.call)).then((result) => scope.postMessage({ id: e.data.id, result }));
};

export {};
