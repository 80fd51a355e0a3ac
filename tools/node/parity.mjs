// tools/parity: the same bits from every build of the engine on this machine.

import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { findChromium } from './chromium.mjs';
import { armRows, chromiumRows, nativeRows, nodeRows, tokenize } from './parity_runs.mjs';
import { inBuild, webPackage } from './paths.mjs';

const kHelp = `Usage: tools/parity -m MODEL [OPTION]...

Runs a prompt and greedy steps with every kernel of the native program that this processor has, and with every
WebAssembly build in Chromium and in Node, and compares the fingerprints of the logits. The host arm64 is the program for
64-bit Arm under qemu.
Exit status: 0 all equal, 1 some differ or failed, 2 wrong usage or something is not built.

  -m, --model FILE   GGUF model
  --prompt FILE      text to tokenise (default: a built-in text)
  --tokens N         at most N tokens of it (default 32)
  --ids FILE         a JSON array of token ids instead of a text
  --steps N          greedy steps (default 8)
  --threads LIST     thread counts (default 1,2); builds without threads run with 1
  --chunks LIST      prompt tokens evaluated at once (default 1,7,all)
  --only HOSTS       of native,node,chromium,arm64, separated by commas (default: all but arm64)
  --json             one JSON array of all rows instead of the table
  --help             this text`;

const kText = `The river rises in the hills above the town, and every spring it carries the melted snow past the old mill.
In 1887 the miller wrote down how high the water stood; his notes are still the longest record of the valley.`;

const kHosts = { native: nativeRows, node: nodeRows, chromium: chromiumRows, arm64: armRows };

class UsageError extends Error {}

const kOptions = {
  model: { type: 'string', short: 'm' },
  prompt: { type: 'string' },
  tokens: { type: 'string', default: '32' },
  ids: { type: 'string' },
  steps: { type: 'string', default: '8' },
  threads: { type: 'string', default: '1,2' },
  chunks: { type: 'string', default: '1,7,all' },
  only: { type: 'string', default: 'native,node,chromium' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

function positive(name, text) {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1) throw new UsageError(`--${name}: "${text}" is not a whole number from 1 on`);
  return value;
}

function parse(args) {
  let values;
  try {
    ({ values } = parseArgs({ args, options: kOptions }));
  } catch (error) {
    throw new UsageError(error.message);
  }
  if (values.help) return null;
  if (values.model === undefined) throw new UsageError('Which model? tools/parity -m MODEL');
  for (const file of [values.model, values.prompt, values.ids]) {
    if (file !== undefined && !existsSync(file)) throw new UsageError(`There is no file ${file}`);
  }
  const hosts = values.only.split(',');
  for (const host of hosts) {
    if (!Object.hasOwn(kHosts, host)) throw new UsageError(`--only: "${host}" is none of ${Object.keys(kHosts).join(', ')}`);
  }
  return {
    ...values,
    model: path.resolve(values.model),
    hosts,
    tokens: positive('tokens', values.tokens),
    steps: positive('steps', values.steps),
    threads: values.threads.split(',').map((text) => positive('threads', text)),
    chunks: values.chunks.split(',').map((text) => (text === 'all' ? 0 : positive('chunks', text))),
  };
}

/** Names the command that makes what is missing. */
function checkBuilt({ hosts }) {
  const need = (present, what, command) => {
    if (!present) throw new UsageError(`${what} is missing. Run: ${command}`);
  };
  // The native program also makes the token ids of a text.
  need(existsSync(inBuild('native/bitwin')), inBuild('native/bitwin'), 'cmake --preset native && cmake --build --preset native');
  if (hosts.includes('arm64')) need(existsSync(inBuild('arm64/bitwin')), inBuild('arm64/bitwin'), 'tools/test --only arm64');
  if (hosts.includes('node') || hosts.includes('chromium')) {
    const command = 'tools/setup && . tools/env.sh && cmake --preset wasm && cmake --build --preset wasm && npm --prefix web run build   (or leave these rows out: --only native)';
    for (const file of ['wasm/bitwin-relaxed-mt.wasm', 'sdk/index.js']) need(existsSync(inBuild(file)), inBuild(file), command);
  }
  if (hosts.includes('chromium')) {
    need(findChromium() !== undefined, 'Chromium', 'tools/setup');
    try {
      webPackage('playwright-core');
    } catch {
      need(false, 'playwright-core', 'npm --prefix web ci --ignore-scripts');
    }
  }
}

async function readIds(options, folder) {
  if (options.ids === undefined) {
    const text = options.prompt === undefined ? kText : await readFile(options.prompt, 'utf8');
    return (await tokenize(options.model, text, folder)).slice(0, options.tokens);
  }
  let ids;
  try {
    ids = JSON.parse(await readFile(options.ids, 'utf8'));
  } catch (error) {
    throw new UsageError(`${options.ids}: ${error.message}`);
  }
  if (!Array.isArray(ids) || !ids.every(Number.isInteger)) throw new UsageError(`${options.ids} is not an array of token ids`);
  return ids;
}

/** What sets a row apart from the first good one, or an empty string. */
function difference(row, reference) {
  if (row.error !== undefined) return `FAILED: ${row.error}`;
  const bits = ({ fingerprint, steps, ids }) => JSON.stringify([fingerprint, steps, ids]);
  if (bits(row) === bits(reference)) return '';
  const step = row.steps.findIndex((hash, i) => hash !== reference.steps[i]);
  return step < 0 ? 'DIFFERS' : `DIFFERS from step ${step + 1} of ${reference.steps.length}`;
}

const kColumns = [['build', 10], ['host', 8], ['kernel', 14], ['threads', 7], ['chunk', 5], ['fingerprint', 16]];
const line = (cells) => kColumns.map(([name, width]) => String(cells[name] ?? '').padEnd(width)).join('  ');

async function compare(options, folder) {
  const ids = await readIds(options, folder);
  if (ids.length === 0) throw new UsageError('The prompt has no tokens');
  if (!options.json) {
    console.log(`${path.basename(options.model)}: ${ids.length} prompt tokens, ${options.steps} steps\n`);
    console.log(line(Object.fromEntries(kColumns.map(([name]) => [name, name]))));
  }
  const rows = [];
  let reference = null;
  for (const host of options.hosts) {
    for await (const row of kHosts[host]({ ...options, ids, folder })) {
      if (row.error === undefined) reference ??= row;
      const mark = difference(row, reference);
      rows.push({ ...row, equal: mark === '' });
      if (!options.json) console.log(`${line(row)}  ${mark}`.trimEnd());
    }
  }
  const wrong = rows.filter((row) => !row.equal).length;
  if (options.json) console.log(JSON.stringify(rows, null, 1));
  else if (wrong === 0) console.log(`\nAll ${rows.length} rows are equal.`);
  else console.log(`\n${wrong} of ${rows.length} rows differ from the first or failed.`);
  return wrong === 0 && rows.length > 0 ? 0 : 1;
}

export async function main(args) {
  let folder = null;
  try {
    const options = parse(args);
    if (options === null) return console.log(kHelp);
    checkBuilt(options);
    folder = await mkdtemp(path.join(os.tmpdir(), 'bitwin-parity-'));
    process.exitCode = await compare(options, folder);
  } catch (error) {
    console.error(`parity: ${error.stderr?.trim() || error.message}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  } finally {
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  }
}
