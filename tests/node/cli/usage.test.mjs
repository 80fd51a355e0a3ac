import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bitwin, file, folder, kernels, makeModel, tiny } from './support.mjs';

const commands = ['run', 'info', 'tokenize', 'parity', 'eval', 'bench'];
const vocabulary = makeModel('vocabulary.gguf', '--vocabulary-only');
const ids = file('ids.json', [1, 2, 3]);
const reference = file('reference.json', { ids: [1, 2], positions: [] });

function fails(code, pattern, args, options) {
  const done = bitwin(args, options);
  assert.equal(done.code, code, `bitwin ${args.join(' ')}: ${done.stderr}`);
  assert.match(done.stderr, pattern);
  assert.equal(done.stdout, '');
}

test('without arguments the program prints its help', () => {
  const done = bitwin([]);
  assert.equal(done.code, 0);
  assert.equal(done.stdout, bitwin(['--help']).stdout);
  for (const command of commands) assert.match(done.stdout, new RegExp(`^  ${command} `, 'm'));
});

test('--help of every command names its options and ends in an example', () => {
  for (const command of commands) {
    const { code, stdout } = bitwin([command, '--help']);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`Usage: bitwin ${command} `));
    assert.match(stdout, /-m,--model FILE/);
    assert.match(stdout, new RegExp(`Examples?:\\n(.*\\n)*.*bitwin ${command} `));
  }
  const { stdout } = bitwin(['run', '--help']);
  for (const option of ['--system', '--temp', '--top-k', '--top-p', '--min-p', '--seed', '--max-tokens', '--ctx', '--threads', '--kernel', '--raw', '--version']) {
    assert.ok(stdout.includes(option), option);
  }
});

test('--version prints the version, of the program and of every command', () => {
  const { code, stdout } = bitwin(['--version']);
  assert.equal(code, 0);
  assert.match(stdout, /^bitwin \d+\.\d+\.\d+\n$/);
  for (const command of commands) assert.equal(bitwin([command, '--version']).stdout, stdout);
});

test('wrong usage exits with 2 and says how to get help', () => {
  fails(2, /no such command or option: frobnicate\n'bitwin --help'/, ['frobnicate']);
  fails(2, /no such command or option: --frobnicate/, ['--frobnicate']);
  fails(2, /--model is required\n'bitwin run --help'/, ['run']);
  fails(2, /info needs a model/, ['info']);
  fails(2, /--ids is required/, ['parity', '-m', tiny]);
  fails(2, /--reference is required/, ['eval', '-m', tiny]);
  fails(2, /not expected: two \(a prompt of several words needs quotes\)/, ['run', '-m', tiny, 'one', 'two']);
  fails(2, /--raw/, ['run', '-m', tiny, '--raw', '--system', 'x', 'y']);
  fails(2, /--jsonl/, ['tokenize', '-m', tiny, '--jsonl', ids, 'text']);
});

test('numbers out of range exit with 2 and name the option and the range', () => {
  const cases = [
    ['--max-tokens', ['-3', '0', '1.5', 'x', '', '99999999999999999999'], /--max-tokens: '.*' is not a whole number from 1 /],
    ['--ctx', ['-1', '0', '4k'], /--ctx: '.*' is not a whole number from 1 /],
    ['--threads', ['0', '-1', '1000', 'all'], /--threads: '.*' is not a whole number from 1 to 256/],
    ['--temp', ['nan', 'inf', '-1', '0x1', ' 1', '1e99'], /--temp: '.*' is not a number from 0 to 100/],
    ['--top-k', ['-1', '2147483648'], /--top-k: '.*' is not a whole number from 0 /],
    ['--top-p', ['-0.1', '1.01', 'NaN'], /--top-p: '.*' is not a number from 0 to 1/],
    ['--min-p', ['-0.1', '1.01'], /--min-p: '.*' is not a number from 0 to 1/],
    ['--seed', ['-1', '18446744073709551616', '1.0'], /--seed: '.*' is not a whole number from 0 to 18446744073709551615/],
  ];
  for (const [option, values, message] of cases) {
    for (const value of values) fails(2, message, ['run', '-m', tiny, `${option}=${value}`, 'hello']);
  }
  for (const chunk of ['0', '-1', 'most']) fails(2, /--chunk: /, ['parity', '-m', tiny, '--ids', ids, '--chunk', chunk]);
  fails(2, /-n: '0' is not a whole number from 1 /, ['parity', '-m', tiny, '--ids', ids, '-n', '0']);
});

test('info --kernels lists kernels one a line, scalar among them', () => {
  const list = kernels();
  assert.ok(list.includes('scalar'), list.join());
  assert.deepEqual(JSON.parse(bitwin(['info', '--kernels', '--json']).stdout), list);
  assert.equal(new Set(list).size, list.length);
});

