// A link has the case in its fragment, which browsers do not send to servers.
import type { ManifestFile } from './engine';

const prefix = '#case=';

export async function encode(files: ManifestFile[]): Promise<string> {
  const bytes = await through(new Blob([JSON.stringify(files.map((f) => [f.name, f.text]))]), new CompressionStream('deflate-raw'));
  let text = '';
  for (const b of bytes) text += String.fromCharCode(b);
  return prefix + btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// decode returns the files of a fragment, undefined if it has none.
export async function decode(fragment: string): Promise<ManifestFile[] | undefined> {
  if (!fragment.startsWith(prefix)) return undefined;
  const text = atob(fragment.slice(prefix.length).replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = await through(new Blob([Uint8Array.from(text, (c) => c.charCodeAt(0))]), new DecompressionStream('deflate-raw'));
  const files: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!Array.isArray(files)) throw new Error('the link has no files');
  return files.map((f: unknown) => {
    if (!Array.isArray(f) || typeof f[0] !== 'string' || typeof f[1] !== 'string') throw new Error('the link has no files');
    return { name: f[0], text: f[1] };
  });
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
