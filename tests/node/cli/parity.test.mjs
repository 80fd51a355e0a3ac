import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bitwin, file, kernels, output, tiny } from './support.mjs';

const prompt = Array.from({ length: 40 }, (_, i) => (i * 37 + 5) % 300);
const ids = file('ids.json', prompt);
const parity = (...args) => JSON.parse(output(['parity', '-m', tiny, '--ids', ids, ...args]));

test('parity prints its seven keys', () => {
  const result = parity('-n', '6', '--kernel', 'scalar', '--threads', '2', '--chunk', '7');
  assert.deepEqual(Object.keys(result), ['kernel', 'threads', 'chunk', 'prompt_tokens', 'ids', 'steps', 'fingerprint']);
  assert.deepEqual([result.kernel, result.threads, result.chunk, result.prompt_tokens], ['scalar', 2, 7, 40]);
  assert.equal(result.ids.length, 6);
  assert.equal(result.steps.length, 6);
  for (const hash of [...result.steps, result.fingerprint]) assert.match(hash, /^[0-9a-f]{16}$/);
  assert.equal(parity('-n', '1').chunk, 'all');
});

test('every kernel, number of threads and chunk gives the same bits', () => {
  const answer = ({ ids: tokens, steps, fingerprint }) => ({ tokens, steps, fingerprint });
  const expected = answer(parity('-n', '8', '--kernel', 'scalar', '--threads', '1', '--chunk', 'all'));
  assert.equal(new Set(expected.steps).size, 8, 'each step has logits of its own');
  for (const kernel of kernels()) {
    for (const threads of ['1', '2', '3']) {
      for (const chunk of ['1', '7', '16', 'all']) {
        const result = parity('-n', '8', '--kernel', kernel, '--threads', threads, '--chunk', chunk);
        assert.equal(result.kernel, kernel);
        assert.equal(result.threads, Number(threads));
        assert.deepEqual(answer(result), expected, `${kernel}, ${threads} threads, chunk ${chunk}`);
      }
    }
  }
});

test('another prompt has another fingerprint', () => {
  const other = [...prompt.slice(0, -1), prompt.at(-1) + 1];
  const result = JSON.parse(output(['parity', '-m', tiny, '--ids', '-'], { input: JSON.stringify(other) }));
  assert.notEqual(result.fingerprint, parity().fingerprint);
});

test('files that are no ids exit with 1 and say where', () => {
  const cases = [
    ['', /bad\.json: not valid JSON.*line 1/],
    ['[1,\n2,\nx]', /bad\.json: not valid JSON.*line 3/],
    ['{"ids": [1]}', /bad\.json: ids: expected an array/],
    ['[]', /bad\.json: there are no ids/],
    ['[1, "2"]', /bad\.json: ids\[1\]: "2" is not a token id/],
    ['[1, 2.5]', /ids\[1\]: 2\.5 is not a token id/],
    ['[-1]', /ids\[0\]: -1 is not a token id/],
    ['[323]', /ids\[0\]: 323 is not a token id of this model \(a whole number from 0 to 322\)/],
    ['[4294967297]', /ids\[0\]: 4294967297 is not a token id/],
    ['[18446744073709551615]', /ids\[0\]: 18446744073709551615 is not a token id/],
    ['[1e400]', /bad\.json: not valid JSON|is not a token id|number overflow/],
    [JSON.stringify(Array(5000).fill(1)), /1,?024|5,?000/],
  ];
  for (const [content, message] of cases) {
    const { code, stdout, stderr } = bitwin(['parity', '-m', tiny, '--ids', file('bad.json', content)]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, message);
    assert.equal(stdout, '');
  }
});
