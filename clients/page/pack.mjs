// Packs the WebAssembly programs of a folder by brotli: node pack.mjs FOLDER QUALITY. At the best quality, 11, their sizes are limited.
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

// limits are the bytes that a browser loads at most: the first program for every page, the second one for expressions of devices.
const limits = { 'stowage.wasm': 8_000_000, 'stowage-cel.wasm': 8_000_000 };

const [folder, quality] = process.argv.slice(2);
const pack = promisify(brotliCompress);

async function one(name) {
  const text = fs.readFileSync(path.join(folder, name));
  const packed = await pack(text, { params: {
    [constants.BROTLI_PARAM_QUALITY]: Number(quality), [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  } });
  fs.writeFileSync(path.join(folder, name + '.br'), packed);
  console.log(name + ': ' + text.length + ' bytes, ' + packed.length + ' packed');
  if (quality === '11' && packed.length > limits[name]) throw new Error(name + ' has more than ' + limits[name] + ' bytes');
}

await Promise.all(Object.keys(limits).map(one));
