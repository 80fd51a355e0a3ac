import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bitwin, file, output, tiny } from './support.mjs';

const evaluate = (reference) => JSON.parse(output(['eval', '-m', tiny, '--reference', file('reference.json', reference)]));
// A reference that is certain of one token: its divergence is -ln p of that token.
const certain = (pos, id) => ({ pos, top_ids: [id], top_logprobs: [0] });
const close = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

test('a whole text gives flat keys; greedy_agreement does not apply', () => {
  const result = evaluate({ ids: [5, 6, 7, 8], positions: [certain(1, 7), certain(2, 8)] });
  assert.deepEqual(Object.keys(result), ['mean_kl', 'p99_kl', 'same_top', 'ppl', 'greedy_agreement']);
  assert.equal(result.greedy_agreement, null);
  for (const key of ['mean_kl', 'p99_kl', 'same_top', 'ppl']) assert.equal(typeof result[key], 'number');
});

test('divergence and perplexity agree where both are -ln p of the next token', () => {
  const ids = Array.from({ length: 70 }, (_, i) => (i * 53 + 11) % 300);
  const negative = (count) => (count - 1) * Math.log(evaluate({ ids: ids.slice(0, count), positions: [] }).ppl);
  // One position, also across the border of two batches of logits.
  for (const position of [1, 31, 32, 64]) {
    const one = evaluate({ ids, positions: [certain(position, ids[position + 1])] });
    close(one.mean_kl, negative(position + 2) - negative(position + 1));
    assert.equal(one.p99_kl, one.mean_kl);
  }
  const all = ids.slice(0, -1).map((_, pos) => certain(pos, ids[pos + 1]));
  const result = evaluate({ ids, positions: all });
  close(result.mean_kl * 68, negative(70) - negative(2));
});

test('a divergence sums p_ref (ln p_ref - ln p) over the tokens of the reference', () => {
  const ids = [9, 8, 7];
  const minus_ln = (id) => evaluate({ ids, positions: [certain(1, id)] }).mean_kl;
  const [p, q] = [0.7, 0.25];
  const both = { pos: 1, top_ids: [40, 50], top_logprobs: [Math.log(p), Math.log(q)] };
  close(evaluate({ ids, positions: [both] }).mean_kl, p * (Math.log(p) + minus_ln(40)) + q * (Math.log(q) + minus_ln(50)));
});

test('position 0 is left out', () => {
  const ids = [5, 6, 7];
  const result = evaluate({ ids, positions: [certain(0, 6)] });
  assert.deepEqual([result.mean_kl, result.p99_kl, result.same_top], [null, null, null]);
  assert.deepEqual(evaluate({ ids, positions: [certain(0, 6), certain(1, 7)] }), evaluate({ ids, positions: [certain(1, 7)] }));
});

test('same_top and greedy_agreement follow the greedy tokens', () => {
  const ids = [20, 21, 22, 23, 24];
  const run = JSON.parse(output(['parity', '-m', tiny, '--ids', '-', '-n', '6'], { input: JSON.stringify(ids) }));
  const greedy = run.ids;
  const other = (id) => (id + 1) % 300;
  const prompt = (changes = {}) => ({ ids, greedy, greedy_margins: [1, 1, 1, 1, 1, 1], positions: [certain(4, greedy[0])], ...changes });
  const score = (...prompts) => evaluate({ prompts });

  const right = score(prompt());
  assert.equal(right.greedy_agreement, 1);
  assert.equal(right.same_top, 1);
  assert.equal(right.ppl, null);
  assert.equal(score(prompt({ positions: [certain(4, other(greedy[0]))] })).same_top, 0);

  const wrong = greedy.map((id, step) => (step === 4 ? other(id) : id));
  close(score(prompt({ greedy: wrong })).greedy_agreement, 5 / 6);
  // Only steps before the first close call are compared.
  assert.equal(score(prompt({ greedy: wrong, greedy_margins: [1, 1, 1, 1, 0.19, 1] })).greedy_agreement, 1);
  close(score(prompt({ greedy: wrong, greedy_margins: [1, 1, 1, 1, 0.2, 0.1] })).greedy_agreement, 4 / 5);
  assert.equal(score(prompt({ greedy_margins: [0.1, 1, 1, 1, 1, 1] })).greedy_agreement, null);
  // Steps of all prompts count alike.
  close(score(prompt({ greedy: wrong }), prompt()).greedy_agreement, 11 / 12);
});

test('malformed references exit with 1 and name the place', () => {
  const good = { ids: [1, 2, 3], positions: [certain(1, 2)] };
  const cases = [
    ['{"ids": [1,', /bad\.json: not valid JSON.*line 1/],
    [[], /bad\.json: expected an object, not array/],
    [{}, /bad\.json: text: "ids" is missing/],
    [{ ...good, ids: [1, 2, 400] }, /text\.ids\[2\]: 400 is not a token id/],
    [{ ...good, ids: [] }, /text\.ids: there are none/],
    [{ ...good, positions: [certain(3, 1)] }, /positions\[0\]\.pos: expected a whole number from 0 to 2/],
    [{ ...good, positions: [certain(1, 1), certain(1, 1)] }, /positions\[1\]\.pos: expected a whole number from 2 to 2/],
    [{ ...good, positions: [{ pos: 1, top_ids: [1, 2], top_logprobs: [0] }] }, /2 top_ids and 1 top_logprobs/],
    [{ ...good, positions: [{ pos: 1, top_ids: [1], top_logprobs: [0.5] }] }, /top_logprobs\[0\]: expected a number/],
    [{ ...good, positions: [{ pos: 1, top_ids: [1], top_logprobs: [null] }] }, /top_logprobs\[0\]: expected a number/],
    [{ prompts: [] }, /there are no prompts/],
    [{ prompts: [good] }, /prompts\[0\]: "greedy" is missing/],
    [{ prompts: [{ ...good, greedy: [1], greedy_margins: [] }] }, /prompts\[0\]: 1 greedy ids but 0 greedy_margins/],
  ];
  for (const [content, message] of cases) {
    const { code, stdout, stderr } = bitwin(['eval', '-m', tiny, '--reference', file('bad.json', content)]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, message);
    assert.equal(stdout, '');
  }
});
