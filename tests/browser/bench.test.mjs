// tools/bench measures every build it is asked for; what it measures is not the matter here, with a tiny model least of all.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { inRoot } from '../../tools/node/paths.mjs';
import { tiny } from './support.mjs';

function bench(...args) {
  const { status, stdout, stderr } = spawnSync(inRoot('tools/bench'), args, { encoding: 'utf8' });
  return { status, stdout, stderr };
}
const close = (actual, expected) => assert.ok(Math.abs(actual / expected - 1) < 1e-9, `${actual} is not ${expected}`);

test('tools/bench --json has a row for each build, number of threads and prompt length, with shares and ratios that follow', () => {
  const settings = ['-p', '5,20', '-n', '4', '-t', '1,2', '--repeat', '1', '--limit-mib', '8'];
  const { status, stdout, stderr } = bench('-m', tiny, ...settings, '--builds', 'native,relaxed,scalar', '--json');
  assert.equal(status, 0, stderr + stdout);
  const { model, rows } = JSON.parse(stdout);
  assert.equal(model, tiny);
  const wanted = [
    ['native', 1], ['native', 2], ['relaxed', 1], ['relaxed-mt', 2], ['scalar', 1],
  ].flatMap(([build, threads]) => [5, 20].map((prompt) => [build, threads, prompt]));
  assert.deepEqual(rows.map((row) => [row.build, row.threads, row.prompt_tokens]), wanted);
  for (const row of rows) {
    const native = rows.find((one) => one.build === 'native' && one.threads === row.threads && one.prompt_tokens === row.prompt_tokens);
    assert.equal(row.gen_tokens, 4);
    assert.match(row.kernel, row.build === 'native' ? /./ : row.build === 'scalar' ? /^wasm-scalar$/ : /^wasm-relaxed$/);
    assert.equal(row.weight_bytes_per_token, native.weight_bytes_per_token);
    assert.equal(row.macs_per_token, native.macs_per_token);
    for (const key of ['load_s', 'ttft_ms', 'read_gbps', 'int8_gmacs']) assert.ok(row[key] > 0, `${row.build}: ${key} is ${row[key]}`);
    assert.ok(row.memory_mib * 1048576 > row.weight_bytes_per_token);
    for (const { median, min, max } of [row.prefill_tps, row.decode_tps]) assert.ok(min > 0 && min <= median && median <= max);
    close(row.prefill_peak_share, (row.macs_per_token * row.prefill_tps.median) / (row.int8_gmacs * 1e9));
    close(row.decode_read_share, (row.weight_bytes_per_token * row.decode_tps.median) / (row.read_gbps * 1e9));
    close(row.to_native.prefill, row.prefill_tps.median / native.prefill_tps.median);
    close(row.to_native.decode, row.decode_tps.median / native.decode_tps.median);
  }
});

test('tools/bench prints a table without the native program, whose ratios are then unknown', () => {
  const { status, stdout, stderr } = bench('-m', tiny, '-p', '5', '-n', '2', '-t', '1', '--repeat', '1', '--limit-mib', '8', '--builds', 'simd128');
  assert.equal(status, 0, stderr + stdout);
  assert.match(stdout, /^build +threads +prompt +load s /m);
  assert.match(stdout, /^simd128 +1 +5 +[\d.]+ +\d+ .* - .* - /m);
});

test('tools/bench names a run that fails, goes on, and exits with 1', () => {
  const { status, stdout } = bench('-m', tiny, '-p', '1020', '-n', '20', '-t', '1', '--repeat', '1', '--limit-mib', '8', '--builds', 'native,relaxed');
  assert.equal(status, 1);
  assert.match(stdout, /^native, 1 thread: FAILED: .*1020.*context of 1024/m);
  assert.match(stdout, /^relaxed, 1 thread: FAILED: a context of 1040 tokens is out of range/m);
});

test('wrong usage of tools/bench exits with 2', () => {
  const cases = [
    [[], /Which model/],
    [['-m', '/no/such/file.gguf'], /There is no file/],
    [['-m', tiny, '-t', '0'], /--threads: "0" is not/],
    [['-m', tiny, '-p', '1,x'], /--prompt-tokens: "x" is not/],
    [['-m', tiny, '--repeat', ''], /--repeat: "" is not/],
    [['-m', tiny, '--builds', 'native,fast'], /--builds: "fast" is none of/],
    [['-m', tiny, '--fast'], /--fast/],
  ];
  for (const [args, message] of cases) {
    const { status, stdout, stderr } = bench(...args);
    assert.equal(status, 2, stderr);
    assert.match(stderr, message);
    assert.equal(stdout, '');
  }
});
