// The WebAssembly modules under Node: they load a model in pieces, give the native program's bits, and report errors.
// Relaxed SIMD needs Node 22: the baseline compiler of Node 20 computes relaxed dots wrongly (Chromium tests them anyway).

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inBuild, inRoot } from '../../../tools/node/paths.mjs';

const tiny = process.env.BITWIN_TINY || inBuild('tiny/mixed.gguf');
for (const file of [tiny, inBuild('sdk/bindings.js'), inBuild('wasm/bitwin-scalar.js'), inBuild('native/bitwin')]) {
  if (!existsSync(file)) throw new Error(`${file} is missing: tools/test builds it`);
}
const { Engine } = await import(pathToFileURL(inBuild('sdk/bindings.js')).href);

const bytes = readFileSync(tiny);
const ids = [72, 101, 108, 108, 111, 32, 119, 111, 114, 108, 100, 5, 9, 200, 13];
const folder = mkdtempSync(path.join(os.tmpdir(), 'bitwin-wasm-'));
after(() => rmSync(folder, { recursive: true }));

const builds = [
  { build: 'scalar', threads: 1 },
  { build: 'simd128', threads: 1 },
  { build: 'simd128-mt', threads: 1 },
  { build: 'simd128-mt', threads: 2 },
  { build: 'relaxed', threads: 1 },
  { build: 'relaxed-mt', threads: 2 },
];
const oldNode = Number(process.versions.node.split('.')[0]) < 22;
const skip = (build) => build.startsWith('relaxed') && oldNode && `Node ${process.versions.node} computes relaxed SIMD wrongly`;

async function createEngine(build, threads) {
  const { default: factory } = await import(pathToFileURL(inBuild(`wasm/bitwin-${build}.js`)).href);
  return Engine.create(factory, threads);
}

function load(engine, threads, content, piece) {
  const loader = engine.newLoader(threads, content.length);
  try {
    for (let start = 0; start < content.length; start += piece) loader.feed(content.subarray(start, start + piece));
    return loader.finish();
  } finally {
    loader.free();
  }
}

const error = (code, message) => (thrown) => {
  assert.equal(thrown.name, 'BitwinError');
  assert.equal(thrown.code, code);
  assert.match(thrown.message, message);
  return true;
};

const native = (() => {
  const file = path.join(folder, 'ids.json');
  writeFileSync(file, JSON.stringify(ids));
  const args = ['parity', '-m', tiny, '--ids', file, '-n', '6', '--kernel', 'scalar', '--threads', '1', '--chunk', '4'];
  return JSON.parse(execFileSync(inBuild('native/bitwin'), args, { encoding: 'utf8' }));
})();

for (const { build, threads } of builds) {
  test(`${build} with ${threads} thread(s) gives the native fingerprint`, { skip: skip(build) }, async () => {
    const engine = await createEngine(build, threads);
    const kernel = `wasm-${build.replace('-mt', '')}`;
    assert.deepEqual(engine.kernels(), [kernel]);
    const model = load(engine, threads, bytes, 4099);
    const info = model.info();
    assert.equal(info.kernel, kernel);
    assert.equal(info.threads, threads);
    for (const chunk of [1, 4, 0]) {
      const { fingerprint, steps, ids: tokens } = model.parity(ids, 6, chunk);
      assert.deepEqual({ fingerprint, steps, tokens }, { fingerprint: native.fingerprint, steps: native.steps, tokens: native.ids });
    }
    model.free();
  });
}

