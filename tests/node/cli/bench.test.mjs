import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bitwin, kernels, makeModel, output, tiny } from './support.mjs';

// Few bytes make the test quick; the bandwidth is then that of a cache.
const quick = ['-m', tiny, '--limit-mib', '8'];
const bench = (...args) => JSON.parse(output(['bench', ...quick, '--json', ...args]));

test('bench --json has the promised keys, one run for each number of threads and prompt length', () => {
  const result = bench('-p', '5,70', '-n', '3', '-t', '1,2', '--repeat', '2');
  assert.deepEqual(Object.keys(result), ['model', 'kernel', 'machine', 'repeats', 'weight_bytes_per_token', 'macs_per_token', 'runs']);
  assert.deepEqual(Object.keys(result.machine), ['processor', 'logical_cores', 'default_threads', 'kernels']);
  assert.deepEqual([result.model, result.kernel, result.repeats], [tiny, kernels()[0], 2]);
  assert.deepEqual(result.machine.kernels, kernels());
  const wanted = [[1, 5], [1, 70], [2, 5], [2, 70]];
  assert.deepEqual(result.runs.map((run) => [run.threads, run.prompt_tokens]), wanted);
  for (const run of result.runs) {
    assert.deepEqual(Object.keys(run), ['threads', 'prompt_tokens', 'gen_tokens', 'prefill_tps', 'decode_tps', 'ttft_ms', 'load_s',
      'peak_mib', 'read_gbps', 'int8_gmacs', 'decode_read_share', 'prefill_peak_share']);
    assert.equal(run.gen_tokens, 3);
    for (const { median, min, max } of [run.prefill_tps, run.decode_tps]) {
      assert.ok(min > 0 && min <= median && median <= max, `${min} ${median} ${max}`);
    }
    for (const key of ['ttft_ms', 'load_s', 'peak_mib', 'read_gbps', 'int8_gmacs']) assert.ok(run[key] > 0, key);
  }
});

const close = (actual, expected) => assert.ok(Math.abs(actual / expected - 1) < 1e-9, `${actual} is not ${expected}`);

test('the shares follow from the speeds, the limits and the cost of a token', () => {
  const result = bench('-p', '9', '-n', '4', '-t', '1');
  const [run] = result.runs;
  close(run.decode_read_share, (result.weight_bytes_per_token * run.decode_tps.median) / (run.read_gbps * 1e9));
  close(run.prefill_peak_share, (result.macs_per_token * run.prefill_tps.median) / (run.int8_gmacs * 1e9));
});

test('the cost of a token is that of the packed matrices, whether or not the table is the output matrix', () => {
  // 2 layers: q and output 256 x 256, k and v 128 x 256, gate, up and down 512 x 256; Q8_0 has 34 bytes for 32 weights.
  const macs = 2 * (2 * 256 * 256 + 2 * 128 * 256 + 3 * 512 * 256);
  const table = 336 * 256; // 323 tokens in blocks of 16 rows
  for (const options of [[], ['--untied']]) {
    const model = makeModel(`q8${options.length}.gguf`, '--type', 'Q8_0', ...options);
    const result = JSON.parse(output(['bench', '-m', model, '--limit-mib', '0', '-p', '2', '-n', '1', '--json']));
    assert.equal(result.macs_per_token, macs);
    assert.equal(result.weight_bytes_per_token, ((macs + table) / 32) * 34);
  }
});

test('without limits their figures are null', () => {
  const [run] = JSON.parse(output(['bench', '-m', tiny, '--limit-mib', '0', '-p', '4', '-n', '2', '--json'])).runs;
  assert.deepEqual([run.read_gbps, run.int8_gmacs, run.decode_read_share, run.prefill_peak_share], [null, null, null, null]);
});

test('--profile adds a time for each operation, and they add up to the whole', () => {
  const [run] = bench('-p', '9', '-n', '4', '-t', '1', '--profile').runs;
  for (const phase of ['prefill', 'decode']) {
    const { total, ...parts } = run.profile_us_per_token[phase];
    assert.deepEqual(Object.keys(parts), ['embedding', 'normalization', 'quantization', 'qkv', 'rotation', 'attention',
      'attention_output', 'gate_up', 'activation', 'down', 'output_head', 'other']);
    close(Object.values(parts).reduce((sum, time) => sum + time, 0), total);
    for (const [name, time] of Object.entries(parts)) assert.ok(time >= 0, `${phase}: ${name} is ${time}`);
  }
  const { decode } = run.profile_us_per_token;
  assert.ok(decode.total <= 1e6 / run.decode_tps.min, 'a pass takes no longer than a token');
});

test('--kernel chooses the kernel', () => {
  assert.equal(bench('-p', '3', '-n', '1', '--kernel', 'scalar').kernel, 'scalar');
});

test('without --json it prints a table on standard output, and nothing on standard error in a pipe', () => {
  const { code, stdout, stderr } = bitwin(['bench', ...quick, '-p', '3,4', '-n', '2', '-t', '1', '--profile']);
  assert.equal(code, 0);
  assert.equal(stderr, '');
  assert.match(stdout, /^threads +prompt .*decode tokens\/s/m);
  assert.match(stdout, /^1 +3 +2 /m);
  assert.match(stdout, /^1 +4 +2 /m);
  assert.match(stdout, /^1 thread beside 4 prompt tokens: reads [\d.]+ GB\/s, int8 [\d.]+ GMAC\/s at best$/m);
  assert.match(stdout, /^output_head +[\d.]+ +[\d.]+ % +[\d.]+ +[\d.]+ %$/m);
});

test('bad arguments exit with 2 and a sentence', () => {
  const cases = [
    [['-t', '0'], /--threads: '0' is not a list of whole numbers from 1 to 256/],
    [['-t', '1,257'], /--threads: '1,257' is not a list/],
    [['-p', '96,'], /--prompt-tokens: '96,' is not a list/],
    [['-p', ''], /--prompt-tokens: '' is not a list/],
    [['-p', '1x'], /--prompt-tokens: '1x' is not a list/],
    [['-n', '0'], /--gen-tokens: '0' is not a whole number from 1/],
    [['--repeat', '0'], /--repeat: '0' is not a whole number from 1/],
    [['--limit-mib', '-1'], /--limit-mib: '-1' is not a whole number from 0/],
    [['-p', '8,1020', '-n', '5'], /a prompt of 1020 tokens and 5 generated ones do not fit into this model's context of 1024/],
    [['--kernel', 'none'], /'none'/],
    [['-m', '-'], /name a file/],
    [['more'], /not expected: more/],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = bitwin(['bench', ...quick, ...args]);
    assert.equal(code, 2, `${args}: ${stderr}`);
    assert.match(stderr, message);
    assert.equal(stdout, '');
  }
});

test('a prompt and tokens that fill the context exactly run', () => {
  const [run] = bench('-p', '1022', '-n', '2', '-t', '1', '--repeat', '1').runs;
  assert.deepEqual([run.prompt_tokens, run.gen_tokens], [1022, 2]);
});

test('a file that cannot be loaded exits with 1', () => {
  assert.equal(bitwin(['bench', '-m', '/no/such/file.gguf']).code, 1);
  assert.equal(bitwin(['bench', '-m', makeModel('words.gguf', '--vocabulary-only'), '-p', '1', '-n', '1']).code, 1);
});
