// What the tests of the program share: where it is, how to run it, plainly and at a terminal.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
export const bin = resolve(process.env.BITWIN_BIN ?? join(root, 'build/native/bitwin'));
// A tiny model with random weights.
export const tiny = resolve(process.env.BITWIN_TINY ?? join(root, 'build/tiny/mixed.gguf'));
// SmolLM2-135M-Instruct, for the golden tests; they are left out when it is not given.
export const smollm2 = process.env.BITWIN_SMOLLM2;
const makeTiny = join(dirname(bin), 'tests/make-tiny-model');

for (const path of [bin, tiny]) {
  if (!existsSync(path)) throw new Error(`${path} is missing: build the program and the tiny model first (tools/test)`);
}

// A folder for the files of one test file, removed at its end.
export const folder = mkdtempSync(join(tmpdir(), 'bitwin-cli-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

// Writes a file into that folder; values that are neither text nor bytes become JSON.
export function file(name, content) {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content));
  return path;
}

// Another tiny model; `options` are those of make-tiny-model.
export function makeModel(name, ...options) {
  const path = join(folder, name);
  const made = spawnSync(makeTiny, [...options, path], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`${makeTiny}: ${made.stderr ?? made.error}`);
  return path;
}

function environment(extra = {}) {
  const env = { ...process.env, TERM: 'xterm', ...extra };
  for (const name of ['NO_COLOR', 'BITWIN_KERNEL']) if (!(name in extra)) delete env[name];
  return env;
}

// Runs the program to its end: {code, stdout, stderr}. Standard input is empty unless given. `shell`: a command of sh that
// runs it as "$@".
export function bitwin(args, { input = '', env, shell } = {}) {
  const command = shell === undefined ? [bin, ...args] : ['sh', '-c', shell, 'sh', bin, ...args];
  const done = spawnSync(command[0], command.slice(1), { input, env: environment(env), encoding: 'utf8', maxBuffer: 1 << 28 });
  // A program that ends without reading its input breaks the pipe.
  if (done.error && done.error.code !== 'EPIPE') throw done.error;
  return { code: done.status ?? done.signal, stdout: done.stdout, stderr: done.stderr };
}

// The same, when it must succeed: its standard output.
export function output(args, options) {
  const done = bitwin(args, options);
  if (done.code !== 0) throw new Error(`bitwin ${args.join(' ')} exited with ${done.code}: ${done.stderr}`);
  return done.stdout;
}

export function kernels() {
  return output(['info', '--kernels']).trim().split('\n');
}

// A test that failed leaves no program behind.
const started = new Set();
after(() => started.forEach((child) => child.kill('SIGKILL')));

function begin(...args) {
  const child = spawn(...args);
  started.add(child);
  child.on('close', () => started.delete(child));
  return child;
}

// Starts the program; streams as those of node:child_process's spawn.
export function start(args, options = {}) {
  return begin(bin, args, { ...options, env: environment() });
}

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// Whether util-linux's `script` is here, which gives a program a terminal of its own.
export const hasTerminals = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');

// The program at a pseudo-terminal.
export class Terminal {
  constructor(args, { env } = {}) {
    const command = [bin, ...args].map(quote).join(' ');
    this.text = '';
    this.seen = 0;
    this.waiting = [];
    this.process = begin('script', ['-qec', command, '/dev/null'], { env: environment(env) });
    this.process.stdout.setEncoding('utf8');
    this.process.stdout.on('data', (piece) => {
      this.text += piece;
      this.check();
    });
    this.exit = new Promise((settle) => this.process.on('close', (code) => {
      this.ended = true;
      this.check();
      settle(code);
    }));
  }

  // Waits until `pattern` appears after the last one that was waited for.
  expect(pattern, seconds = 60) {
    return new Promise((settle, fail) => {
      const timer = setTimeout(() => this.fail(entry, `not within ${seconds} s`), seconds * 1000);
      const entry = { pattern, timer, settle, fail };
      this.waiting.push(entry);
      this.check();
    });
  }

  send(text) {
    this.process.stdin.write(text);
  }

  fail(entry, reason) {
    this.waiting = this.waiting.filter((one) => one !== entry);
    clearTimeout(entry.timer);
    entry.fail(new Error(`${entry.pattern} did not appear (${reason}) in ${JSON.stringify(this.text.slice(this.seen))}`));
  }

  check() {
    while (this.waiting.length > 0) {
      const [entry] = this.waiting;
      const match = new RegExp(entry.pattern, entry.pattern.flags).exec(this.text.slice(this.seen));
      if (!match) {
        if (this.ended) this.fail(entry, 'the program ended');
        return;
      }
      this.seen += match.index + match[0].length;
      clearTimeout(entry.timer);
      this.waiting.shift();
      entry.settle(match);
    }
  }
}
