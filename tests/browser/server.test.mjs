// The server that tools/serve runs: right headers, ranges, and nothing outside the folders it was given.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { parseRange, resolveInside, startServer } from '../../tools/node/server.mjs';

let folder;
let server;
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'bitwin-server-'));
  await mkdir(path.join(folder, 'page'));
  await writeFile(path.join(folder, 'secret.txt'), 'secret');
  await writeFile(path.join(folder, 'page/index.html'), '<!doctype html>');
  await writeFile(path.join(folder, 'page/module.wasm'), '\0asm');
  await writeFile(path.join(folder, 'page/model.gguf'), '0123456789');
  await writeFile(path.join(folder, 'page/empty.gguf'), '');
  server = await startServer({ mounts: [['/', path.join(folder, 'page')]] });
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

/** A request whose path is sent as it is: fetch would tidy it up. */
function request(urlPath, { method = 'GET', headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const { port } = new URL(server.origin);
    const sent = http.request({ host: '127.0.0.1', port, path: urlPath, method, headers }, async (response) => {
      let body = '';
      for await (const piece of response) body += piece;
      resolve({ status: response.statusCode, headers: response.headers, body });
    });
    sent.on('error', reject).end();
  });
}

test('pages get the headers that allow shared memory, and the right types', async () => {
  const page = await request('/');
  assert.equal(page.status, 200);
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  assert.equal(page.headers['cross-origin-opener-policy'], 'same-origin');
  assert.equal(page.headers['cross-origin-embedder-policy'], 'require-corp');
  assert.equal((await request('/module.wasm')).headers['content-type'], 'application/wasm');
  assert.equal((await request('/model.gguf')).headers['content-type'], 'application/octet-stream');
});

test('no path leaves the folder', async () => {
  for (const urlPath of [
    '/../secret.txt', '/%2e%2e/secret.txt', '/..%2fsecret.txt', '/%2e%2e%2fsecret.txt', '/a/../../secret.txt', '//secret.txt',
    '/..%5csecret.txt', `/${encodeURIComponent(path.join(folder, 'secret.txt'))}`, '/%00', '/%zz', '/../page-other/x',
  ]) {
    const { status, body } = await request(urlPath);
    assert.ok(status === 404 || status === 400, `${urlPath}: ${status}`);
    assert.doesNotMatch(body, /^secret/);
  }
  assert.equal(resolveInside('/srv/page', '../page-other/x'), null);
  assert.equal(resolveInside('/srv/page', 'a/b'), '/srv/page/a/b');
});

test('a range gives its part of the file', async () => {
  const part = await request('/model.gguf', { headers: { range: 'bytes=2-4' } });
  assert.deepEqual([part.status, part.body, part.headers['content-range']], [206, '234', 'bytes 2-4/10']);
  assert.equal((await request('/model.gguf', { headers: { range: 'bytes=7-' } })).body, '789');
  assert.equal((await request('/model.gguf', { headers: { range: 'bytes=-2' } })).body, '89');
  const beyond = await request('/model.gguf', { headers: { range: 'bytes=10-' } });
  assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, 'bytes */10']);
  const other = await request('/model.gguf', { headers: { range: 'bytes=2-4', 'if-range': '"other"' } });
  assert.deepEqual([other.status, other.body], [200, '0123456789']);
  assert.equal(parseRange('bytes=4-2', 10), 'unsatisfiable');
  assert.equal(parseRange('items=1-2', 10), null);
  assert.deepEqual(parseRange('bytes=-100', 10), [0, 9]);
});

test('HEAD, empty files, unchanged files and other methods are answered by the book', async () => {
  const head = await request('/model.gguf', { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers['content-length'], head.body], [200, '10', '']);
  assert.deepEqual((await request('/empty.gguf')).body, '');
  const again = await request('/model.gguf', { headers: { 'if-none-match': head.headers.etag } });
  assert.deepEqual([again.status, again.body], [304, '']);
  assert.equal((await request('/model.gguf', { method: 'POST' })).status, 405);
  assert.equal((await request('/none')).status, 404);
});
