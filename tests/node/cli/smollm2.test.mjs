// SmolLM2-135M-Instruct against what is known of it: ids, float32 logits, and a run of 64 tokens bit by bit.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bitwin, file, kernels, output, root, smollm2 } from './support.mjs';

const options = { skip: !smollm2 && 'BITWIN_SMOLLM2 names no model' };
const golden = (name) => join(root, 'tests/golden', name);
const read = (name) => JSON.parse(readFileSync(golden(name), 'utf8'));

test('the tokeniser gives the ids of the reference text', options, () => {
  const { text, ids } = read('logits/smollm2.text.json');
  assert.deepEqual(JSON.parse(output(['tokenize', '-m', smollm2], { input: text })), ids);
});

test('every line of the golden tokeniser file gives its ids', options, () => {
  const lines = readFileSync(golden('tokenizer/smollm.jsonl'), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
  const answers = output(['tokenize', '-m', smollm2, '--jsonl', golden('tokenizer/smollm.jsonl')]).trimEnd().split('\n');
  assert.equal(answers.length, lines.length);
  lines.forEach(({ text, ids }, i) => assert.deepEqual(JSON.parse(answers[i]), ids, text));
});

test('the logits are near the float32 reference over a whole text', options, () => {
  const result = JSON.parse(output(['eval', '-m', smollm2, '--reference', golden('logits/smollm2.text.json')]));
  assert.ok(result.mean_kl <= 0.004, `mean_kl ${result.mean_kl}`);
  assert.ok(result.same_top >= 0.95, `same_top ${result.same_top}`);
  assert.ok(Math.abs(result.ppl / read('logits/smollm2.text.json').ppl - 1) < 0.02, `ppl ${result.ppl}`);
  assert.equal(result.greedy_agreement, null);
});

test('greedy continuations are the reference\'s up to its first close call', options, () => {
  const result = JSON.parse(output(['eval', '-m', smollm2, '--reference', golden('logits/smollm2.json')]));
  assert.equal(result.greedy_agreement, 1);
  assert.ok(result.mean_kl <= 0.004, `mean_kl ${result.mean_kl}`);
  assert.equal(result.ppl, null);
});

test('64 tokens and the fingerprint of their logits are the golden ones', options, () => {
  const { prompt, ids, steps, fingerprint } = read('smollm2-parity.json');
  const path = file('prompt.json', prompt);
  for (const kernel of kernels().slice(0, 2)) {
    const result = JSON.parse(output(['parity', '-m', smollm2, '--ids', path, '-n', '64', '--kernel', kernel, '--threads', '2']));
    assert.deepEqual([result.ids, result.steps, result.fingerprint], [ids, steps, fingerprint], kernel);
  }
});

test('a question is answered in sentences', options, () => {
  const { code, stdout } = bitwin(['run', '-m', smollm2, '--temp', '0', '--max-tokens', '40', 'What is the capital of France?']);
  assert.equal(code, 0);
  assert.match(stdout, /Paris/);
});
