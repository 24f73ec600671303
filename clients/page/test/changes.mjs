// What a change moves, and other views of the cluster.
import assert from 'node:assert/strict';
import { after, axeClean, decided, example, open, pods, press, shot, verdict } from './harness.mjs';

const words = (page) => page.textContent('#answer strong');
const rows = (page) => page.locator('#answer table:has-text("What the change moved") tbody tr').evaluateAll((all) => all.map((r) => [...r.cells].map((c) => c.textContent).join('|')));
const marked = async (page) => (await pods(page)).filter((p) => p.changed).map((p) => p.node + ' ' + p.state).sort();

const node = (name, zone) => 'apiVersion: v1\nkind: Node\nmetadata: {name: ' + name + ', labels: {topology.kubernetes.io/zone: ' + zone + ', rack: r-' + name + '}}\n' +
  'status: {allocatable: {cpu: "4", pods: "110"}}\n';
const web = (replicas, skew, zone) => 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  replicas: ' + replicas +
  '\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      nodeSelector: {topology.kubernetes.io/zone: ' + zone + '}\n' +
  '      topologySpreadConstraints: [{maxSkew: ' + skew + ', topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]\n' +
  '      containers: [{name: c, image: c, resources: {requests: {cpu: "3"}}}]\n';
const text = (replicas, skew = 1, zone = 'a', more = '') => [node('a1', 'a'), node('a2', 'a'), node('b1', 'b'), node('b2', 'b') + more, web(replicas, skew, zone)].join('---\n');

export const changes = {
  async 'what a change moves'(browser, url) {
    const page = await open(browser, url);
    await decided(page, text(1));
    assert.equal(await verdict(page), '1 of 1 pod placed');
    assert.deepEqual([await rows(page), await marked(page)], [[], []]);
    // Replicas: one comes, and the other one stays.
    await decided(page, text(2));
    assert.equal(await words(page), 'By the change: 1 pod placed.');
    const [row] = await rows(page);
    assert.match(row, /^shop\/web \(Deployment\)\|placed\|\|a[12]$/);
    assert.deepEqual(await marked(page), [row.slice(-2) + ' added']);
    await axeClean(page, 'what a change moves');
    // A label: both move to the other zone.
    await decided(page, text(2, 1, 'b'));
    assert.equal(await words(page), 'By the change: 2 pods moved.');
    assert.deepEqual(await marked(page), ['a1 gone', 'a2 gone', 'b1 added', 'b2 added']);
    await shot(page, 'moved');
    // Nothing: the same text is decided again, or a larger maxSkew has no use.
    await decided(page, text(2, 2, 'b'));
    assert.equal(await words(page), 'The change moves no pod.');
    // Undo goes back by one change.
    await press(page, '#undo');
    await press(page, '#undo');
    assert.equal(await words(page), 'By the change: 2 pods moved.');
    await press(page, '#undo');
    assert.equal(await words(page), 'By the change: 1 pod removed.');
    assert.equal((await marked(page)).length, 1);
    // A node goes: its pod has no room elsewhere.
    const [{ node: to }] = await pods(page);
    await page.fill('#find', to);
    await page.press('#find', 'Enter');
    await press(page, '#answer button:has-text("Remove")');
    assert.match(await words(page), /1 pod (without a node now|moved)/);
    assert.match(await page.textContent('#said'), /is removed; Undo brings it back\. By the change: /);
    // Another example is no change.
    await example(page, '39-a-shop-in-two-zones');
    assert.deepEqual(await rows(page), []);
    await press(page, '#undo');
    assert.deepEqual(await rows(page), []);
  },

  async 'remedies and drags say what they move'(browser, url) {
    const page = await open(browser, url);
    await example(page, '18-two-spread-constraints');
    await press(page, '#answer button:has-text("Explain")');
    await press(page, '#answer .remedy button:has-text("maxSkew 2")');
    assert.match(await words(page), /^By the change: .*2 pods placed/);
    await press(page, '#undo');
    assert.match(await words(page), /^By the change: .*2 pods without a node now/);
    await example(page, '39-a-shop-in-two-zones');
    const lost = (await pods(page)).filter((p) => p.node === 'a1').length;
    await page.fill('#find', 'a1');
    await page.press('#find', 'Enter');
    await after(page, () => page.press('#cluster', 'Delete'));
    const moved = await rows(page);
    assert.ok(moved.filter((r) => /\|a1\|/.test(r)).length >= 1, moved.join('\n'));
    assert.ok(moved.length <= lost + 2);
    return moved.length + ' of ' + lost + ' pods';
  },

  async 'topology keys and the pods of a domain'(browser, url) {
    const page = await open(browser, url);
    const running = (name, on) => '---\napiVersion: v1\nkind: Pod\nmetadata: {name: ' + name + ', namespace: shop, labels: {app: web}}\nspec: {nodeName: ' + on + ', containers: [{name: c, image: c}]}\n';
    await decided(page, text(3, 1, 'b', running('web-10', 'a1') + running('web-9', 'a2') + running('other', 'b1')));
    const domains = () => page.locator('#domains option').allTextContents();
    const first = await domains();
    await after(page, () => page.selectOption('#key', 'topology.kubernetes.io/zone'));
    assert.deepEqual(await domains(), ['a', 'b']);
    await page.selectOption('#domains', 'a');
    await page.click('#domain');
    const named = () => page.locator('#answer table:has-text("Pods by name") tbody tr').evaluateAll((all) => all.map((r) => [...r.cells].map((c) => c.textContent).join(' ')));
    assert.deepEqual(await named(), ['shop/web-9 a2', 'shop/web-10 a1']);
    await axeClean(page, 'pods of a domain');
    // A zone that fails is one of the chosen key, and the picture keeps its domains.
    await after(page, () => page.selectOption('#key', 'rack'));
    assert.deepEqual(await domains(), ['r-a1', 'r-a2', 'r-b1', 'r-b2']);
    await page.selectOption('#domains', 'r-a1');
    await press(page, '#fail');
    assert.match(await verdict(page), /rack=r-a1 fails/);
    assert.equal(await page.evaluate(() => window.stowageView.panels.length), 4);
    // Counts of an explanation lead to the pods.
    await page.click('#answer button:has-text("Placement")');
    await press(page, '#answer button:has-text("Explain")');
    await page.click('#answer table:has-text("Spread by rack") button:has-text("r-b1")');
    assert.match((await named()).join(), /shop\/other b1,shop\/web \(comes\) b1/);
    // A link keeps the key.
    await page.click('#link');
    await page.waitForFunction(() => location.hash.startsWith('#case='));
    const other = await open(browser, page.url());
    await other.waitForSelector('body[data-settled]');
    assert.equal(await other.inputValue('#key'), 'rack');
    await after(page, () => page.selectOption('#key', ''));
    assert.deepEqual(await domains(), first);
  },
};
