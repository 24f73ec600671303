// The worker that runs the engine. wasm_exec.js is of the Go release that the engine is built with.
interface Scope {
  importScripts(...paths: string[]): void;
  onmessage: ((e: MessageEvent<{ id: number; call: string }>) => void) | null;
  postMessage(message: unknown): void;
  Go: new () => { importObject: WebAssembly.Imports; run(i: WebAssembly.Instance): Promise<void> };
  stowage(call: string): Promise<string>;
  stowageReady: () => void;
}

const scope = globalThis as unknown as Scope;

async function start(): Promise<void> {
  scope.importScripts('wasm_exec.js');
  const go = new scope.Go();
  const ready = new Promise<void>((resolve) => { scope.stowageReady = resolve; });
  let response = await fetch('stowage.wasm.gz');
  let body = response.body;
  if (response.ok && body && !/\bgzip\b/.test(response.headers.get('Content-Encoding') ?? '')) {
    body = body.pipeThrough(new DecompressionStream('gzip') as unknown as TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
  }
  if (!response.ok || !body) throw new Error('stowage.wasm.gz: ' + response.status);
  response = new Response(body, { headers: { 'Content-Type': 'application/wasm' } });
  const { instance } = await WebAssembly.instantiateStreaming(response, go.importObject);
  void go.run(instance);
  await ready;
}

const started = start();
started.catch((err: unknown) => { setTimeout(() => { throw err; }); });
scope.onmessage = (e) => {
  void started.then(() => scope.stowage(e.data.call)).then((result) => scope.postMessage({ id: e.data.id, result }));
};

export {};
