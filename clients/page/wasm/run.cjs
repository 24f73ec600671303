// Runs calls of a file through the WebAssembly programs, as the worker of the page does: node run.cjs wasm_exec.js FOLDER calls.json
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const [glue, folder, calls] = process.argv.slice(2);
globalThis.fs = fs;
require(path.resolve(glue));

// load starts a program, and returns the function that it hands over.
async function load(name) {
  const go = new globalThis.Go();
  const ready = new Promise((resolve) => { globalThis.stowageReady = resolve; });
  const { instance } = await WebAssembly.instantiate(fs.readFileSync(path.join(folder, name)), go.importObject);
  go.run(instance);
  return ready;
}

async function main() {
  let loaded = 0;
  globalThis.stowageExpressions = () => { loaded++; return load('stowage-cel.wasm'); };
  const ask = await load('stowage.wasm');
  const results = [];
  for (const call of JSON.parse(fs.readFileSync(calls, 'utf8'))) {
    const before = loaded;
    const files = call.files.map(({ parameter, name, text }) => ({ parameter, name, identity: text, bytes: text.length }));
    results.push({ ...JSON.parse(await ask(JSON.stringify({ ...call, files }), call.files.map((f) => f.text))), loaded: loaded > before });
  }
  process.stdout.write(JSON.stringify(results), () => process.exit(0));
}
main().catch((err) => { console.error(err); process.exit(1); });
