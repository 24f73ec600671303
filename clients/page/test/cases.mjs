// The page on examples: what it shows, and what can be changed.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, axeClean, ended, example, examples, open, placeOf, pods, press, served, shot, verdict } from './harness.mjs';

export const cases = {
  async 'all examples'(browser, url) {
    const page = await open(browser, url);
    let pods = 0;
    for (const x of examples) {
      const want = await placeOf(url, x.files);
      await example(page, x.name);
      assert.equal(await verdict(page), want ? want.verdict : 'No answer', x.name);
      const shown = await page.evaluate(() => window.stowageView.boxes.map((b) => [b.node.node.name, b.node.pods.filter((p) => p.state === 'added').length]));
      assert.deepEqual(shown.map((s) => s[0]).sort(), (want?.nodes ?? []).map((n) => n.name).sort(), x.name);
      pods += shown.reduce((sum, s) => sum + s[1], 0);
      assert.equal(shown.reduce((sum, s) => sum + s[1], 0), (want?.pods ?? []).filter((p) => p.node).length, x.name);
    }
    return examples.length + ' examples, ' + pods + ' placed pods';
  },

  async 'remedies'(browser, url) {
    const page = await open(browser, url);
    await example(page, '18-two-spread-constraints');
    assert.equal(await verdict(page), '5 of 7 pods placed');
    await press(page, '#answer button:has-text("Explain")');
    await axeClean(page, 'explanation');
    await shot(page, 'explain');
    await press(page, '#answer .remedy button:has-text("maxSkew 2")');
    assert.equal(await verdict(page), '7 of 7 pods placed');
    await shot(page, 'remedy');
    await press(page, '#undo');
    assert.equal(await verdict(page), '5 of 7 pods placed');
    // Every remedy with a button changes the answer for the better.
    let applied = 0;
    for (const name of ['01-required-zone-anti-affinity', '08-anti-affinity-to-itself', '10-affinity-to-what-is-not-there', '16-spread-minimum-domains', '17-spread-what-counts', '28-preemption', '37-victims-on-several-nodes']) {
      await example(page, name);
      const placed = async () => { const v = await verdict(page); assert.match(v, /^\d/, name + ': ' + v + ' ' + (await page.textContent('#answer')).slice(0, 300)); return parseInt(v, 10); };
      const before = await placed();
      await press(page, '#answer button:has-text("Explain")');
      const count = await page.locator('.remedy button').count();
      for (let i = 0; i < count; i++) {
        await after(page, () => page.locator('.remedy button').nth(i).click());
        assert.ok((await placed()) > before, name + ' ' + i + ': ' + (await verdict(page)));
        applied++;
        await press(page, '#undo');
        await press(page, '#answer button:has-text("Explain")');
      }
    }
    return applied + ' applied';
  },

  async 'failures and drains'(browser, url) {
    const page = await open(browser, url, { colorScheme: 'dark' });
    await example(page, '39-a-shop-in-two-zones');
    await axeClean(page, 'placement, dark');
    await page.selectOption('#domains', 'a');
    await press(page, '#fail');
    assert.equal(await verdict(page), 'if topology.kubernetes.io/zone=a fails: 1 pod without a node');
    assert.equal(await page.locator('#answer table:has-text("What moves") tbody tr').count(), 4);
    await axeClean(page, 'failure, dark');
    await shot(page, 'zone-failed');
    await page.click('#answer button:has-text("Placement")');
    assert.equal(await verdict(page), '2 of 2 pods placed');
    const at = await page.evaluate(() => { const m = window.stowageView.middle('a1'), r = document.getElementById('cluster').getBoundingClientRect(); return { x: m.x + r.x, y: m.y + r.y }; });
    await page.mouse.click(at.x, at.y);
    assert.match(await page.textContent('#answer h2'), /Node a1/);
    await axeClean(page, 'node, dark');
    await shot(page, 'node');
    await press(page, '#answer button:has-text("Drain")');
    assert.equal(await verdict(page), 'a1 can be drained');
    const moves = await page.locator('#answer table:has-text("What moves") tbody tr').evaluateAll((all) => all.map((r) => [...r.cells].map((c) => c.textContent)));
    assert.deepEqual(moves.map(([, from]) => from), ['a1', 'a1']);
    for (const [, , to] of moves) assert.match(to, /^(a2|b1|b2)$/);
    const come = (await pods(page)).filter((p) => p.state === 'added').map((p) => p.node).sort();
    assert.deepEqual(come, moves.map(([, , to]) => to).sort());
    await shot(page, 'drained');
  },

  async 'steps, text, keyboard'(browser, url) {
    const page = await open(browser, url);
    await example(page, '39-a-shop-in-two-zones');
    await page.click('#back');
    assert.equal(await page.textContent('#count'), '1 of 2');
    await page.click('#forth');
    assert.equal(await page.textContent('#count'), '2 of 2');
    const text = await page.inputValue('#text');
    assert.match(text, /replicas: 2/);
    await page.fill('#text', text.replace('replicas: 2', 'replicas: 3'));
    await after(page, () => page.press('#text', 'Control+Enter'));
    assert.equal(await verdict(page), '3 of 3 pods placed');
    await page.focus('#cluster');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    assert.match(await page.textContent('#answer h2'), /^Node /);
    await page.fill('#find', 'b2');
    await page.press('#find', 'Enter');
    assert.match(await page.textContent('#answer h2'), /Node b2/);
    await after(page, () => page.click('#answer .list button'));
    assert.match(await page.textContent('#answer'), /Runs on|can take it|accepts/);
    await axeClean(page, 'running pod');
    await example(page, '04-preferred-counts-accumulate');
    await press(page, '#answer button:has-text("Explain")');
    await press(page, '#answer button:has-text("Scores by plugin")');
    assert.ok(await page.locator('#answer table:has-text("Scores by plugin")').count());
    await shot(page, 'scores');
  },

  async 'a node dragged out'(browser, url) {
    const page = await open(browser, url);
    await example(page, '39-a-shop-in-two-zones');
    assert.equal(await verdict(page), '2 of 2 pods placed');
    const at = (node) => page.evaluate((n) => { const m = window.stowageView.middle(n), r = document.getElementById('cluster').getBoundingClientRect(); return { x: m.x + r.x, y: m.y + r.y }; }, node);
    const names = () => page.evaluate(() => window.stowageView.boxes.map((b) => b.node.node.name).sort().join(' '));
    const pods = () => page.evaluate(() => window.stowageView.boxes.flatMap((b) => b.node.pods.map((p) => p.name + ' ' + p.state)));
    const before = await names();
    const lost = await page.evaluate(() => window.stowageView.boxes.find((b) => b.node.node.name === 'a1').node.pods.filter((p) => p.state === 'there').map((p) => p.name));
    assert.ok(lost.length > 0);
    const drag = async (to) => {
      const from = await at('a1');
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      await page.mouse.move(from.x + 30, from.y + 30);
      await page.mouse.move(to.x, to.y, { steps: 4 });
    };
    const answer = await page.locator('#answer').boundingBox();
    const out = { x: answer.x + 60, y: answer.y + 200 };
    // Within the domains, and after Escape, it stays.
    await drag(await at('b1'));
    await page.mouse.up();
    await drag(out);
    await shot(page, 'dragged');
    await page.keyboard.press('Escape');
    await page.mouse.up();
    assert.equal(await names(), before);
    await drag(out);
    await after(page, () => page.mouse.up());
    assert.equal(await names(), before.split(' ').filter((n) => n !== 'a1').join(' '));
    // Its pods are created again, and decided.
    const now = await pods();
    for (const name of lost) assert.ok(!now.includes(name + ' there'), name);
    const moved = lost.filter((name) => now.includes(name + ' added')).length;
    assert.ok(moved > 0, now.join());
    assert.ok(!(await page.inputValue('#text')).includes('nodeName: a1'));
    await press(page, '#undo');
    assert.equal(await names(), before);
    // The keyboard removes a node, too.
    await page.mouse.click((await at('b1')).x, (await at('b1')).y);
    await after(page, () => page.press('#cluster', 'Delete'));
    assert.ok(!(await names()).includes('b1'));
    return moved + ' of ' + lost.length + ' pods have another node';
  },

  async 'two profiles'(browser, url) {
    const page = await open(browser, url);
    const node = (name) => 'apiVersion: v1\nkind: Node\nmetadata: {name: ' + name + ', labels: {topology.kubernetes.io/zone: z}}\nstatus: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}\n---\n';
    const requests = 'containers: [{name: c, image: c, resources: {requests: {cpu: "1", memory: 2Gi}}}]';
    const running = 'apiVersion: v1\nkind: Pod\nmetadata: {name: there}\nspec: {nodeName: full, ' + requests + '}\n---\n';
    const web = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {' + requests + '}\n';
    const placed = () => page.evaluate(() => window.stowageView.boxes.flatMap((b) => b.node.pods.filter((p) => p.state !== 'there').map((p) => b.node.node.name + ' ' + p.state)).sort().join());
    const config = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-scheduler}\ndata:\n  config: |\n    kind: KubeSchedulerConfiguration\n---\n';
    await page.fill('#text', config + node('empty') + node('full') + running + web);
    await press(page, '#decide');
    assert.equal(await verdict(page), '2 of 2 pods placed');
    const spread = await placed();
    assert.match(spread, /empty added/);
    // Without a profile to compare with, the page adds one, which fills nodes.
    await press(page, '#compare');
    assert.equal(await verdict(page), 'profile.yaml: 2 of 2 pods placed');
    assert.match(await page.inputValue('#text'), /MostAllocated/);
    const table = page.locator('#answer table:has-text("What differs")');
    assert.match(await table.textContent(), /default\/web \(Deployment\)/);
    assert.equal((await placed()).match(/full added/g).length, 2);
    assert.match(await placed(), /empty gone/);
    await axeClean(page, 'two profiles');
    await shot(page, 'profiles');
    // The other one decides, and a link keeps that.
    await after(page, () => page.selectOption('#profile', 'profile.yaml'));
    assert.equal(await placed(), 'empty gone,empty gone,full added,full added');
    assert.equal(await page.textContent('#answer strong'), 'By the change: 2 pods moved.');
    await page.click('#link');
    await page.waitForFunction(() => location.hash.startsWith('#case='));
    const other = await open(browser, page.url());
    await other.waitForSelector('body[data-settled]');
    assert.equal(await other.inputValue('#profile'), 'profile.yaml');
    assert.equal(await other.evaluate(() => window.stowageView.boxes.find((b) => b.node.node.name === 'full').node.pods.length), 3);
    // A profile with the scores of the default one places the pods as that one does.
    await page.fill('#text', (await page.inputValue('#text')).replace('MostAllocated', 'LeastAllocated'));
    await press(page, '#compare');
    assert.equal(await verdict(page), 'Both profiles place the pods alike');
    assert.equal(await table.count(), 0);
    // What is wrong in a profile is reported with its path.
    await page.fill('#text', (await page.inputValue('#text')).replace('LeastAllocated', 'Nothing'));
    await press(page, '#compare');
    assert.match(await page.textContent('#answer .error'), /scoringStrategy/);
  },

  async 'all or none'(browser, url) {
    const page = await open(browser, url);
    await example(page, '18-two-spread-constraints');
    assert.equal(await verdict(page), '5 of 7 pods placed');
    await after(page, () => page.check('#joint'));
    assert.equal(await verdict(page), '7 of 7 pods placed');
    await page.click('#link');
    await page.waitForFunction(() => location.hash.startsWith('#case='));
    const other = await open(browser, page.url());
    await other.waitForSelector('body[data-settled]');
    assert.equal(await verdict(other), '7 of 7 pods placed');
    await example(page, '08-anti-affinity-to-itself');
    assert.equal(await verdict(page), '0 of 3 pods placed');
    assert.match(await page.textContent('#answer'), /no placement of the 3 pods required satisfies their rules together.*Anti-affinity by kind.zone/s);
    await axeClean(page, 'all or none');
    await after(page, () => page.uncheck('#joint'));
    assert.equal(await verdict(page), '2 of 3 pods placed');
    return '7 of 7 pods placed together, 5 one after another';
  },

  async 'a token'(browser) {
    const file = path.join(os.tmpdir(), 'stowage-token-' + process.pid);
    fs.writeFileSync(file, 'correct horse\n', { mode: 0o600 });
    ended.push(() => fs.rmSync(file, { force: true }));
    const page = await open(browser, await served('--token-file', file));
    await example(page, '39-a-shop-in-two-zones');
    assert.equal(await verdict(page), 'Locked');
    await axeClean(page, 'locked');
    await page.fill('#token', 'wrong');
    await press(page, '#answer button:has-text("Use it")');
    assert.equal(await verdict(page), 'Locked');
    await page.fill('#token', 'correct horse');
    await after(page, () => page.press('#token', 'Enter'));
    assert.equal(await verdict(page), '2 of 2 pods placed');
    await page.reload();
    await page.waitForSelector('body[data-ready]');
    await example(page, '39-a-shop-in-two-zones');
    assert.equal(await verdict(page), '2 of 2 pods placed');
  },

  async 'links and hostile text'(browser, url) {
    const page = await open(browser, url);
    await example(page, '17-spread-what-counts');
    const want = [await verdict(page), await page.inputValue('#text')];
    await page.click('#link');
    await page.waitForFunction(() => location.hash.startsWith('#case='));
    const other = await open(browser, page.url());
    await other.waitForSelector('body[data-settled]');
    assert.deepEqual([await verdict(other), await other.inputValue('#text')], want);
    await other.fill('#text', 'apiVersion: v1\nkind: Node\nmetadata: {name: "<img src=x onerror=alert(1)>"}\n');
    await press(other, '#decide');
    assert.equal(await other.locator('img').count(), 0);
    assert.match(await other.textContent('#answer'), /<img|No pod/);
    const broken = await open(browser, url + '#case=AAAA');
    await broken.waitForSelector('#answer .error');
  },

  async 'without a server'(browser, served, url) {
    const start = Date.now();
    const page = await open(browser, url);
    const loaded = [];
    page.on('request', (r) => loaded.push(path.basename(r.url())));
    assert.match(await page.textContent('#where'), /in this browser/);
    await example(page, '18-two-spread-constraints');
    const first = Date.now() - start;
    assert.equal(await verdict(page), '5 of 7 pods placed');
    const again = Date.now();
    await press(page, '#answer button:has-text("Explain")');
    const second = Date.now() - again;
    await press(page, '#answer .remedy button:has-text("maxSkew 2")');
    assert.equal(await verdict(page), '7 of 7 pods placed');
    // The evaluator of expressions is loaded for the first of the examples with devices.
    assert.ok(!loaded.includes('stowage-cel.wasm.br'));
    const devices = examples.filter((x) => x.files.some(([, text]) => text.includes('expression:')));
    assert.ok(devices.length > 3);
    for (const x of devices) {
      await example(page, x.name);
      const want = await placeOf(served, x.files);
      assert.equal(await verdict(page), want ? want.verdict : 'No answer', x.name);
    }
    assert.equal(loaded.filter((f) => f === 'stowage-cel.wasm.br').length, 1);
    const phone = await open(browser, url, { viewport: { width: 412, height: 900 }, isMobile: true, hasTouch: true });
    const session = await phone.context().newCDPSession(phone);
    await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    await session.send('Network.emulateNetworkConditions', { offline: false, latency: 60, downloadThroughput: 1.25e6, uploadThroughput: 1e5 });
    const slow = Date.now();
    await phone.reload();
    await phone.waitForSelector('body[data-ready]');
    await example(phone, '39-a-shop-in-two-zones');
    const throttled = Date.now() - slow;
    await axeClean(phone, 'phone');
    await shot(phone, 'phone');
    return 'first answer after ' + first + ' ms, an explanation after ' + second + ' ms; on a phone of a quarter of the speed, with 10 Mbit/s, after ' + throttled + ' ms';
  },
};
