// --pack-cache: a packed copy of the weights changes how a model is loaded, and nothing else.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bitwin, file, folder, output, tiny } from './support.mjs';

const ids = file('ids.json', [1, 2, 3, 4, 5]);
const model = join(folder, 'model.gguf');
copyFileSync(tiny, model);

function parity(cache, ...args) {
  const done = bitwin(['parity', '-m', model, '--ids', ids, '-n', '4', ...args], { env: { BITWIN_CACHE_DIR: cache } });
  assert.equal(done.code, 0, done.stderr);
  const { steps, fingerprint } = JSON.parse(done.stdout);
  return { steps, fingerprint, stderr: done.stderr };
}

const expected = parity(join(folder, 'unused'));
const sameBits = ({ steps, fingerprint }) => assert.deepEqual({ steps, fingerprint, stderr: '' }, expected);

/** The one file in the folder: its path, and what tells whether it has been written anew. */
function copyIn(cache) {
  const names = readdirSync(cache);
  assert.equal(names.length, 1, names.join(', '));
  assert.match(names[0], /^model-[0-9a-f]{16}\.bwpacked$/);
  const path = join(cache, names[0]);
  return { path, inode: statSync(path).ino, bytes: readFileSync(path) };
}

test('without the option nothing is written', () => {
  assert.equal(existsSync(join(folder, 'unused')), false);
});

test('the first load writes a packed copy, later ones read it, and the logits stay the same', () => {
  const cache = join(folder, 'deep/er');
  sameBits(parity(cache, '--pack-cache'));
  const written = copyIn(cache);
  for (const threads of ['1', '3']) sameBits(parity(cache, '--pack-cache', '--threads', threads));
  assert.equal(copyIn(cache).inode, written.inode);
});

test('a damaged copy is ignored and replaced', () => {
  const cache = join(folder, 'damaged');
  parity(cache, '--pack-cache');
  const { path, bytes } = copyIn(cache);
  const flipped = (at) => {
    const changed = Buffer.from(bytes);
    changed[at] ^= 0x10;
    return changed;
  };
  const damages = {
    empty: Buffer.alloc(0),
    'cut off': bytes.subarray(0, bytes.length - 1),
    'with more at its end': Buffer.concat([bytes, Buffer.alloc(1)]),
    'of another format version': flipped(12),
    'of another layout version': flipped(8),
    'of a file of another size': flipped(16),
    'with a wrong hash': flipped(64),
    'with another weight': flipped(4096 + 1000),
    'with another vector': flipped(bytes.length - 1),
    'of something else': Buffer.alloc(bytes.length, 0x41),
  };
  for (const [what, content] of Object.entries(damages)) {
    writeFileSync(path, content);
    sameBits(parity(cache, '--pack-cache'));
    assert.ok(copyIn(cache).bytes.equals(bytes), `a copy ${what} was not replaced`);
  }
});

test('a copy of a file that has changed is replaced', () => {
  const cache = join(folder, 'changed');
  parity(cache, '--pack-cache');
  const before = copyIn(cache);
  utimesSync(model, new Date(), new Date(Date.now() - 5000));
  sameBits(parity(cache, '--pack-cache'));
  const after = copyIn(cache);
  assert.equal(after.path, before.path);
  assert.ok(!after.bytes.equals(before.bytes));
});

test('a copy of a file whose tensors have changed under the same time is replaced', () => {
  const cache = join(folder, 'patched');
  const changed = join(folder, 'changing.gguf');
  const bytes = readFileSync(model);
  const time = new Date(1.7e12);
  const run = () => {
    const done = bitwin(['parity', '-m', changed, '--ids', ids, '-n', '4', '--pack-cache'], { env: { BITWIN_CACHE_DIR: cache } });
    assert.equal(done.code, 0, done.stderr);
    return JSON.parse(done.stdout).fingerprint;
  };
  writeFileSync(changed, bytes);
  utimesSync(changed, time, time);
  assert.equal(run(), expected.fingerprint);
  // A float of the last tensor, which the last sample holds.
  bytes[bytes.length - 2] ^= 0x40;
  writeFileSync(changed, bytes);
  utimesSync(changed, time, time);
  assert.notEqual(run(), expected.fingerprint);
});

test('only their owner may read copies and the folder made for them', { skip: process.platform === 'win32' }, () => {
  const cache = join(folder, 'private/copies');
  parity(cache, '--pack-cache');
  assert.equal(statSync(cache).mode & 0o777, 0o700);
  assert.equal(statSync(copyIn(cache).path).mode & 0o777, 0o600);
});

test('what an ended program has left is removed, by a load that reads the copy too', () => {
  const cache = join(folder, 'leftovers');
  parity(cache, '--pack-cache');
  const { path } = copyIn(cache);
  const old = `${path}.0123456789abcdef.tmp`;
  const recent = `${path}.fedcba9876543210.tmp`;
  for (const name of [old, recent]) writeFileSync(name, 'a part');
  const hours = new Date(Date.now() - 2 * 3600 * 1000);
  utimesSync(old, hours, hours);
  sameBits(parity(cache, '--pack-cache'));
  assert.equal(existsSync(old), false);
  assert.equal(existsSync(recent), true);
});

test('a copy that cannot be written is only a warning', () => {
  const blocked = file('blocked', 'a file where the folder should be');
  const done = parity(join(blocked, 'cache'), '--pack-cache');
  assert.equal(done.fingerprint, expected.fingerprint);
  assert.match(done.stderr, /warning: --pack-cache: no packed copy was written to .*blocked/);
});

test('a copy whose name is taken by a folder is done without, and nothing is left behind', () => {
  const cache = join(folder, 'taken');
  parity(cache, '--pack-cache');
  const { path } = copyIn(cache);
  const other = join(folder, 'taken-2');
  mkdirSync(join(other, path.slice(cache.length), 'x'), { recursive: true });
  const done = parity(other, '--pack-cache');
  assert.equal(done.fingerprint, expected.fingerprint);
  assert.match(done.stderr, /no packed copy was written/);
  assert.equal(readdirSync(other).length, 1);
});

test('a limit on the size of files is only a warning', () => {
  const cache = join(folder, 'limited');
  const args = ['parity', '-m', model, '--ids', ids, '-n', '4', '--pack-cache'];
  const done = bitwin(args, { env: { BITWIN_CACHE_DIR: cache }, shell: 'ulimit -f 8; "$@"' });
  assert.equal(done.code, 0, done.stderr);
  assert.equal(JSON.parse(done.stdout).fingerprint, expected.fingerprint);
  assert.match(done.stderr, /no packed copy was written to .*File too large/);
  assert.deepEqual(readdirSync(cache), []);
});

test('a pipe in the place of a copy is not waited for', () => {
  const cache = join(folder, 'pipe');
  parity(cache, '--pack-cache');
  const { path } = copyIn(cache);
  rmSync(path);
  assert.equal(spawnSync('mkfifo', [path]).status, 0);
  assert.equal(parity(cache, '--pack-cache').fingerprint, expected.fingerprint);
});

test('a model from standard input has no copy', () => {
  const cache = join(folder, 'piped');
  const args = ['parity', '-m', '-', '--ids', ids, '-n', '4', '--pack-cache'];
  const { fingerprint } = JSON.parse(output(args, { input: readFileSync(model), env: { BITWIN_CACHE_DIR: cache } }));
  assert.equal(fingerprint, expected.fingerprint);
  assert.equal(existsSync(cache), false);
});
