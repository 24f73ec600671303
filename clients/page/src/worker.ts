// The worker that runs the engine. wasm_exec.js is of the Go release that the engine is built with.
import type { Question, Reply } from './engine';
import { unpacker } from './unpack';

type Ask = (call: string, texts: string[]) => unknown;

interface Go {
  importObject: WebAssembly.Imports;
  exit: (status: number) => void;
  run(i: WebAssembly.Instance): Promise<void>;
}

interface Scope {
  importScripts(...paths: string[]): void;
  onmessage: ((e: MessageEvent<Question>) => void) | null;
  postMessage(message: Reply): void;
  Go: new () => Go;
  stowageReady: (ask: Ask) => void;
  stowageExpressions: () => Promise<Ask>;
}

const scope = globalThis as unknown as Scope;

// ended reports that a program answers nothing more. The page ends this worker then, and starts another one.
function ended(err: unknown): void { scope.postMessage({ ended: err instanceof Error ? err.message : String(err) }); }

// load starts a program, and returns the function that it hands over.
async function load(name: string): Promise<Ask> {
  const go = new scope.Go();
  let status = 0;
  go.exit = (s) => { status = s; };
  const ready = new Promise<Ask>((resolve) => { scope.stowageReady = resolve; });
  const [response, unpack] = await Promise.all([fetch(name + '.br'), unpacker('brotli.wasm')]);
  if (!response.ok || !response.body) throw new Error(name + '.br: ' + response.status);
  // Some servers say how the file is packed, so that the browser unpacks it.
  const body = /\bbr\b/.test(response.headers.get('Content-Encoding') ?? '') ? response.body : unpack(response.body);
  const program = new Response(body, { headers: { 'Content-Type': 'application/wasm' } });
  const { instance } = await WebAssembly.instantiateStreaming(program, go.importObject);
  // Go exits if it needs more memory than the 4 GiB that a browser gives.
  go.run(instance).then(() => { throw new Error(name + ' exited with status ' + status); }).catch(ended);
  return ready;
}

scope.importScripts('wasm_exec.js');
// Most manifests have no expressions: their program is loaded for the first one.
scope.stowageExpressions = () => load('stowage-cel.wasm');
const started = load('stowage.wasm');
started.catch(() => {}); // the first question reports it
let texts = new Map<number, string>(); // of the last call
scope.onmessage = ({ data: { id, call, keys, texts: fresh } }) => {
  texts = new Map(keys.map((k) => [k, fresh.get(k) ?? texts.get(k) ?? '']));
  const list = keys.map((k) => texts.get(k) ?? '');
  started.then((ask) => ask(call, list)).then((result) => {
    if (typeof result === 'string') scope.postMessage({ id, result }); // a program that exits returns nothing
  }).catch(ended);
};
