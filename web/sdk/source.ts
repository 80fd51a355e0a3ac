// Opens a model as a sequence of bytes, and refuses bodies that cannot be one.

import { BitwinError } from './errors.js';

/** Where a model comes from. A File is a Blob with a name. */
export type Source = Blob | string;

/** The bytes of a model in order, in pieces of the source's choosing. */
export interface ModelBytes {
  size: number; // 0 when unknown
  /** The next piece, null at the end. It is valid until the next call. */
  next(): Promise<Uint8Array | null>;
}

/** Read at a time from a Blob: large, since each read costs a round trip between processes. */
const kPieceBytes = 4 << 20;

/**
 * A Blob read into two buffers by turns: one is being filled while the caller works on the other. Reading into new
 * buffers would leave some hundred megabytes to the garbage collector at times.
 */
function readBlob(blob: Blob): ModelBytes {
  const reader = blob.stream().getReader({ mode: 'byob' });
  const fill = async (into: ArrayBuffer): Promise<Uint8Array<ArrayBuffer>> => {
    let buffer = into;
    let filled = 0;
    while (filled < kPieceBytes) {
      const { value, done } = await reader.read(new Uint8Array(buffer, filled));
      if (value !== undefined) buffer = value.buffer;
      if (done) break;
      filled += value.length;
    }
    return new Uint8Array(buffer, 0, filled);
  };
  let lent = new ArrayBuffer(kPieceBytes);
  let ahead = fill(new ArrayBuffer(kPieceBytes));
  // A failure is for whoever takes the piece, and must not count as unhandled until then.
  ahead.catch(() => {});
  return {
    size: blob.size,
    async next() {
      const piece = await ahead;
      if (piece.length === 0) return null;
      ahead = fill(lent);
      ahead.catch(() => {});
      lent = piece.buffer;
      return piece;
    },
  };
}

/** The same in browsers whose Blobs cannot be read into a given buffer: one slice is being read ahead. */
function readSlices(blob: Blob): ModelBytes {
  let position = 0;
  const fill = (): Promise<ArrayBuffer> => {
    const slice = blob.slice(position, position + kPieceBytes);
    position += slice.size;
    const bytes = slice.arrayBuffer();
    bytes.catch(() => {});
    return bytes;
  };
  let ahead = fill();
  return {
    size: blob.size,
    async next() {
      const piece = await ahead;
      if (piece.byteLength === 0) return null;
      ahead = fill();
      return new Uint8Array(piece);
    },
  };
}

function openBlob(blob: Blob): ModelBytes {
  try {
    return readBlob(blob);
  } catch (thrown) {
    if (thrown instanceof TypeError) return readSlices(blob);
    throw thrown;
  }
}

/** Errors: io (the host cannot be reached, HTTP status), format (a web page instead of a file). */
export async function openSource(source: Source): Promise<ModelBytes> {
  if (typeof source !== 'string') return openBlob(source);
  let response: Response;
  try {
    response = await fetch(source);
  } catch (thrown) {
    const reason = 'the host cannot be reached, or does not allow other pages to read its files (CORS)';
    throw new BitwinError('io', `${source} cannot be loaded: ${reason}`, { cause: thrown });
  }
  if (!response.ok || response.body === null) {
    throw new BitwinError('io', `${source} cannot be loaded: the server answered with HTTP status ${response.status}`);
  }
  const type = response.headers.get('content-type') ?? '';
  if (/^text\/html\b/i.test(type)) {
    await response.body.cancel();
    throw new BitwinError('format', `${source} is a web page (${type}), not a model file: check the link`);
  }
  // With a content encoding the length is that of the compressed bytes.
  const length = response.headers.get('content-encoding') === null ? response.headers.get('content-length') : null;
  const reader = response.body.getReader();
  return { size: Number(length ?? 0), next: async () => (await reader.read()).value ?? null };
}
