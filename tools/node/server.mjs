// A static web server for this machine: what tools/serve, tools/parity and the browser tests serve their pages with.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream';

const kTypes = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
};

/** Lets the page have shared memory, and with it threads. */
const kIsolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

const kAlways = {
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

/** The file under `folder` that a decoded URL path names, or null when the path leaves the folder or is malformed. */
export function resolveInside(folder, urlPath) {
  if (urlPath.includes('\0') || urlPath.includes('\\')) return null;
  const root = path.resolve(folder);
  const file = path.resolve(root, `./${urlPath}`);
  return file === root || file.startsWith(root + path.sep) ? file : null;
}

/** Bounds of a Range header over `size` bytes: null without one, 'unsatisfiable', or [first, last]. */
export function parseRange(header, size) {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (match === null || (match[1] === '' && match[2] === '')) return null;
  const [, first, last] = match;
  if (first === '') {
    const count = Math.min(Number(last), size);
    return count === 0 ? 'unsatisfiable' : [size - count, size - 1];
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return start >= size || start > end ? 'unsatisfiable' : [start, end];
}

/**
 * Starts a server on 127.0.0.1.
 *
 * mounts: [[prefix, folder]], prefixes begin and end with '/', the first that fits and has the file answers.
 * port: 0 for any free one. isolated: whether pages get shared memory (COOP and COEP).
 * routes: {path: (request, response, headers) => ...}, answered before the mounts.
 * Gives {origin, close()}; `origin` names localhost.
 */
export async function startServer({ mounts = [], port = 0, isolated = true, routes = {} }) {
  const common = { ...kAlways, ...(isolated ? kIsolation : {}) };

  async function find(urlPath) {
    for (const [prefix, folder] of mounts) {
      if (!urlPath.startsWith(prefix)) continue;
      const rest = urlPath.slice(prefix.length);
      const file = resolveInside(folder, rest === '' || rest.endsWith('/') ? `${rest}index.html` : rest);
      const info = file === null ? null : await stat(file).catch(() => null);
      if (info?.isFile()) return { file, info };
    }
    return null;
  }

  async function answer(request, response) {
    const fail = (status, text, headers = {}) => {
      response.writeHead(status, { ...common, 'Content-Type': 'text/plain; charset=utf-8', ...headers });
      response.end(request.method === 'HEAD' ? undefined : `${text}\n`);
    };
    let urlPath;
    try {
      urlPath = decodeURIComponent(request.url.split('?', 1)[0]);
    } catch {
      return fail(400, 'Malformed URL');
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') return fail(405, 'Only GET and HEAD', { Allow: 'GET, HEAD' });
    if (Object.hasOwn(routes, urlPath)) return await routes[urlPath](request, response, common);
    const found = await find(urlPath);
    if (found === null) return fail(404, `Not found: ${urlPath}`);

    const { file, info } = found;
    const tag = `"${info.size.toString(16)}-${Math.floor(info.mtimeMs).toString(16)}"`;
    const headers = {
      ...common,
      'Content-Type': kTypes[path.extname(file)] ?? 'application/octet-stream',
      'Accept-Ranges': 'bytes',
      ETag: tag,
    };
    if (request.headers['if-none-match'] === tag) {
      response.writeHead(304, headers);
      return response.end();
    }
    // A range of another version of the file would mix two files.
    const sameFile = [undefined, tag].includes(request.headers['if-range']);
    const range = sameFile ? parseRange(request.headers.range, info.size) : null;
    if (range === 'unsatisfiable') return fail(416, 'Range beyond the file', { 'Content-Range': `bytes */${info.size}` });
    const [start, end] = range ?? [0, info.size - 1];
    if (range !== null) headers['Content-Range'] = `bytes ${start}-${end}/${info.size}`;
    response.writeHead(range === null ? 200 : 206, { ...headers, 'Content-Length': end - start + 1 });
    if (request.method === 'HEAD' || end < start) return response.end();
    // A reader that goes away ends the stream with an error that concerns nobody.
    return pipeline(createReadStream(file, { start, end, highWaterMark: 1 << 20 }), response, () => {});
  }

  const server = http.createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error));
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    origin: `http://localhost:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
