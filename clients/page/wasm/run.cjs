// Runs calls of a file through the WebAssembly program, as the worker of the page does: node run.cjs wasm_exec.js stowage.wasm calls.json
'use strict';
const fs = require('node:fs');
const [glue, program, calls] = process.argv.slice(2);
globalThis.fs = fs;
require(require('node:path').resolve(glue));

async function main() {
  const go = new globalThis.Go();
  const ready = new Promise((resolve) => { globalThis.stowageReady = resolve; });
  const { instance } = await WebAssembly.instantiate(fs.readFileSync(program), go.importObject);
  go.run(instance);
  await ready;
  const out = [];
  for (const call of JSON.parse(fs.readFileSync(calls, 'utf8'))) {
    out.push(JSON.parse(await globalThis.stowage(JSON.stringify(call))));
  }
  process.stdout.write(JSON.stringify(out), () => process.exit(0));
}
main().catch((err) => { console.error(err); process.exit(1); });
