// Opens a model as a stream of bytes, and refuses bodies that cannot be one.

import { BitwinError } from './errors.js';

/** Where a model comes from. A File is a Blob with a name. */
export type Source = Blob | string;

export interface ModelStream {
  bytes: ReadableStream<Uint8Array>;
  size: number; // 0 when unknown
}

/** Errors: io (the host cannot be reached, HTTP status), format (a web page instead of a file). */
export async function openSource(source: Source): Promise<ModelStream> {
  if (typeof source !== 'string') return { bytes: source.stream(), size: source.size };
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
  return { bytes: response.body, size: Number(length ?? 0) };
}
