// What goes wrong: an engine that ends, a server that is busy, files that are too large, and what the page says about it.
import assert from 'node:assert/strict';
import zlib from 'node:zlib';
import { after, axeClean, decided, example, folderServer, open, pods, press, verdict } from './harness.mjs';

const node = (name, zone = 'z') => 'apiVersion: v1\nkind: Node\nmetadata: {name: ' + name + ', labels: {topology.kubernetes.io/zone: ' + zone + '}}\nstatus: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}\n';
const deployment = (replicas, spec = '') => 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: ' + replicas +
  '\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {' + spec + 'containers: [{name: c, image: c, resources: {requests: {cpu: "1"}}}]}\n';
const cluster = [node('a'), node('b'), deployment(2)].join('---\n');

const errors = (page) => page.textContent('#answer');
const back = '#answer button:has-text("Placement")';

// broken has the program in the worker do something else the next time that it is called.
const broken = (page, f) => page.workers().at(-1).evaluate('(() => { const resume = Go.prototype._resume; ' +
  'Go.prototype._resume = function () { return this._pendingEvent ? (' + f + ').call(this) : resume.call(this); }; })()');

export const faults = {
  async 'an engine that ends'(browser) {
    const missing = new Set(['stowage.wasm.br']);
    const page = await open(browser, await folderServer(missing));
    for (let i = 0; i < 2; i++) {
      await decided(page, cluster);
      assert.equal(await verdict(page), 'No answer');
      assert.match(await errors(page), /stowage\.wasm\.br: 404/);
    }
    missing.clear();
    await press(page, '#decide');
    assert.equal(await verdict(page), '2 of 2 pods placed');
    const ways = [
      ['function () { this.exited = true; this.exit(2); this._resolveExitPromise(); }', /exited with status 2/],
      ['function () { throw new WebAssembly.RuntimeError("unreachable"); }', /unreachable/],
    ];
    for (const [way, words] of ways) {
      await broken(page, way);
      await press(page, '#decide');
      assert.match(await errors(page), words);
      assert.ok(!(await page.evaluate(() => document.body.classList.contains('busy'))));
      await press(page, '#decide');
      assert.equal(await verdict(page), '2 of 2 pods placed');
    }
    // A program that computes for ever is stopped.
    await broken(page, 'function () {}');
    await page.click('#decide');
    await axeClean(page, 'busy');
    await press(page, '#stop');
    assert.match(await errors(page), /You stopped the question/);
    await press(page, '#decide');
    assert.equal(await verdict(page), '2 of 2 pods placed');
    assert.ok(await page.isDisabled('#stop'));
  },

  async 'a question is stopped'(browser, url) {
    const page = await open(browser, url);
    await decided(page, cluster);
    await page.route('**/v1/explain', () => {}); // no answer
    await page.click('#answer button:has-text("Explain")');
    await press(page, '#stop');
    assert.match(await errors(page), /You stopped the question/);
    await page.click(back);
    assert.equal(await verdict(page), '2 of 2 pods placed');
  },

  async 'a busy server'(browser, url) {
    const page = await open(browser, url);
    let refused = 0;
    const busy = { status: 429, headers: { 'Retry-After': '1' }, contentType: 'application/problem+json', body: '{"errors":[{"detail":"no room"}]}' };
    await page.route('**/v1/place', (r) => (refused++ < 2 ? r.fulfill(busy) : r.continue()));
    const start = Date.now();
    await decided(page, cluster);
    assert.equal(await verdict(page), '2 of 2 pods placed');
    assert.equal(refused, 3);
    assert.ok(Date.now() - start >= 2000);
    // What never has room is not asked again.
    await page.route('**/v1/place', (r) => { refused++; return r.fulfill({ ...busy, headers: {} }); });
    await press(page, '#decide');
    assert.match(await errors(page), /no room/);
    assert.equal(refused, 4);
  },

  async 'a server that restarts'(browser, url) {
    const context = await browser.newContext();
    const page = await context.newPage();
    let asked = 0;
    await page.route('**/healthz', (r) => (asked++ === 0 ? r.fulfill({ status: 503 }) : r.continue()));
    await page.goto(url);
    await page.waitForSelector('body[data-ready]');
    assert.match(await page.textContent('#where'), /This server decides/);
    await example(page, '39-a-shop-in-two-zones');
    assert.equal(await verdict(page), '2 of 2 pods placed');
  },

  async 'an unsure answer'(browser, url) {
    const page = await open(browser, url);
    await decided(page, [node('a'), deployment(1, 'schedulerName: other, ')].join('---\n'));
    const colour = () => page.getAttribute('#verdict', 'class');
    const words = await verdict(page);
    assert.equal(await colour(), 'warn', words);
    await page.fill('#find', 'a');
    await page.press('#find', 'Enter');
    await page.click(back);
    assert.deepEqual([await verdict(page), await colour()], [words, 'warn']);
  },

  async 'booleans of YAML 1.1'(browser, url) {
    const page = await open(browser, url);
    const labelled = node('a').replace('labels: {', 'labels: {spot: "yes", "on": "0644", ');
    await decided(page, [labelled, node('gone'), 'apiVersion: v1\nkind: Node\nmetadata: {name: b}\nspec: {unschedulable: yes}\nstatus: {allocatable: {cpu: "8", pods: "110"}}\n', deployment(2)].join('---\n'));
    assert.equal(await verdict(page), '2 of 2 pods placed');
    const on = async (name, button) => {
      await page.fill('#find', name);
      await page.press('#find', 'Enter');
      await press(page, '#answer button:has-text("' + button + '")');
      assert.equal(await verdict(page), '2 of 2 pods placed', (await errors(page)).slice(0, 500));
    };
    await on('a', 'One more like it');
    assert.match(await page.inputValue('#text'), /spot: "yes"/);
    assert.equal(await page.evaluate(() => window.stowageView.boxes.length), 4);
    // What is read as a boolean stays one, as b would take pods otherwise.
    await on('gone', 'Remove');
    await page.selectOption('#files', '0');
    assert.match(await page.inputValue('#text'), /unschedulable: yes/);
    assert.ok((await pods(page)).every((p) => p.node !== 'b'));
  },

  async 'the JSON is of what is shown'(browser, url) {
    const page = await open(browser, url);
    const downloaded = async () => {
      const [d] = await Promise.all([page.waitForEvent('download'), page.click('#json')]);
      return d.suggestedFilename();
    };
    await example(page, '04-preferred-counts-accumulate');
    await press(page, '#answer button:has-text("Explain")');
    assert.equal(await downloaded(), 'explain.json');
    await press(page, '#answer button:has-text("Scores by plugin")');
    assert.ok(await page.locator('#answer table:has-text("Scores by plugin")').count());
    assert.equal(await downloaded(), 'explain.json');
    await page.click(back);
    assert.equal(await downloaded(), 'place.json');
  },

  async 'nothing is left behind'(browser, url) {
    const page = await open(browser, url);
    const welcome = await verdict(page);
    const boxes = () => page.evaluate(() => window.stowageView.boxes.length);
    await decided(page, cluster);
    await press(page, '#drop');
    assert.deepEqual([await verdict(page), await boxes(), await errors(page)], [welcome, 0, '']);
    await press(page, '#undo');
    assert.deepEqual([await verdict(page), await boxes()], ['2 of 2 pods placed', 2]);
    // A question that is refused has the way back.
    await page.route('**/v1/explain', (r) => r.fulfill({ status: 400, contentType: 'application/problem+json', body: '{"errors":[{"detail":"no"}]}' }));
    await press(page, '#answer button:has-text("Explain")');
    await page.click(back);
    // A link is undone.
    await page.click('#link');
    await page.waitForFunction(() => location.hash.startsWith('#case='));
    const link = await page.evaluate(() => location.hash);
    await decided(page, cluster.replace('replicas: 2', 'replicas: 3'));
    await page.evaluate(() => { location.hash = ''; });
    await page.waitForTimeout(100);
    await after(page, () => page.evaluate((to) => { location.hash = to; }, link));
    assert.equal(await verdict(page), '2 of 2 pods placed');
    await press(page, '#undo');
    assert.equal(await verdict(page), '3 of 3 pods placed');
  },

  async 'files'(browser, url) {
    const page = await open(browser, url);
    const drop = (name, buffer) => after(page, () => page.setInputFiles('#open', { name, mimeType: 'application/octet-stream', buffer }));
    await drop('cluster.yaml.gz', zlib.gzipSync(cluster));
    assert.equal(await verdict(page), '2 of 2 pods placed');
    assert.equal(await page.textContent('#files'), 'cluster.yaml');
    await drop('bomb.json.gz', zlib.gzipSync(Buffer.alloc(300 << 20), { level: 1 }));
    assert.match(await errors(page), /bomb\.json\.gz: .*256 MiB/);
    await drop('broken.json.gz', Buffer.from([0x1f, 0x8b, 1, 2, 3]));
    assert.match(await errors(page), /broken\.json\.gz: /);
    // The files that were there stay.
    assert.equal(await page.textContent('#files'), 'cluster.yaml');
    let noise = '';
    for (let i = 0, x = 1; i < 300_000; i++) {
      x = (x * 48271) % 2147483647;
      noise += x.toString(36);
    }
    await drop('noise.yaml', Buffer.from(cluster + '# ' + noise + '\n'));
    assert.equal(await verdict(page), '2 of 2 pods placed');
    await press(page, '#link');
    assert.match(await errors(page), /too large for a link/);
  },

  async 'many domains'(browser, url) {
    const page = await open(browser, url);
    const many = Array.from({ length: 600 }, (_, i) => node('node-' + i, 'zone-' + i)).join('---\n');
    await after(page, () => page.setInputFiles('#open', { name: 'many.yaml', mimeType: 'text/plain', buffer: Buffer.from(many + '---\n' + deployment(600)) }));
    assert.equal(await page.locator('#domains option').count(), 600);
    await page.selectOption('#domains', 'zone-599');
    await press(page, '#fail');
    assert.match(await verdict(page), /zone-599 fails/);
    await page.fill('#find', 'node-59');
    assert.deepEqual(await page.locator('#found option').evaluateAll((all) => all.slice(0, 3).map((o) => o.value)), ['node-59', 'node-590', 'node-591']);
  },

  async 'without sight'(browser, url) {
    const page = await open(browser, url);
    await example(page, '39-a-shop-in-two-zones');
    await page.focus('#cluster');
    await page.keyboard.press('ArrowRight');
    const said = () => page.textContent('#said');
    assert.match(await said(), /^Node a1, domain a, cpu \d+ %, .*pods? *$/);
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'answer');
    await after(page, () => page.press('#cluster', 'Delete'));
    assert.match(await said(), /^Node a1 is removed; Undo brings it back\. By the change: /);
  },

  async 'fingers'(browser, url) {
    const page = await open(browser, url, { viewport: { width: 412, height: 800 }, isMobile: true, hasTouch: true });
    await example(page, '39-a-shop-in-two-zones');
    await page.locator('#cluster').scrollIntoViewIfNeeded();
    const session = await page.context().newCDPSession(page);
    const middle = () => page.evaluate(() => { const r = document.getElementById('cluster').getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; });
    const scrolled = () => page.evaluate(() => window.scrollY);
    const before = await scrolled();
    const touch = (type, points) => session.send('Input.dispatchTouchEvent', { type, touchPoints: points.map((p, id) => ({ ...p, id })) });
    // One finger scrolls the page.
    const from = await middle();
    await touch('touchStart', [from]);
    for (let d = 10; d <= 200; d += 10) await touch('touchMove', [{ x: from.x, y: from.y - d }]);
    await touch('touchEnd', []);
    await page.waitForTimeout(500);
    assert.ok((await scrolled()) > before, 'scrolled to ' + (await scrolled()) + ' from ' + before);
    // Two fingers move and zoom the picture.
    const m = await middle(), scale = () => page.evaluate(() => window.stowageView.scale);
    const small = await scale(), y = await scrolled();
    const fingers = (d) => [{ x: m.x - d, y: m.y - d }, { x: m.x + d, y: m.y + d }];
    await touch('touchStart', fingers(20));
    for (let d = 24; d <= 60; d += 4) await touch('touchMove', fingers(d));
    await touch('touchEnd', []);
    assert.ok(Math.abs((await scale()) / small - 3) < 0.2, small + ' ' + (await scale()));
    assert.equal(await scrolled(), y);
  },
};
