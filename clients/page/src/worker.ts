// The worker that runs the engine. wasm_exec.js is of the Go release that the engine is built with.
import { unpacker } from './unpack';

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
  const [response, unpack] = await Promise.all([fetch(name + '.br'), unpacker('brotli.wasm')]);
  if (!response.ok || !response.body) throw new Error(name + '.br: ' + response.status);
  // Some servers say how the file is packed, so that the browser unpacks it.
  const body = /\bbr\b/.test(response.headers.get('Content-Encoding') ?? '') ? response.body : unpack(response.body);
  const program = new Response(body, { headers: { 'Content-Type': 'application/wasm' } });
  const { instance } = await WebAssembly.instantiateStreaming(program, go.importObject);
  void go.run(instance);
  return ready;
}

scope.importScripts('wasm_exec.js');
// Most manifests have no expressions: their program is loaded for the first one.
scope.stowageExpressions = () => load('stowage-cel.wasm');
const started = load('stowage.wasm');
started.catch((err: unknown) => { setTimeout(() => { throw err; }); });
scope.onmessage = (e) => {
  void started.then((ask) => ask(e.data.call)).then((result) => scope.postMessage({ id: e.data.id, result }));
};
