// Opens a model as a sequence of bytes, and refuses bodies that cannot be one.

import { BitwinError } from './errors.js';

/** Where a model comes from. A File is a Blob with a name. */
export type Source = Blob | string;

/** The bytes of a model in order, in pieces of the source's choosing. */
export interface ModelBytes {
  size: number; // 0 when unknown
  /** The next piece, null at the end. It is the caller's, who may let go of its memory with `release`. */
  next(): Promise<Uint8Array | null>;
}

/** Read at a time from a Blob: large, since each read is a round trip between processes. */
const kSliceBytes = 4 << 20;

/** Lets go of a piece's memory at once, instead of when the garbage collector gets to it. */
export function release(piece: Uint8Array): void {
  (piece.buffer as ArrayBuffer & { transfer?: (bytes: number) => ArrayBuffer }).transfer?.(0);
}

/** A Blob in slices; the next one is on its way while the caller works on the present one. */
function readBlob(blob: Blob): ModelBytes {
  let position = 0;
  const request = (): Promise<ArrayBuffer> | null => {
    if (position >= blob.size) return null;
    const slice = blob.slice(position, position + kSliceBytes);
    position += slice.size;
    const bytes = slice.arrayBuffer();
    // A failure is for whoever takes the piece, and must not count as unhandled until then.
    bytes.catch(() => {});
    return bytes;
  };
  let ahead = request();
  return {
    size: blob.size,
    async next() {
      const present = ahead;
      if (present === null) return null;
      ahead = request();
      return new Uint8Array(await present);
    },
  };
}

/** Errors: io (the host cannot be reached, HTTP status), format (a web page instead of a file). */
export async function openSource(source: Source): Promise<ModelBytes> {
  if (typeof source !== 'string') return readBlob(source);
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
