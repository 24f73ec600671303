// Fields that change numbers of workloads, and the cluster behind the server.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { bigCluster } from './big.mjs';
import { after, axeClean, decided, ended, example, open, placeOf, pods, press, served, shot, verdict } from './harness.mjs';

const words = (page) => page.textContent('#answer strong');
const focused = (page) => page.evaluate(() => document.activeElement.id);
const value = (page, id) => page.inputValue('#' + id);
const key = (page, id, k) => after(page, () => page.press('#' + id, k));
const count = (page, state) => pods(page).then((all) => all.filter((p) => p.state === state).length);

const nodes = ['a1', 'a2', 'b1', 'b2'].map((name) => ({
  apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name, labels: { 'topology.kubernetes.io/zone': name[0], rack: name } },
  status: { allocatable: { cpu: '8', pods: '110' } },
}));
const spec = {
  topologySpreadConstraints: [
    { maxSkew: 5, topologyKey: 'rack', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: { app: 'web' } } },
    { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: 'web' } } },
  ],
  containers: [{ name: 'c', image: 'c', resources: { requests: { cpu: '3' } } }],
};
const labels = { app: 'web' };
const workload = (kind, name, more, replicas) => ({
  apiVersion: 'apps/v1', kind, metadata: { name, namespace: 'shop', ...more }, spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels: more.labels ?? labels }, spec } },
});
const list = (items) => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
const opened = (page, name, text) => after(page, () => page.setInputFiles('#open', { name, mimeType: 'application/json', buffer: Buffer.from(text) }), 300000);

// stored is a Deployment as an API server has it: with its ReplicaSet and two running pods.
const hashed = { ...labels, 'pod-template-hash': '5d4f' };
const owner = (kind, name) => ({ ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid: name, controller: true }] });
const stored = [
  ...nodes, workload('Deployment', 'web', { uid: 'web' }, 2), workload('ReplicaSet', 'web-5d4f', { uid: 'web-5d4f', labels: hashed, ...owner('Deployment', 'web') }, 2),
  ...['a1', 'b1'].map((node) => ({
    apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-5d4f-' + node, namespace: 'shop', uid: 'p-' + node, labels: hashed, ...owner('ReplicaSet', 'web-5d4f') },
    spec: { ...spec, nodeName: node }, status: { phase: 'Running', startTime: '2026-11-30T00:00:00Z', conditions: [{ type: 'Ready', status: 'True' }] },
  })),
];

// api is an API server that has lists alone, some of which it refuses.
function api(objects, refused) {
  const plural = (kind) => kind.toLowerCase() + 's';
  const s = http.createServer((q, r) => {
    const [resource] = q.url.split('?')[0].split('/').slice(-1);
    const answer = (status, body) => r.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    assert.equal(q.method, 'GET');
    if (refused.has(resource)) {
      answer(403, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403, message: resource + ' is forbidden: <b>', details: { kind: resource } });
      return;
    }
    const items = objects.filter((o) => plural(o.kind) === resource);
    if (items.length > 0) answer(200, { kind: items[0].kind + 'List', apiVersion: items[0].apiVersion, metadata: {}, items: items.map(({ kind, apiVersion, ...item }) => item) });
    else answer(404, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404, message: 'there is no such resource' });
  });
  ended.push(() => s.close());
  return new Promise((resolve) => s.listen(0, '127.0.0.1', () => {
    const file = path.join(os.tmpdir(), 'stowage-kubeconfig-' + process.pid);
    const cluster = { name: 'c', cluster: { server: 'http://127.0.0.1:' + s.address().port } };
    fs.writeFileSync(file, JSON.stringify({
      apiVersion: 'v1', kind: 'Config', 'current-context': 'c', clusters: [cluster], users: [{ name: 'c', user: {} }], contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
    }), { mode: 0o600 });
    ended.push(() => fs.rmSync(file, { force: true }));
    resolve(file);
  }));
}

