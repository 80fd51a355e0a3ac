// The runs of tools/parity: each gives rows {build, host, kernel, threads, chunk, fingerprint, ids, steps} or {..., error}.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { launchChromium } from './chromium.mjs';
import { inBuild } from './paths.mjs';
import { startServer } from './server.mjs';

const run = promisify(execFile);
const kLimit = { maxBuffer: 64 << 20 };
const kBuilds = ['scalar', 'simd128', 'simd128-mt', 'relaxed', 'relaxed-mt'];

/** The builds with the thread counts that each can have. */
function wasmRuns(threads) {
  return kBuilds.flatMap((build) => (build.endsWith('-mt') ? threads : [1]).map((count) => ({ build, threads: count })));
}

/** What a failed command said last, else the error itself. */
function reason(error) {
  const lines = (error.stderr ?? '').trim().split('\n');
  return lines.findLast((line) => /error/i.test(line)) ?? (lines.at(-1) || error.message);
}

async function* rowsOf(run, chunks, compute) {
  try {
    for (const row of await compute()) yield { ...run, ...row };
  } catch (error) {
    for (const chunk of chunks) yield { ...run, chunk: chunk || 'all', error: reason(error) };
  }
}

const kNative = [inBuild('native/bitwin')];
const kArm = ['qemu-aarch64', '-cpu', 'max', inBuild('arm64/bitwin')];
const call = ([file, ...first], args) => run(file, [...first, ...args], kLimit);

async function kernelsOf(program) {
  const { stdout } = await call(program, ['info', '--kernels']);
  return stdout.split('\n').filter(Boolean);
}
export const nativeKernels = () => kernelsOf(kNative);

export async function tokenize(model, text, folder) {
  const file = path.join(folder, 'text.jsonl');
  await writeFile(file, `${JSON.stringify({ text, parse_special: false, add_bos: false })}\n`);
  const { stdout } = await call(kNative, ['tokenize', '-m', model, '--jsonl', file]);
  return JSON.parse(stdout);
}

async function* programRows(host, program, { model, ids, steps, threads, chunks, folder }) {
  const file = path.join(folder, 'ids.json');
  await writeFile(file, JSON.stringify(ids));
  for (const kernel of await kernelsOf(program)) {
    for (const count of threads) {
      for (const chunk of chunks) {
        const args = ['parity', '-m', model, '--ids', file, '-n', steps, '--kernel', kernel, '--threads', count];
        const command = [...args, '--chunk', chunk || 'all'].map(String);
        const row = { build: 'native', host, kernel, threads: count };
        yield* rowsOf(row, [chunk], async () => [JSON.parse((await call(program, command)).stdout)]);
      }
    }
  }
}
export const nativeRows = (settings) => programRows('native', kNative, settings);

/** The program for 64-bit Arm, emulated. */
export const armRows = (settings) => programRows('arm64', kArm, settings);

/** A Node whose baseline compiler computes relaxed SIMD rightly (22 or newer), else this one. */
export function findNode() {
  const major = Number(process.versions.node.split('.')[0]);
  const other = process.env.BITWIN_NODE && path.join(process.env.BITWIN_NODE, 'bin/node');
  if (major < 22 && other && existsSync(other)) return { node: other, relaxed: true };
  return { node: process.execPath, relaxed: major >= 22 };
}

export async function* nodeRows({ model, ids, steps, threads, chunks }) {
  const { node, relaxed } = findNode();
  if (!relaxed) {
    console.error(`parity: Node ${process.versions.node} computes relaxed SIMD wrongly, so the relaxed builds run in ` +
      'Chromium only; Node 22 (. tools/env.sh) runs them too');
  }
  for (const { build, threads: count } of wasmRuns(threads)) {
    if (build.startsWith('relaxed') && !relaxed) continue;
    const settings = JSON.stringify({ build, threads: count, model, ids, steps, chunks });
    const script = new URL('parity_node.mjs', import.meta.url).pathname;
    const row = { build, host: 'node', kernel: '', threads: count };
    yield* rowsOf(row, chunks, async () => {
      const { stdout } = await run(node, [script, settings], kLimit);
      return stdout.trim().split('\n').map((line) => JSON.parse(line));
    });
  }
}

const kHarness = `<!doctype html><title>parity</title><link rel="icon" href="data:,"><script type="module">
import { load } from '/sdk/index.js';
window.run = async ({ url, build, threads, ids, steps, chunks }) => {
  const model = await load(url, { modules: '/wasm/', build, threads });
  const rows = [];
  for (const chunk of chunks) rows.push(await model.parity(ids, steps, chunk));
  model.dispose();
  return rows;
};
</script>`;

export async function* chromiumRows({ model, ids, steps, threads, chunks }) {
  const server = await startServer({
    mounts: [['/sdk/', inBuild('sdk')], ['/wasm/', inBuild('wasm')], ['/model/', path.dirname(model)]],
    routes: {
      '/': (_request, response, headers) => {
        response.writeHead(200, { ...headers, 'Content-Type': 'text/html; charset=utf-8' });
        response.end(kHarness);
      },
    },
  });
  const browser = await launchChromium();
  try {
    const url = `${server.origin}/model/${encodeURIComponent(path.basename(model))}`;
    for (const { build, threads: count } of wasmRuns(threads)) {
      const row = { build, host: 'chromium', kernel: '', threads: count };
      yield* rowsOf(row, chunks, async () => {
        const page = await browser.newPage();
        try {
          await page.goto(server.origin);
          await page.waitForFunction('!!window.run');
          return await page.evaluate((settings) => window.run(settings), { url, build, threads: count, ids, steps, chunks });
        } finally {
          await page.close();
        }
      });
    }
  } finally {
    await browser.close();
    await server.close();
  }
}
