// Tests the page in headless Chromium: node test/run.mjs STOWAGE FOLDER. SHOTS=1 writes the screenshots of docs/page, ONLY=... chooses tests.
import { chromium } from 'playwright-core';
import { cases } from './cases.mjs';
import { changes } from './changes.mjs';
import { controls } from './controls.mjs';
import { ended, folderServer, served } from './harness.mjs';
import { faults } from './faults.mjs';
import { size } from './size.mjs';

const tests = { ...cases, ...changes, ...controls, ...faults, ...size };
const only = process.env.ONLY;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
let failed = 0;
try {
  const url = await served(), files = await folderServer();
  for (const [name, test] of Object.entries(tests)) {
    if (only && !new RegExp(only).test(name)) continue;
    const start = Date.now();
    try {
      const said = await test(browser, url, files);
      console.log('ok   ' + name + ' (' + ((Date.now() - start) / 1000).toFixed(1) + ' s)' + (said ? ': ' + said : ''));
    } catch (err) {
      failed++;
      console.log('FAIL ' + name + ': ' + String(err.stack ?? err).slice(0, 3000));
    }
    for (const c of browser.contexts()) await c.close();
  }
} finally {
  await browser.close();
  for (const f of ended) f();
}
process.exit(failed > 0 ? 1 : 0);
