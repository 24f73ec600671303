// A link has the case in its fragment, which browsers do not send to servers.
import type { ManifestFile } from './engine';
import { at, textAt } from './objects';

const prefix = '#case=';

// Case is what a link holds: the files, the name of the profile that decides, and whether pods are placed together.
export interface Case { files: ManifestFile[]; profile: string; joint: boolean }

export async function encode(c: Case): Promise<string> {
  const value = [...c.files.map((f) => [f.name, f.text]), ...(c.profile || c.joint ? [{ profile: c.profile, joint: c.joint }] : [])];
  const bytes = await through(new Blob([JSON.stringify(value)]), new CompressionStream('deflate-raw'));
  let text = '';
  for (const b of bytes) text += String.fromCharCode(b);
  return prefix + btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// decode returns the case of a fragment, undefined if it has none.
export async function decode(fragment: string): Promise<Case | undefined> {
  if (!fragment.startsWith(prefix)) return undefined;
  const text = atob(fragment.slice(prefix.length).replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = await through(new Blob([Uint8Array.from(text, (c) => c.charCodeAt(0))]), new DecompressionStream('deflate-raw'));
  const all: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!Array.isArray(all)) throw new Error('the link has no files');
  const files = (Array.isArray(all.at(-1)) ? all : all.slice(0, -1)).map((f: unknown) => {
    if (!Array.isArray(f) || typeof f[0] !== 'string' || typeof f[1] !== 'string') throw new Error('the link has no files');
    return { name: f[0], text: f[1] };
  });
  return { files, profile: textAt(all.at(-1), 'profile'), joint: at(all.at(-1), 'joint') === true };
}

// maximumLink bounds what a link unpacks to.
const maximumLink = 64 << 20;

async function through(blob: Blob, transform: GenericTransformStream): Promise<Uint8Array<ArrayBuffer>> {
  const reader = (blob.stream().pipeThrough(transform as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>)).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > maximumLink) throw new Error('the link unpacks to more than 64 MiB');
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
