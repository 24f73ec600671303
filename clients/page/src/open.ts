// Files that are opened or dropped, and examples. Files may be packed by gzip, as for the command.
import { bytesOf } from './bytes';
import type { ManifestFile } from './engine';

// maximumBytes bounds the text of all files: the engine in a browser takes no more, and a text of a browser has at most 512 MB.
const maximumBytes = 256 << 20;

export async function opened(list: Iterable<File>): Promise<ManifestFile[]> {
  const out: ManifestFile[] = [];
  let room = maximumBytes;
  for (const f of list) {
    try {
      const head = new Uint8Array(await f.slice(0, 2).arrayBuffer());
      const packed = head[0] === 0x1f && head[1] === 0x8b;
      if (!packed && f.size > room) throw new RangeError();
      const bytes = await bytesOf(packed ? f.stream().pipeThrough(new DecompressionStream('gzip')) : f.stream(), room);
      room -= bytes.length;
      out.push({ name: packed ? f.name.replace(/\.gz$/, '') : f.name, text: new TextDecoder().decode(bytes) });
    } catch (err) {
      if (err instanceof RangeError) throw new Error(f.name + ': the files have more than 256 MiB, which the page does not take. The command has no such bound.');
      throw new Error(f.name + ': ' + (err instanceof Error ? err.message : String(err)));
    }
  }
  return out;
}

// examples lists the examples, and opens the one that is chosen.
export async function examples(select: HTMLSelectElement, open: (files: ManifestFile[]) => void): Promise<void> {
  const all = (await (await fetch('examples.json')).json()) as { name: string; files: [string, string][] }[];
  select.append(...all.map((x) => new Option(x.name.replaceAll('-', ' '), x.name)));
  select.addEventListener('change', () => {
    const x = all.find((y) => y.name === select.value);
    if (x) open(x.files.map(([name, text]) => ({ name, text })));
  });
}
