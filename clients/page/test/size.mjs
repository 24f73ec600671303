// The page on a large cluster: how fast it is.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { bigCluster } from './big.mjs';
import { after, at, ended, open, press, shot, verdict } from './harness.mjs';

// fps pans for two seconds, and returns the frames that were drawn in a second.
async function fps(page) {
  return page.evaluate(() => new Promise((resolve) => {
    const canvas = document.getElementById('cluster'), r = canvas.getBoundingClientRect();
    const send = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type, { clientX: r.x + x, clientY: r.y + y, pointerId: 1, bubbles: true }));
    canvas.setPointerCapture = () => {};
    window.stowageView.frames.length = 0;
    const start = performance.now();
    send('pointerdown', 300, 300);
    const move = (now) => {
      const t = now - start;
      if (t > 2000) {
        send('pointerup', 300, 300);
        resolve((window.stowageView.frames.length * 1000) / t);
        return;
      }
      send('pointermove', 300 + 150 * Math.sin(t / 200), 300 + 100 * Math.cos(t / 300));
      requestAnimationFrame(move);
    };
    requestAnimationFrame(move);
  }));
}

// clicked clicks a node, a running pod and a pending one, fails a zone, and changes the text: how long each takes until the page shows it.
async function clicked(page) {
  const out = [];
  const timed = async (what, f) => {
    const start = Date.now();
    await f();
    out.push(what + ' ' + (Date.now() - start) + ' ms');
  };
  const patient = (f) => after(page, f, 300000);
  await page.click('#fit');
  const place = await at(page, 'node-2500');
  await timed('a node', async () => {
    await page.mouse.click(place.x, place.y);
    await page.waitForSelector('#answer h2:has-text("Node node-")');
  });
  await timed('its pod', () => patient(() => page.click('#answer .list button')));
  assert.match(await page.textContent('#answer'), /Runs on/);
  await page.click('#answer button:has-text("Placement")');
  await timed('a pending pod', () => patient(() => page.click('#answer button:has-text("Explain")')));
  await page.selectOption('#domains', 'zone-3');
  await timed('a zone that fails', () => patient(() => page.click('#fail')));
  assert.match(await verdict(page), /zone-3 fails/);
  await timed('a node removed', async () => {
    await page.fill('#find', 'node-2500');
    await page.press('#find', 'Enter');
    await patient(() => page.click('#answer button:has-text("Remove")'));
  });
  assert.match(await page.textContent('#answer strong'), /^By the change: /);
  return out.join(', ');
}

export const size = {
  async '5,000 nodes'(browser, url) {
    const file = path.join(os.tmpdir(), 'stowage-big-' + process.pid + '.json');
    fs.writeFileSync(file, bigCluster(5000, 150000));
    ended.push(() => fs.rmSync(file, { force: true }));
    const page = await open(browser, url);
    const start = Date.now();
    await after(page, () => page.setInputFiles('#open', file), 300000);
    const decided = Date.now() - start;
    const shown = await page.evaluate(() => [window.stowageView.boxes.length, window.stowageView.boxes.reduce((n, b) => n + b.node.pods.length, 0)]);
    assert.equal(shown[0], 5000);
    assert.ok(shown[1] >= 150000, String(shown));
    await shot(page, 'big');
    const all = await fps(page);
    for (let i = 0; i < 9; i++) await page.click('#in');
    await shot(page, 'big-near');
    const near = await fps(page);
    const clicks = await clicked(page);
    const machine = os.cpus().length + ' × ' + os.cpus()[0].model + ', load ' + os.loadavg()[0].toFixed(1) + ', no GPU';
    assert.ok(Math.min(all, near) >= (process.env.LEAST_FPS ?? 30), 'panned at ' + all + ' and ' + near + ' frames a second (' + machine + ')');
    return shown.join(' nodes, ') + ' pods, decided and shown after ' + decided + ' ms, panned at ' + all.toFixed(0) + ' frames a second, near at ' + near.toFixed(0) + ', clicks: ' + clicks + ' (' + machine + ')';
  },
};