export const controls = {
  async 'replicas and maxSkew'(browser, url) {
    const page = await open(browser, url);
    const small = nodes.map((n) => (n.metadata.name[0] === 'b' ? { ...n, status: { allocatable: { cpu: '1', pods: '110' } } } : n));
    await decided(page, list([...small, workload('Deployment', 'web', {}, 2)]));
    assert.equal(await verdict(page), '1 of 2 pods placed');
    await page.click('#answer button:has-text("shop/web (Deployment)")');
    assert.deepEqual([await page.textContent('#answer h2'), await value(page, 'replicas'), await value(page, 'skew-0'), await value(page, 'skew-1')], ['Deployment shop/web', '2', '5', '1']);
    await axeClean(page, 'numbers of a workload');
    // Each press of a key decides again, and stays in the field.
    await key(page, 'skew-1', 'ArrowUp');
    assert.deepEqual([await verdict(page), await words(page), await focused(page), await value(page, 'skew-1')], ['2 of 2 pods placed', 'By the change: 1 pod placed.', 'skew-1', '2']);
    assert.match(await page.textContent('#said'), /1 pod placed/);
    await key(page, 'replicas', 'ArrowDown');
    assert.deepEqual([await verdict(page), await words(page), await focused(page)], ['1 of 1 pod placed', 'By the change: 1 pod removed.', 'replicas']);
    await page.fill('#replicas', '9');
    await key(page, 'replicas', 'Enter');
    assert.match(await verdict(page), /of 9 pods placed/);
    assert.match(await page.textContent('#answer'), /Insufficient cpu|didn't match pod topology spread/);
    // What is no number of pods changes nothing.
    const before = [await page.inputValue('#text'), await page.evaluate(() => document.body.dataset.settled)];
    for (const wrong of ['-1', '1.5', '']) {
      await page.fill('#replicas', wrong);
      await page.press('#replicas', 'Enter');
    }
    await page.fill('#skew-1', '0');
    await page.press('#skew-1', 'Enter');
    assert.deepEqual([await page.inputValue('#text'), await page.evaluate(() => document.body.dataset.settled)], before);
    // Without replicas it is still there, by its name.
    await page.fill('#replicas', '0');
    await key(page, 'replicas', 'Enter');
    await page.click('#answer button:has-text("Placement")');
    await page.fill('#find', 'web');
    assert.deepEqual(await page.locator('#found option').evaluateAll((all) => all.map((o) => o.value)), ['Deployment shop/web']);
    await page.fill('#find', 'Deployment shop/web');
    await page.press('#find', 'Enter');
    assert.equal(await value(page, 'replicas'), '0');
    await press(page, '#undo');
    assert.match(await verdict(page), /of 9 pods placed/);
  },

  async 'a constraint leads to its maxSkew'(browser, url) {
    const page = await open(browser, url);
    await example(page, '18-two-spread-constraints');
    await press(page, '#answer button:has-text("Explain")');
    const constraints = page.locator('#answer button:has-text("Change maxSkew by")');
    assert.equal(await constraints.count(), 2);
    let most = 5;
    for (let i = 0; i < 2; i++) {
      await constraints.nth(i).click();
      const id = await focused(page);
      assert.match(id, /^skew-[01]$/);
      await key(page, id, 'ArrowUp');
      if (i === 0) await shot(page, 'numbers');
      const placed = parseInt(await verdict(page), 10);
      assert.ok(placed >= 5);
      most = Math.max(most, placed);
      await press(page, '#undo');
      await press(page, '#answer button:has-text("Explain")');
    }
    assert.equal(most, 7);
  },

  async 'a stored workload'(browser, url) {
    const page = await open(browser, url);
    const text = list(stored);
    await opened(page, 'cluster.json', text);
    await page.fill('#find', 'a1');
    await page.press('#find', 'Enter');
    await press(page, '#answer .list button');
    await page.click('#answer button:has-text("Deployment shop/web: replicas and maxSkew")');
    assert.equal(await value(page, 'replicas'), '2');
    // More replicas are placed, fewer leave. The dump stays as it is, with one patch.
    await key(page, 'replicas', 'ArrowUp');
    assert.deepEqual([await verdict(page), await words(page)], ['1 of 1 pod placed', 'By the change: 1 pod placed.']);
    await key(page, 'replicas', 'ArrowUp');
    assert.equal(await verdict(page), '2 of 2 pods placed');
    await page.fill('#replicas', '1');
    await key(page, 'replicas', 'Enter');
    assert.equal(await words(page), 'By the change: 3 pods removed.');
    assert.equal(await count(page, 'gone'), 3);
    // Another template is a rollout: the new pods come, and the old ones go.
    await page.fill('#replicas', '2');
    await key(page, 'replicas', 'Enter');
    await key(page, 'skew-1', 'ArrowUp');
    assert.deepEqual([await count(page, 'added'), await value(page, 'skew-0'), await value(page, 'skew-1')], [2, '5', '2'], await page.textContent('#answer'));
    assert.match(await words(page), /2 pods placed/);
    assert.deepEqual(await page.locator('#files option').allTextContents(), ['cluster.json', 'deployment-web.yaml']);
    assert.match(await page.inputValue('#text'), /kind: Deployment[^]*replicas: 2[^]*maxSkew: 5[^]*maxSkew: 2/);
    await page.selectOption('#files', '0');
    assert.equal(await page.inputValue('#text'), text);
  },

  async 'the cluster behind the server'(browser, url) {
    const none = await open(browser, url);
    assert.ok(await none.isHidden('#connect'));
    const refused = new Set(['jobs']);
    const page = await open(browser, await served('--kubeconfig', await api(stored, refused)));
    await axeClean(page, 'a server with a cluster');
    await press(page, '#connect');
    assert.deepEqual((await pods(page)).map((p) => p.node + ' ' + p.name).sort(), ['a1 web-5d4f-a1', 'b1 web-5d4f-b1']);
    assert.match(await page.textContent('#where'), /^The cluster of .*jobs is forbidden: <b>.*This server decides/);
    assert.equal(await page.locator('#where b').count(), 0);
    assert.match(await page.inputValue('#text'), /"kind":"List"/);
    await page.fill('#find', 'Deployment shop/web');
    await page.press('#find', 'Enter');
    await key(page, 'replicas', 'ArrowUp');
    assert.equal(await verdict(page), '1 of 1 pod placed');
    // What is wrong is named, and what was there stays.
    refused.add('pods');
    await press(page, '#connect');
    assert.match(await page.textContent('#answer .error'), /pods is forbidden: <b>.*ClusterRole stowage-reader/);
    await page.click('#answer button:has-text("Placement")');
    assert.equal(await verdict(page), '1 of 1 pod placed');
    refused.delete('pods');
    await press(page, '#connect');
    assert.equal(await page.textContent('#files'), 'cluster.json');
  },

  async 'a large cluster without a server'(browser, served, url) {
    const page = await browser.newContext().then((c) => c.newPage());
    await page.addInitScript(() => {
      window.sent = [];
      const post = Worker.prototype.postMessage;
      Worker.prototype.postMessage = function (m) { window.sent.push([...m.texts.values()].reduce((n, t) => n + t.length, 0)); return post.call(this, m); };
    });
    await page.goto(url);
    await page.waitForSelector('body[data-ready]');
    const [nodeCount, podCount] = [1000, 30000];
    const text = bigCluster(nodeCount, podCount), times = [];
    const timed = async (what, f) => {
      const start = Date.now();
      await f();
      times.push(what + ' ' + (Date.now() - start) + ' ms');
    };
    const patient = (f) => after(page, f, 300000);
    await timed('decided and shown', () => opened(page, 'big.json', text));
    const want = await placeOf(served, [['big.json', text]]);
    assert.equal(await verdict(page), want.verdict);
    const where = new Map(want.pods.map((p) => [p.name, p.node]));
    for (const p of (await pods(page)).filter((x) => x.state === 'added')) assert.equal(p.node, where.get(p.name), p.name);
    await timed('a pending pod', () => patient(() => page.click('#answer button:has-text("Explain")')));
    assert.match(await page.textContent('#answer'), /accepts/);
    await page.selectOption('#domains', 'zone-3');
    await timed('a zone that fails', () => patient(() => page.click('#fail')));
    await page.fill('#find', 'node-0005');
    await page.press('#find', 'Enter');
    await timed('a node added', () => patient(() => page.click('#answer button:has-text("One more like it")')));
    assert.equal(await page.evaluate(() => window.stowageView.boxes.length), nodeCount + 1);
    // A text is sent once: the questions about it, and about what is added, send the difference.
    const sent = await page.evaluate(() => window.sent);
    assert.equal(sent.length, 4);
    assert.equal(sent[0], text.length);
    assert.ok(sent.slice(1).every((n) => n < 1000), String(sent));
    return nodeCount + ' nodes, ' + podCount + ' pods: ' + times.join(', ');
  },
};
