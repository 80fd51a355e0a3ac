// tools/bench: the speed of the WebAssembly builds in Chromium beside that of the native program.

import { existsSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { chromiumRows, nativeRows } from './bench_runs.mjs';
import { findChromium } from './chromium.mjs';
import { inBuild, webPackage } from './paths.mjs';

const kHelp = `Usage: tools/bench -m MODEL [OPTION]...

Measures loading, prompt processing and generation of the native program and of the WebAssembly builds in Chromium, each
beside the machine's limits as the same build and threads reach them, and prints the ratios to the native program.
Exit status: 0 all ran, 1 some failed, 2 wrong usage or something is not built.

  -m, --model FILE          GGUF model
  -p, --prompt-tokens LIST  lengths of the prompts in tokens (default 96)
  -n, --gen-tokens N        tokens to generate after each prompt (default 32)
  -t, --threads LIST        thread counts (default 1,2)
  --builds LIST             of native, relaxed, simd128, scalar (default native,relaxed,simd128); scalar has one thread
  --repeat N                measurements of each, after a warm-up (default 3)
  --limit-mib N             memory to read for the bandwidth, far above the caches (default 1024)
  --json                    one JSON object instead of the table
  --help                    this text`;

const kBuilds = ['native', 'relaxed', 'simd128', 'scalar'];

class UsageError extends Error {}

const kOptions = {
  model: { type: 'string', short: 'm' },
  'prompt-tokens': { type: 'string', short: 'p', default: '96' },
  'gen-tokens': { type: 'string', short: 'n', default: '32' },
  threads: { type: 'string', short: 't', default: '1,2' },
  builds: { type: 'string', default: 'native,relaxed,simd128' },
  repeat: { type: 'string', default: '3' },
  'limit-mib': { type: 'string', default: '1024' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

function parse(args) {
  let values;
  try {
    ({ values } = parseArgs({ args, options: kOptions }));
  } catch (error) {
    throw new UsageError(error.message);
  }
  if (values.help) return null;
  if (values.model === undefined) throw new UsageError('Which model? tools/bench -m MODEL');
  if (!existsSync(values.model)) throw new UsageError(`There is no file ${values.model}`);
  const positive = (name, text = values[name]) => {
    if (!/^\d{1,9}$/.test(text) || Number(text) < 1) throw new UsageError(`--${name}: "${text}" is not a whole number from 1 on`);
    return Number(text);
  };
  const list = (name) => values[name].split(',').map((text) => positive(name, text));
  const builds = values.builds.split(',');
  for (const build of builds) {
    if (!kBuilds.includes(build)) throw new UsageError(`--builds: "${build}" is none of ${kBuilds.join(', ')}`);
  }
  return {
    model: path.resolve(values.model),
    prompts: list('prompt-tokens'),
    tokens: positive('gen-tokens'),
    threads: list('threads'),
    builds,
    repeat: positive('repeat'),
    limitMib: positive('limit-mib'),
    json: values.json,
  };
}

/** Names the command that makes what is missing. */
function checkBuilt({ builds }) {
  const need = (present, what, command) => {
    if (!present) throw new UsageError(`${what} is missing. Run: ${command}`);
  };
  if (builds.includes('native')) {
    need(existsSync(inBuild('native/bitwin')), inBuild('native/bitwin'), 'cmake --preset native && cmake --build --preset native');
  }
  const modules = builds.filter((build) => build !== 'native');
  if (modules.length === 0) return;
  for (const file of [...modules.map((build) => `wasm/bitwin-${build}.wasm`), 'sdk/index.js']) need(existsSync(inBuild(file)), inBuild(file), 'tools/test --only wasm');
  need(findChromium() !== undefined, 'Chromium', 'tools/setup');
  try {
    webPackage('playwright-core');
  } catch {
    need(false, 'playwright-core', 'npm --prefix web ci --ignore-scripts');
  }
}

/** The row with its shares of the limits, and its ratios to the native row of the same threads and prompt. */
function withShares(row, rows) {
  const native = [...rows, row].find((one) => one.build === 'native' && one.threads === row.threads && one.prompt_tokens === row.prompt_tokens);
  const prefill = row.prefill_tps.median;
  const decode = row.decode_tps.median;
  return {
    ...row,
    prefill_gmacs_per_thread: (row.macs_per_token * prefill) / row.threads / 1e9,
    prefill_peak_share: (row.macs_per_token * prefill) / (row.int8_gmacs * 1e9),
    decode_read_share: (row.weight_bytes_per_token * decode) / (row.read_gbps * 1e9),
    to_native: native === undefined ? null : {
      load: row.load_s / native.load_s,
      prefill: prefill / native.prefill_tps.median,
      decode: decode / native.decode_tps.median,
      read: row.read_gbps / native.read_gbps,
    },
  };
}

const fixed = (digits) => (value) => value.toFixed(digits);
const percent = (value) => `${(value * 100).toFixed(1)}%`;
const kColumns = [
  ['build', 11, (row) => row.build],
  ['threads', 7, (row) => String(row.threads)],
  ['prompt', 6, (row) => String(row.prompt_tokens)],
  ['load s', 6, (row) => fixed(2)(row.load_s)],
  ['MiB', 5, (row) => fixed(0)(row.memory_mib)],
  ['first ms', 8, (row) => fixed(0)(row.ttft_ms)],
  ['prefill t/s', 11, (row) => fixed(1)(row.prefill_tps.median)],
  ['GMAC/s/thr', 10, (row) => fixed(1)(row.prefill_gmacs_per_thread)],
  ['of peak', 7, (row) => percent(row.prefill_peak_share)],
  ['to native', 9, (row) => (row.to_native === null ? '-' : fixed(3)(row.to_native.prefill))],
  ['decode t/s', 10, (row) => fixed(1)(row.decode_tps.median)],
  ['of reads', 8, (row) => percent(row.decode_read_share)],
  ['to native', 9, (row) => (row.to_native === null ? '-' : fixed(3)(row.to_native.decode))],
  ['reads GB/s', 10, (row) => fixed(2)(row.read_gbps)],
  ['int8 GMAC/s', 11, (row) => fixed(1)(row.int8_gmacs)],
];
const line = (cell) => kColumns.map(([name, width, value], i) => (i === 0 ? cell(name, value).padEnd(width) : cell(name, value).padStart(width))).join('  ');

async function measure(options) {
  const { json, model, builds, prompts, tokens } = options;
  if (!json) {
    console.log(`${path.basename(model)}: ${tokens} tokens after each prompt, medians of ${options.repeat}\n`);
    console.log(line((name) => name));
  }
  const rows = [];
  let failed = 0;
  const sources = [];
  if (builds.includes('native')) sources.push(nativeRows({ ...options, prompts: prompts.join(',') }));
  const modules = builds.filter((build) => build !== 'native');
  if (modules.length > 0) sources.push(chromiumRows({ ...options, builds: modules }));
  for (const source of sources) {
    for await (const one of source) {
      const row = one.error === undefined ? withShares(one, rows) : one;
      rows.push(row);
      if (row.error !== undefined) failed += 1;
      if (!json) console.log(row.error === undefined ? line((_, value) => value(row)) : `${row.build}, ${row.threads} thread${row.threads > 1 ? 's' : ''}: FAILED: ${row.error}`);
    }
  }
  if (json) console.log(JSON.stringify({ model, rows }, null, 1));
  return failed === 0 && rows.length > 0 ? 0 : 1;
}

export async function main(args) {
  try {
    const options = parse(args);
    if (options === null) return console.log(kHelp);
    checkBuilt(options);
    process.exitCode = await measure(options);
  } catch (error) {
    console.error(`bench: ${error.message}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
