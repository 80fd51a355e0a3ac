import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Terminal, hasTerminals, makeModel, output, tiny } from './support.mjs';

const options = { skip: !hasTerminals && 'needs script from util-linux', timeout: 120000 };
const args = ['run', '-m', tiny, '--temp', '0', '--max-tokens', '8'];
const statistics = /time to first token .*\]/;
// What the program writes without colours is easier to wait for.
const env = { NO_COLOR: '1' };
const prompt = /(^|\n)> /;

async function start(extra = [], model = args) {
  const terminal = new Terminal([...model, ...extra], { env });
  await terminal.expect(/\/help/);
  await terminal.expect(prompt);
  return terminal;
}

// Sends a message and gives what was answered.
async function ask(terminal, message) {
  terminal.send(message);
  const [text] = await terminal.expect(/[^]*?(?=\[input)/);
  await terminal.expect(statistics);
  await terminal.expect(prompt);
  return text;
}

test('a terminal without a prompt chats until /exit', options, async () => {
  const terminal = await start();
  await ask(terminal, 'hello\n');
  terminal.send('/exit\n');
  assert.equal(await terminal.exit, 0);
});

test('/help names the commands; an unknown one is not taken for a message', options, async () => {
  const terminal = await start();
  terminal.send('/help\n');
  const [help] = await terminal.expect(/[^]*?\n> /);
  for (const word of ['/clear', '/help', '/exit', 'Ctrl-C', '"""']) assert.ok(help.includes(word), word);
  terminal.send('/frobnicate\n');
  await terminal.expect(/no command \/frobnicate/);
  assert.doesNotMatch(terminal.text, statistics);
  terminal.send('/exit\n');
  assert.equal(await terminal.exit, 0);
});

test('the end of input leaves with 0', options, async () => {
  const terminal = await start();
  terminal.send('\x04');
  assert.equal(await terminal.exit, 0);
});

test('an empty line is no message', options, async () => {
  const terminal = await start();
  terminal.send('\n');
  await terminal.expect(prompt);
  terminal.send('/exit\n');
  await terminal.exit;
  assert.doesNotMatch(terminal.text, statistics);
});

// The number of tokens that were read tells what became a message.
async function tokensRead(terminal, message) {
  terminal.send(message);
  const [, count] = await terminal.expect(/first token .*?\((\d+) tokens/);
  await terminal.expect(prompt);
  return Number(count);
}

test('/clear forgets the conversation', options, async () => {
  const terminal = await start(['--system', 'Be brief.']);
  const first = await tokensRead(terminal, 'hello\n');
  const second = await tokensRead(terminal, 'hello\n');
  assert.ok(second < first, 'the system message is read once');
  terminal.send('/clear\n');
  await terminal.expect(/forgotten/);
  await terminal.expect(prompt);
  assert.equal(await tokensRead(terminal, 'hello\n'), first);
  terminal.send('/exit\n');
  assert.equal(await terminal.exit, 0);
});

test('lines joined by a backslash and blocks between quotes are one message', options, async () => {
  const bare = JSON.parse(output(['tokenize', '-m', tiny, 'hello'])).length;
  const lines = JSON.parse(output(['tokenize', '-m', tiny, 'one\ntwo'])).length;
  for (const message of ['one\\\ntwo\n', '"""one\ntwo"""\n', '"""\none\ntwo"""\n']) {
    const terminal = await start();
    const frame = (await tokensRead(terminal, 'hello\n')) - bare;
    terminal.send('/clear\n');
    await terminal.expect(/forgotten/);
    await terminal.expect(prompt);
    assert.equal((await tokensRead(terminal, message)) - frame, lines, JSON.stringify(message));
    terminal.send('/exit\n');
    assert.equal(await terminal.exit, 0);
  }
});

test('a prompt given as an argument is answered once, also at a terminal', options, async () => {
  const terminal = new Terminal([...args, 'hello'], { env });
  await terminal.expect(statistics);
  assert.equal(await terminal.exit, 0);
});

test('--raw without a prompt exits with 2', options, async () => {
  const terminal = new Terminal([...args, '--raw'], { env });
  await terminal.expect(/--raw needs a prompt/);
  assert.equal(await terminal.exit, 2);
});

test('Ctrl-C stops the answer, the conversation goes on; a second one leaves with 130', options, async () => {
  const long = ['run', '-m', makeModel('long.gguf', '--context', '65536'), '--temp', '0', '--ctx', '65536'];
  const terminal = await start([], long);
  for (let turn = 0; turn < 2; ++turn) {
    terminal.send('hello\n');
    await terminal.expect(/hello\r?\n[^]{20}/);
    terminal.send('\x03');
    await terminal.expect(/stopped \|/);
    await terminal.expect(prompt);
  }
  terminal.send('\x03');
  assert.equal(await terminal.exit, 130);
});

test('Ctrl-C without an answer warns first; a message in between starts the count anew', options, async () => {
  const terminal = await start();
  for (let turn = 0; turn < 2; ++turn) {
    terminal.send('\x03');
    await terminal.expect(/once more or \/exit leaves/);
    await terminal.expect(prompt);
    await ask(terminal, 'hello\n');
  }
  terminal.send('\x03');
  await terminal.expect(/once more/);
  await terminal.expect(prompt);
  terminal.send('\x03');
  assert.equal(await terminal.exit, 130);
});

test('a message too long for the context is refused and the conversation goes on', options, async () => {
  const terminal = await start(['--ctx', '64']);
  terminal.send(`${'x'.repeat(200)}\n`);
  await terminal.expect(/bitwin: .*64/);
  await terminal.expect(prompt);
  await ask(terminal, 'hi\n');
  terminal.send('/exit\n');
  assert.equal(await terminal.exit, 0);
});

test('a line that the terminal has cut is refused, and nothing of it is sent', options, async () => {
  const terminal = await start();
  terminal.send(`${'word '.repeat(1200)}end\n`);
  await terminal.expect(/has cut this one; nothing was sent/);
  await terminal.expect(prompt);
  await ask(terminal, 'hi\n');
  terminal.send('/exit\n');
  assert.equal(await terminal.exit, 0);
});
