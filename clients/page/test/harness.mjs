// What the tests of the page have in common: servers, and a page that reports what must not happen.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

export const [stowage, folder] = process.argv.slice(2);
const here = path.dirname(import.meta.dirname);
const shots = path.resolve(here, '../../docs/page');
const axe = fs.readFileSync(path.join(here, 'node_modules/axe-core/axe.min.js'), 'utf8');
export const examples = JSON.parse(fs.readFileSync(path.join(here, 'files/examples.json'), 'utf8'));
export const ended = [];

export function served(...flags) {
  const p = spawn(stowage, ['serve', '--listen', '127.0.0.1:0', '--max-body', '256', '--max-in-flight', '512', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  ended.push(() => p.kill());
  return new Promise((resolve, reject) => {
    p.stderr.on('data', (b) => { const m = /http:\/\/\S+:\d+/.exec(String(b)); if (m) resolve(m[0] + '/'); });
    p.on('exit', (code) => reject(new Error('stowage serve: ' + code)));
  });
}

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.wasm': 'application/wasm' };

// folderServer serves the files of the page, but for the names in missing.
export function folderServer(missing = new Set()) {
  const s = http.createServer((q, r) => {
    const file = path.join(folder, q.url === '/' ? 'index.html' : path.basename(q.url));
    if (!fs.existsSync(file) || missing.has(path.basename(file))) { r.writeHead(404).end(); return; }
    r.writeHead(200, { 'Content-Type': types[path.extname(file)] ?? 'application/octet-stream' });
    fs.createReadStream(file).pipe(r);
  });
  ended.push(() => s.close());
  return new Promise((resolve) => s.listen(0, '127.0.0.1', () => resolve('http://127.0.0.1:' + s.address().port + '/')));
}

// open opens the page. Requests to other hosts, errors and violations of the policy are failures.
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 800 }, ...options });
  const page = await context.newPage();
  const origin = new URL(url).origin;
  page.on('request', (r) => { if (!/^(blob|data):/.test(r.url())) assert.equal(new URL(r.url()).origin, origin, 'a request to another host'); });
  page.on('pageerror', (e) => { throw e; });
  page.on('console', (m) => { if (m.type() === 'error' && !/status of (4|502)/.test(m.text())) throw new Error(m.text()); });
  await page.goto(url);
  await page.waitForSelector('body[data-ready]');
  return page;
}

// after does something, and waits until the page shows another answer.
export async function after(page, f, timeout = 60000) {
  const before = await page.evaluate(() => document.body.dataset.settled ?? '0');
  await f();
  await page.waitForFunction((b) => (document.body.dataset.settled ?? '0') !== b, before, { timeout });
}

export const verdict = (page) => page.textContent('#verdict');
export const example = (page, name) => after(page, () => page.selectOption('#examples', name));
export const press = (page, selector) => after(page, () => page.click(selector));

export async function axeClean(page, where) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document));
  const serious = violations.filter((v) => ['serious', 'critical'].includes(v.impact));
  assert.deepEqual(serious.map((v) => v.id + ': ' + v.nodes[0].html + ' ' + v.nodes[0].failureSummary), [], where);
}

export async function shot(page, name) {
  if (!process.env.SHOTS) return;
  fs.mkdirSync(shots, { recursive: true });
  await page.waitForTimeout(200);
  await page.screenshot({ path: path.join(shots, name + '.png') });
}

// placeOf is what the server answers without the page.
export async function placeOf(url, files) {
  const form = new FormData();
  for (const [name, text] of files) form.append('file', new Blob([text]), name);
  const response = await fetch(url + 'v1/place', { method: 'POST', body: form });
  return response.ok ? response.json() : undefined;
}

// at is where the name of a node is on the screen.
export const at = (page, node) => page.evaluate((n) => {
  const m = window.stowageView.middle(n), r = document.getElementById('cluster').getBoundingClientRect();
  return { x: m.x + r.x, y: m.y + r.y };
}, node);

// pods are the pods of the picture, each with its node and its state.
export const pods = (page) => page.evaluate(() => window.stowageView.boxes.flatMap((b) => b.node.pods.map((p) => ({ node: b.node.node.name, ...p }))));

// decided decides a text.
export async function decided(page, text) {
  await page.fill('#text', text);
  await press(page, '#decide');
}