test('each binary is at most 1 MB and exports what capi.h declares', async () => {
  const header = readFileSync(inRoot('engine/capi.h'), 'utf8');
  const declared = [...header.matchAll(/^[a-z].*?\b(bitwin_[a-z_]+)\(/gm)].map(([, name]) => name);
  assert.ok(declared.length >= 20);
  for (const build of new Set(builds.map((entry) => entry.build))) {
    const size = statSync(inBuild(`wasm/bitwin-${build}.wasm`)).size;
    assert.ok(size <= 1_000_000, `bitwin-${build}.wasm has ${size} bytes`);
    if (skip(build)) continue;
    const { module } = await createEngine(build, 1);
    assert.deepEqual(declared.filter((name) => typeof module[`_${name}`] !== 'function'), []);
  }
});

test('a model that is cut off, damaged or no model at all is an error with a sentence', async () => {
  const engine = await createEngine('scalar', 1);
  assert.throws(() => load(engine, 1, Buffer.from('<!doctype html>'.repeat(10)), 1 << 20), error('format', /GGUF/));
  assert.throws(() => load(engine, 1, Buffer.alloc(0), 1), error('format', /./));
  assert.throws(() => load(engine, 1, bytes.subarray(0, bytes.length - 100), 1 << 20), error('format', /./));
  const model = load(engine, 1, bytes, 1 << 20);
  assert.throws(() => model.parity([1 << 30], 1, 0), error('invalid_argument', /1073741824/));
  model.free();
});

test('tokens and text go in and out as UTF-8', async () => {
  const engine = await createEngine('simd128', 1);
  const model = load(engine, 1, bytes, 1 << 20);
  const text = 'Grüße, 世界 👋\n';
  const file = path.join(folder, 'text.jsonl');
  writeFileSync(file, `${JSON.stringify({ text })}\n`);
  const args = ['tokenize', '-m', tiny, '--jsonl', file];
  assert.deepEqual(model.tokenize(text), JSON.parse(execFileSync(inBuild('native/bitwin'), args, { encoding: 'utf8' })));
  model.free();
});

test('a stop between two steps ends the answer, and the session answers again', async () => {
  const engine = await createEngine('simd128', 1);
  const model = load(engine, 1, bytes, 1 << 20);
  const session = model.newSession(0, 16);
  const sampling = { temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0n, maxTokens: 5, ignoreEnd: true };
  session.chat(null, 'x'.repeat(300), sampling);
  const first = session.step();
  assert.equal(first.token, -1);
  assert.equal(first.promptDone, 16);
  session.stop();
  assert.equal(session.step().finish, 'stopped');
  session.reset();
  session.chat(null, 'hello', sampling);
  let step = session.step();
  let tokens = 0;
  for (; ; step = session.step()) {
    tokens += Number(step.token >= 0);
    if (step.finish !== null) break;
  }
  assert.equal(step.finish, 'max_tokens');
  assert.equal(tokens, 5);
  session.free();
  model.free();
});

test('raw ids are continued with the greedy tokens of the native program', async () => {
  const engine = await createEngine('simd128', 1);
  const model = load(engine, 1, bytes, 1 << 20);
  const session = model.newSession(0, 4);
  session.begin(ids, { temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0n, maxTokens: 6, ignoreEnd: true });
  const tokens = [];
  for (let finish = null; finish === null;) {
    const step = session.step();
    if (step.token >= 0) tokens.push(step.token);
    finish = step.finish;
  }
  assert.deepEqual(tokens, native.ids);
  assert.throws(() => session.begin([-1], { temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0n, maxTokens: 6, ignoreEnd: true }),
    error('invalid_argument', /-1/));
  session.free();
  model.free();
});

test('every build measures its limits, and a token costs the same in each as natively', async () => {
  const args = ['bench', '-m', tiny, '-p', '1', '-n', '1', '--repeat', '1', '--limit-mib', '0', '--json'];
  const cost = JSON.parse(execFileSync(inBuild('native/bitwin'), args, { encoding: 'utf8' }));
  for (const { build, threads } of builds) {
    if (skip(build)) continue;
    const engine = await createEngine(build, threads);
    const model = load(engine, threads, bytes, 1 << 20);
    const limits = model.limits(4 << 20);
    assert.deepEqual(Object.keys(limits), ['read_bytes_per_second', 'macs_per_second', 'weight_bytes_per_token', 'macs_per_token']);
    assert.ok(limits.read_bytes_per_second > 1e6 && limits.macs_per_second > 1e6, JSON.stringify(limits));
    assert.deepEqual([limits.weight_bytes_per_token, limits.macs_per_token], [cost.weight_bytes_per_token, cost.macs_per_token]);
    assert.throws(() => model.limits(2 ** 32), error('invalid_argument', /4294967296 bytes/));
    model.free();
  }
});

test('memory that grows while a model loads leaves no stale view behind', async () => {
  const engine = await createEngine('simd128-mt', 2);
  const models = [];
  const before = engine.module.wasmMemory.buffer.byteLength;
  while (engine.module.wasmMemory.buffer.byteLength === before) models.push(load(engine, 2, bytes, 1 << 20));
  const fingerprints = new Set(models.map((model) => model.parity(ids, 6, 4).fingerprint));
  assert.deepEqual([...fingerprints], [native.fingerprint]);
  for (const model of models) model.free();
});
