// The SDK reads a Blob in pieces, whatever the browser's Blobs can do and wherever their ends lie.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { inBuild } from '../../tools/node/paths.mjs';
import { startServer } from '../../tools/node/server.mjs';
import { closeBrowser, openBrowser } from './support.mjs';

const kPiece = 4 << 20;
let server;
let page;

before(async () => {
  server = await startServer({
    mounts: [['/sdk/', inBuild('sdk')]],
    routes: {
      '/': (_request, response, headers) => {
        response.writeHead(200, { ...headers, 'Content-Type': 'text/html; charset=utf-8' });
        response.end('<!doctype html><title>source</title>');
      },
    },
  });
  page = await (await openBrowser()).newPage();
  await page.goto(`${server.origin}/`);
});
after(async () => {
  await closeBrowser();
  await server?.close();
});

/** Reads a Blob of `size` bytes through the SDK: what came, and how often it was asked for by slices and into a buffer. */
function readThrough(size, refuseBuffers) {
  return page.evaluate(async ([bytes, refuse]) => {
    const { openSource } = await import('/sdk/source.js');
    const expected = new Uint8Array(bytes);
    for (let i = 0; i < bytes; ++i) expected[i] = (i * 31 + (i >> 8)) & 255;
    const counts = { slices: 0, buffers: 0 };
    const { slice } = Blob.prototype;
    const { getReader } = ReadableStream.prototype;
    Blob.prototype.slice = function (...range) {
      ++counts.slices;
      return slice.apply(this, range);
    };
    ReadableStream.prototype.getReader = function (options) {
      if (options?.mode === 'byob') {
        if (refuse) throw new TypeError('byob');
        ++counts.buffers;
      }
      return getReader.call(this, options);
    };
    try {
      const source = await openSource(new Blob([expected]));
      let at = 0;
      let equal = source.size === bytes;
      let pieces = 0;
      for (let piece = await source.next(); piece !== null; piece = await source.next()) {
        equal &&= piece.every((byte, i) => byte === expected[at + i]);
        at += piece.length;
        ++pieces;
      }
      return { equal, read: at, pieces, again: await source.next(), ...counts };
    } finally {
      Blob.prototype.slice = slice;
      ReadableStream.prototype.getReader = getReader;
    }
  }, [size, refuseBuffers]);
}

for (const size of [0, 1, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece, 3 * kPiece + 1]) {
  const pieces = Math.ceil(size / kPiece);
  test(`a Blob of ${size} bytes is read into two buffers`, async () => {
    const { equal, read, pieces: got, again, slices, buffers } = await readThrough(size, false);
    assert.deepEqual({ equal, read, got, again, slices, buffers }, { equal: true, read: size, got: pieces, again: null, slices: 0, buffers: 1 });
  });
  test(`a Blob of ${size} bytes is read by slices where its bytes cannot go into a given buffer`, async () => {
    const { equal, read, pieces: got, again, slices } = await readThrough(size, true);
    assert.deepEqual({ equal, read, got, again }, { equal: true, read: size, got: pieces, again: null });
    assert.ok(slices > pieces, `${slices} slices`);
  });
}
