// A link has the case in its fragment, which browsers do not send to servers.
import { bytesOf } from './bytes';
import type { ManifestFile } from './engine';
import { at, textAt } from './objects';

const prefix = '#case=';

// maximumLink bounds what a link unpacks to, maximumFragment the link itself: Firefox refuses addresses of more than 1 MiB, Chromium of 2 MB.
const maximumLink = 64 << 20, maximumFragment = 1_000_000;

// Case is what a link holds: the files, the name of the profile that decides, whether pods are placed together, and the topology key of the picture.
export interface Case { files: ManifestFile[]; profile: string; joint: boolean; topologyKey: string }

export async function encode({ files, ...choices }: Case): Promise<string> {
  const value: unknown[] = files.map((f) => [f.name, f.text]);
  if (Object.values(choices).some(Boolean)) value.push(choices);
  const whole = new Blob([JSON.stringify(value)]);
  if (whole.size > maximumLink) throw new Error('the manifests are too large for a link: they have ' + whole.size + ' bytes');
  const packed = await bytesOf(through(whole, new CompressionStream('deflate-raw')), maximumLink);
  const length = Math.ceil((packed.length * 4) / 3) + prefix.length;
  if (length > maximumFragment) {
    throw new Error('the manifests are too large for a link: packed they have ' + length + ' characters, and browsers take ' + maximumFragment);
  }
  let text = '';
  for (const b of packed) text += String.fromCharCode(b);
  return prefix + btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// decode returns the case of a fragment, undefined if it has none.
export async function decode(fragment: string): Promise<Case | undefined> {
  if (!fragment.startsWith(prefix)) return undefined;
  const text = atob(fragment.slice(prefix.length).replaceAll('-', '+').replaceAll('_', '/'));
  const packed = new Blob([Uint8Array.from(text, (c) => c.charCodeAt(0))]);
  const bytes = await bytesOf(through(packed, new DecompressionStream('deflate-raw')), maximumLink);
  const all: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!Array.isArray(all)) throw new Error('the link has no files');
  const files = (Array.isArray(all.at(-1)) ? all : all.slice(0, -1)).map((f: unknown) => {
    if (!Array.isArray(f) || typeof f[0] !== 'string' || typeof f[1] !== 'string') throw new Error('the link has no files');
    return { name: f[0], text: f[1] };
  });
  const choices = all.at(-1) as unknown;
  return { files, profile: textAt(choices, 'profile'), joint: at(choices, 'joint') === true, topologyKey: textAt(choices, 'topologyKey') };
}

type Bytes = Uint8Array<ArrayBuffer>;

function through(blob: Blob, transform: GenericTransformStream): ReadableStream<Bytes> {
  return blob.stream().pipeThrough(transform as ReadableWritablePair<Bytes, Bytes>);
}
