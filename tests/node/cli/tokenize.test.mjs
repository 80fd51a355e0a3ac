import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bitwin, file, output, start, tiny } from './support.mjs';

const ids = (text, ...flags) => JSON.parse(output(['tokenize', '-m', tiny, ...flags, '--', text]));

test('a text gives one JSON array of ids', () => {
  const { code, stdout, stderr } = bitwin(['tokenize', '-m', tiny, 'hello there']);
  assert.equal(code, 0);
  assert.equal(stderr, '');
  assert.match(stdout, /^\[\d+(,\d+)*\]\n$/);
});

test('the text comes from standard input under "-" or when it is piped, unchanged', () => {
  for (const text of ['two\nlines\n', ' spaces ', '']) {
    const expected = output(['tokenize', '-m', tiny, '--', text]);
    assert.equal(output(['tokenize', '-m', tiny, '-'], { input: text }), expected);
    assert.equal(output(['tokenize', '-m', tiny], { input: text }), expected);
  }
});

test('control tokens become ids only with --parse-special', () => {
  assert.deepEqual(ids('<|im_start|>', '--parse-special'), [318]);
  assert.ok(!ids('<|im_start|>').includes(318));
});

test('--jsonl gives one line for each line, in order, with its own settings', () => {
  const lines = [
    { text: 'one' },
    { text: '' },
    { text: '<|im_end|>', parse_special: true },
    { text: '<|im_end|>', parse_special: false, add_bos: false, note: 'further keys are ignored' },
    { text: 'a\u2028b\u0085c\nd' },
    { text: 'one' },
  ];
  const input = lines.map((line) => JSON.stringify(line)).join('\n');
  const expected = lines.map(({ text, parse_special }) => ids(text, ...(parse_special ? ['--parse-special'] : [])));
  // With and without a line feed at the end, from a file and from standard input.
  for (const text of [input, `${input}\n`]) {
    for (const stdout of [output(['tokenize', '-m', tiny, '--jsonl', file('lines.jsonl', text)]), output(['tokenize', '-m', tiny, '--jsonl', '-'], { input: text })]) {
      assert.deepEqual(stdout.trimEnd().split('\n').map((line) => JSON.parse(line)), expected);
    }
  }
});

test('an empty --jsonl file gives no lines', () => {
  assert.equal(output(['tokenize', '-m', tiny, '--jsonl', file('empty.jsonl', '')]), '');
});

test('lines that are no requests end with the file and the line', () => {
  const cases = [
    ['{"text": "a"}\nnot json\n', /bad\.jsonl:2: not valid JSON/],
    ['{"text": "a"}\n\n{"text": "b"}\n', /bad\.jsonl:2: not valid JSON/],
    ['[1, 2]\n', /bad\.jsonl:1: expected an object/],
    ['{}\n', /bad\.jsonl:1: "text" must be a string/],
    ['{"text": 5}\n', /bad\.jsonl:1: "text" must be a string/],
    ['{"text": "a", "add_bos": 1}\n', /bad\.jsonl:1: "add_bos" must be true or false/],
    ['{"text": "a", "parse_special": null}\n', /bad\.jsonl:1: "parse_special" must be true or false/],
    ['{"text": "\\ud800"}\n', /bad\.jsonl:1: not valid JSON/],
    [`${'['.repeat(1e6)}\n`, /bad\.jsonl:1: not valid JSON/],
  ];
  for (const [content, message] of cases) {
    const { code, stderr } = bitwin(['tokenize', '-m', tiny, '--jsonl', file('bad.jsonl', content)]);
    assert.equal(code, 1);
    assert.match(stderr, message);
  }
});

test('a program that feeds lines one by one gets each answer before the next line', { timeout: 60000 }, async () => {
  const child = start(['tokenize', '-m', tiny, '--jsonl', '-']);
  child.stdout.setEncoding('utf8');
  const answer = () => new Promise((settle) => child.stdout.once('data', settle));
  for (const text of ['one', 'two']) {
    const answered = answer();
    child.stdin.write(`${JSON.stringify({ text })}\n`);
    assert.deepEqual(JSON.parse(await answered), ids(text));
  }
  child.stdin.end();
  assert.equal(await new Promise((settle) => child.on('close', settle)), 0);
});

test('the lines before a bad one have their answers', () => {
  const { code, stdout, stderr } = bitwin(['tokenize', '-m', tiny, '--jsonl', '-'], { input: '{"text":"a"}\n{"text":"b"}\nbad\n' });
  assert.equal(code, 1);
  assert.equal(stdout.split('\n').length, 3);
  assert.match(stderr, /:3: not valid JSON/);
});

test('an empty file name is not the same as none', () => {
  const { code, stdout } = bitwin(['tokenize', '-m', tiny, '--jsonl', ''], { input: 'text' });
  assert.equal(code, 1);
  assert.equal(stdout, '');
});
