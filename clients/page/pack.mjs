// Packs the WebAssembly programs of a folder by brotli: node pack.mjs FOLDER QUALITY. Their sizes are limited.
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

// limits are the bytes that a browser loads at most, by the quality: 8 MB at the best one, 11, which pages have. Other qualities make larger
// files of the same programs. Their limits are sizes of November 2026 and some 5 %: a test that packs fast finds a program that grows.
const limits = {
  'stowage.wasm': { 11: 8_000_000, 5: 9_800_000 }, // the first program, for every page
  'stowage-cel.wasm': { 11: 8_000_000, 5: 5_400_000 }, // for expressions of devices
};

const [folder, quality] = process.argv.slice(2);
if (!(quality in limits['stowage.wasm'])) throw new Error('the quality is 5 or 11');
const pack = promisify(brotliCompress);

async function one(name) {
  const text = fs.readFileSync(path.join(folder, name));
  const packed = await pack(text, { params: {
    [constants.BROTLI_PARAM_QUALITY]: Number(quality), [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  } });
  fs.writeFileSync(path.join(folder, name + '.br'), packed);
  console.log(name + ': ' + text.length + ' bytes, ' + packed.length + ' packed');
  const limit = limits[name][quality];
  if (packed.length > limit) throw new Error(name + ' has more than ' + limit + ' bytes');
}

await Promise.all(Object.keys(limits).map(one));
