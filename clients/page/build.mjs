// Builds the page into files/, which the command embeds, and what a static folder needs beside it: node build.mjs [FOLDER].
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;
const out = path.join(here, 'files');

// sources are the files from which the page is built, and on which the test of its currency depends.
export function sources() {
  const src = fs.readdirSync(path.join(here, 'src')).map((f) => 'src/' + f);
  return [...src, 'package-lock.json', 'build.mjs'].sort();
}

function digest() {
  const hash = createHash('sha256');
  for (const f of sources()) hash.update(f + '\0').update(fs.readFileSync(path.join(here, f))).update('\0');
  return hash.digest('hex');
}

// examples are the manifests of clients/examples.
function examples() {
  const root = path.join(here, '../examples');
  return fs.readdirSync(root, { withFileTypes: true }).filter((d) => d.isDirectory()).map((d) => ({
    name: d.name,
    files: fs.readdirSync(path.join(root, d.name)).filter((f) => f.endsWith('.yaml') && f !== 'case.yaml')
      .map((f) => [f, fs.readFileSync(path.join(root, d.name, f), 'utf8')]),
  })).filter((e) => e.files.length > 0);
}

// notice is the licence of a library that the bundle contains, as the licence wants it.
function notice(library) {
  const folder = path.join(here, 'node_modules', library);
  const { version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return '/*! ' + library + ' ' + version + '\n' + fs.readFileSync(path.join(folder, 'LICENSE'), 'utf8').trim() + '\n*/';
}

async function bundle(entry, to, format, banner = '') {
  await build({
    entryPoints: [path.join(here, 'src', entry)], outfile: to, bundle: true, minify: true, format, target: 'es2022', charset: 'utf8',
    legalComments: 'inline', banner: { js: banner }, absWorkingDir: here, define: { 'import.meta.url': '""' },
  });
}

fs.rmSync(out, { recursive: true, force: true });
fs.mkdirSync(out, { recursive: true });
await bundle('main.ts', path.join(out, 'page.js'), 'esm', notice('yaml'));
await bundle('page.css', path.join(out, 'page.css'));
fs.copyFileSync(path.join(here, 'src/index.html'), path.join(out, 'index.html'));
fs.writeFileSync(path.join(out, 'examples.json'), JSON.stringify(examples()));
fs.writeFileSync(path.join(out, 'SOURCES'), digest() + '\n');
if (process.argv[2]) {
  for (const f of ['index.html', 'page.js', 'page.css', 'examples.json']) fs.copyFileSync(path.join(out, f), path.join(process.argv[2], f));
  await bundle('worker.ts', path.join(process.argv[2], 'worker.js'), 'iife');
  const decoder = path.join(here, 'node_modules/brotli-dec-wasm');
  fs.copyFileSync(path.join(decoder, 'pkg/brotli_dec_wasm_bg.wasm'), path.join(process.argv[2], 'brotli.wasm'));
  fs.copyFileSync(path.join(decoder, 'LICENSE-MIT.txt'), path.join(process.argv[2], 'brotli.LICENSE.txt'));
}