test('a kernel that is unknown or that this machine lacks exits with 2, as option and from BITWIN_KERNEL', () => {
  const has = kernels();
  const lacks = ['amx', 'neon-i8mm', 'wasm-simd128'].filter((name) => !has.includes(name));
  for (const name of ['frobnicate', ...lacks]) {
    const wrong = name === 'frobnicate' ? `there is no kernel called '${name}'` : `kernel ${name} does not run here`;
    const pattern = new RegExp(`${wrong}; this build and processor have: ${has.join(', ')}`);
    fails(2, pattern, ['run', '-m', tiny, '--kernel', name, 'hello']);
    fails(2, pattern, ['parity', '-m', tiny, '--ids', ids, '--kernel', name]);
    fails(2, pattern, ['eval', '-m', tiny, '--reference', reference, '--kernel', name]);
    fails(2, / \(from BITWIN_KERNEL\)[ ;].*have: /, ['run', '-m', tiny, 'hello'], { env: { BITWIN_KERNEL: name } });
  }
});

test('BITWIN_KERNEL chooses the kernel, --kernel goes before it', () => {
  for (const name of kernels()) {
    const env = { BITWIN_KERNEL: name };
    assert.equal(JSON.parse(bitwin(['info', '-m', tiny, '--json'], { env }).stdout).kernel, name);
    const parity = bitwin(['parity', '-m', tiny, '--ids', ids, '-n', '1', '--kernel', 'scalar'], { env });
    assert.equal(JSON.parse(parity.stdout).kernel, 'scalar');
  }
});

test('a file that is no model exits with 1 and says what is wrong with it', () => {
  const cases = [
    [folder, /folder, not a file/],
    [`${folder}/nothing.gguf`, /nothing\.gguf: No such file/],
    [file('empty.gguf', ''), /empty\.gguf: .*empty/],
    [file('page.gguf', '<!DOCTYPE html>\n<html><body>404: Not Found</body></html>\n'.repeat(9)), /page\.gguf: .*(HTML|web page|GGUF)/],
    [file('noise.gguf', new Uint8Array(5000).fill(7)), /noise\.gguf: .*GGUF/],
  ];
  for (const [path, message] of cases) {
    fails(1, message, ['run', '-m', path, 'hello']);
    fails(1, message, ['info', '-m', path]);
    fails(1, message, ['tokenize', '-m', path, 'hello']);
    fails(1, message, ['parity', '-m', path, '--ids', ids]);
    fails(1, message, ['eval', '-m', path, '--reference', reference]);
  }
});

test('a file with a vocabulary only serves info and tokenize; the rest say that it holds no weights', () => {
  assert.equal(bitwin(['info', '-m', vocabulary]).code, 0);
  assert.equal(JSON.parse(bitwin(['info', '-m', vocabulary, '--json']).stdout).has_weights, false);
  assert.deepEqual(bitwin(['tokenize', '-m', vocabulary, 'hello']), bitwin(['tokenize', '-m', tiny, 'hello']));
  fails(1, /holds no weights/, ['run', '-m', vocabulary, 'hello']);
  fails(1, /holds no weights/, ['parity', '-m', vocabulary, '--ids', ids]);
  fails(1, /holds no weights/, ['eval', '-m', vocabulary, '--reference', reference]);
});

test('info describes the model, as text and as JSON', () => {
  const text = bitwin(['info', '-m', tiny]);
  assert.equal(text.code, 0, text.stderr);
  assert.match(text.stdout, /^architecture +qwen2$/m);
  assert.match(text.stdout, /^context +1024 tokens$/m);
  const json = JSON.parse(bitwin(['info', '-m', tiny, '--json']).stdout);
  assert.equal(json.architecture, 'qwen2');
  assert.equal(json.has_weights, true);
  assert.equal(json.vocabulary, 323);
  assert.equal(json.heads, 4);
  assert.equal(json.kv_heads, 2);
  assert.ok(json.weight_bytes > 0 && json.parameters > 0 && json.kv_bytes_per_token > 0);
  assert.ok(json.types.length > 1 && json.types.every(({ tensors, bytes }) => tensors > 0 && bytes > 0));
});

test('JSON as deep as it likes, or with a NUL byte, is refused', () => {
  const deep = '['.repeat(1000000) + ']'.repeat(1000000);
  fails(1, /ids\[0\]: an array is not a token id/, ['parity', '-m', tiny, '--ids', file('deep.json', deep)]);
  fails(1, /ids\[0\]: an array is not a token id/, ['eval', '-m', tiny, '--reference', file('deep-reference.json', `{"ids":${deep},"positions":[]}`)]);
  fails(1, /NUL byte/, ['parity', '-m', tiny, '--ids', file('nul.json', '[1,2]\0garbage')]);
  fails(1, /nul\.jsonl:1: .*NUL byte/, ['tokenize', '-m', tiny, '--jsonl', file('nul.jsonl', '{"text":"a"}\0junk\n')]);
});

test('a reference with nothing to compare is refused', () => {
  fails(1, /nothing to compare/, ['eval', '-m', tiny, '--reference', file('empty-reference.json', { ids: [1], positions: [] })]);
});

test('the model and the prompt cannot both come from standard input', () => {
  fails(2, /cannot both come from standard input/, ['run', '-m', '-'], { input: 'x' });
});

test('a chunk is at most what one pass takes', () => {
  fails(2, /--chunk: '129' is neither a whole number from 1 to 128 nor 'all'/, ['parity', '-m', tiny, '--ids', ids, '--chunk', '129']);
});
