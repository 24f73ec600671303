// Brotli packs the programs a third smaller than gzip, but few browsers unpack it for a page. Others load a decoder.
import init, { BrotliDecStream, BrotliStreamResultCode } from 'brotli-dec-wasm/web';

type Bytes = Uint8Array<ArrayBuffer>;

export type Unpack = (packed: ReadableStream<Bytes>) => ReadableStream<Bytes>;

// piece is how much is unpacked at a time.
const piece = 1 << 20;

// unpacker returns what unpacks a stream. The module of the decoder is a file beside the page.
export async function unpacker(module: string): Promise<Unpack> {
  try {
    const native = new DecompressionStream('brotli' as CompressionFormat);
    return (packed) => packed.pipeThrough(native as unknown as TransformStream<Bytes, Bytes>);
  } catch {
    const response = await fetch(module);
    if (!response.ok) throw new Error(module + ': ' + response.status);
    await init({ module_or_path: await response.arrayBuffer() });
    return (packed) => packed.pipeThrough(decoded());
  }
}

function decoded(): TransformStream<Bytes, Bytes> {
  const decoder = new BrotliDecStream();
  let code = BrotliStreamResultCode.NeedsMoreInput;
  return new TransformStream({
    transform(packed, to) {
      do {
        const r = decoder.dec(packed, piece);
        packed = packed.subarray(r.input_offset);
        code = r.code;
        to.enqueue(r.buf as Bytes);
        r.free();
      } while (code === BrotliStreamResultCode.NeedsMoreOutput);
    },
    flush() {
      if (code !== BrotliStreamResultCode.ResultSuccess) throw new Error('the packed program ends early');
    },
  });
}
