// The runs of tools/bench: rows {build, host, kernel, threads, prompt_tokens, gen_tokens, prefill_tps, decode_tps, ttft_ms,
// load_s, memory_mib, read_gbps, int8_gmacs, weight_bytes_per_token, macs_per_token} or {build, host, threads, error}.

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { openProfile } from './chromium.mjs';
import { inBuild } from './paths.mjs';
import { processTree, proportionalBytes } from './processes.mjs';
import { startServer } from './server.mjs';

const kMiB = 1 << 20;
const kWarmUpTokens = 8;

const kText = `The ferry leaves the small harbour at seven in the morning, carries letters, bread and a few travellers across
the bay, and comes back before noon, unless the fog is so thick that its captain prefers to wait for the wind. `;

/** Median, least and greatest, as bitwin bench gives them. */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  return { median: (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2, min: sorted[0], max: sorted[n - 1] };
}

export async function* nativeRows({ model, prompts, tokens, threads, repeat, limitMib }) {
  for (const count of threads) {
    const args = ['bench', '-m', model, '-p', prompts, '-n', tokens, '-t', count, '--repeat', repeat, '--limit-mib', limitMib, '--json'];
    const row = { build: 'native', host: 'native', threads: count };
    try {
      const { stdout } = await promisify(execFile)(inBuild('native/bitwin'), args.map(String), { maxBuffer: 64 << 20 });
      const { kernel, weight_bytes_per_token, macs_per_token, runs } = JSON.parse(stdout);
      for (const run of runs) {
        // Of the native program the peak, which counts shared libraries in full.
        yield { ...row, kernel, ...run, memory_mib: run.peak_mib, weight_bytes_per_token, macs_per_token };
      }
    } catch (error) {
      yield { ...row, error: error.stderr?.trim() || error.message };
    }
  }
}

// The page: it copies the model into the origin private file system once, as a page does that keeps its model, and loads it
// from there. What it measures is what the SDK's worker measures for every page.
const kHarness = `<!doctype html><title>bench</title><link rel="icon" href="data:,"><script type="module">
import { load } from '/sdk/index.js';
const root = await navigator.storage.getDirectory();
let model = null;
let ids = [];
window.bench = {
  async store(url) {
    const handle = await root.getFileHandle('model.gguf', { create: true });
    await (await fetch(url)).body.pipeTo(await handle.createWritable());
    // Once through, so that the page cache holds it.
    for (const reader = (await handle.getFile()).stream().getReader(); !(await reader.read()).done;) continue;
  },
  async load(build, threads, text) {
    const file = await (await root.getFileHandle('model.gguf')).getFile();
    const start = performance.now();
    model = await load(file, { modules: '/wasm/', build, threads });
    const seconds = (performance.now() - start) / 1000;
    ids = await model.tokenize(text);
    return { seconds, info: model.info };
  },
  async run(prompt, tokens) {
    const { timings } = await model.continueIds(Array.from({ length: prompt }, (_, i) => ids[i % ids.length]), tokens + 1);
    return timings;
  },
  limits: (bytes) => model.limits(bytes),
};
</script>`;

async function measurePage(page, memory, { build, threads, prompts, tokens, repeat, limitMib }) {
  const call = (name, ...args) => page.evaluate(([method, values]) => window.bench[method](...values), [name, args]);
  const { seconds, info } = await call('load', build, threads, kText);
  // V8 replaces the code of a function from one call to the next, some time after it has become busy.
  for (let i = 0; i < 2; ++i) await call('run', Math.min(prompts[0], 64), Math.min(tokens, kWarmUpTokens));
  // The first of each before limits are measured, since wasm memory never shrinks.
  const firsts = [];
  for (const prompt of prompts) {
    firsts.push({ prompt, time: await call('run', prompt, tokens), used: (await memory()) / kMiB });
  }
  const rows = [];
  for (const { prompt, time, used } of firsts) {
    const times = [time];
    const limits = [];
    for (let i = 0; i < repeat; ++i) {
      if (i > 0) times.push(await call('run', prompt, tokens));
      // Beside each repeat, since what a shared machine can do changes from one moment to the next.
      limits.push(await call('limits', limitMib * kMiB));
    }
    const median = (key) => spread(limits.map((one) => one[key])).median;
    const { weight_bytes_per_token, macs_per_token } = limits[0];
    rows.push({
      kernel: info.kernel,
      threads: info.threads,
      prompt_tokens: prompt,
      gen_tokens: tokens,
      prefill_tps: spread(times.map(({ timeToFirstToken }) => prompt / timeToFirstToken)),
      decode_tps: spread(times.map(({ tokensPerSecond }) => tokensPerSecond)),
      ttft_ms: spread(times.map(({ timeToFirstToken }) => timeToFirstToken * 1000)).median,
      load_s: seconds,
      memory_mib: used,
      read_gbps: median('read_bytes_per_second') / 1e9,
      int8_gmacs: median('macs_per_second') / 1e9,
      weight_bytes_per_token,
      macs_per_token,
    });
  }
  return rows;
}

/** `builds`: of relaxed, simd128 and scalar; with more than one thread the build with threads is taken. */
export async function* chromiumRows({ builds, threads, model, ...settings }) {
  const server = await startServer({
    mounts: [['/sdk/', inBuild('sdk')], ['/wasm/', inBuild('wasm')], ['/model/', path.dirname(model)]],
    routes: {
      '/': (_request, response, headers) => {
        response.writeHead(200, { ...headers, 'Content-Type': 'text/html; charset=utf-8' });
        response.end(kHarness);
      },
    },
  });
  // A profile on the disk: without one the file system of a page is in memory.
  const profile = await mkdtemp(path.join(os.tmpdir(), 'bitwin-bench-'));
  const context = await openProfile(profile);
  // Of the process that holds the page and its worker; the other renderers are empty.
  const memory = async () => {
    const processes = await processTree((command) => command.includes(`--user-data-dir=${profile}\0`));
    const renderers = processes.filter(({ command }) => command.includes('--type=renderer'));
    return Math.max(...(await Promise.all(renderers.map(({ pid }) => proportionalBytes(pid)))));
  };
  const openPage = async () => {
    const page = await context.newPage();
    await page.goto(server.origin);
    await page.waitForFunction('!!window.bench');
    return page;
  };
  try {
    // In a page of its own, whose memory goes with it. The context's first, empty page stays: Chromium ends with its last.
    const page = await openPage();
    await page.evaluate((url) => window.bench.store(url), `/model/${encodeURIComponent(path.basename(model))}`);
    await page.close();
    for (const build of builds) {
      for (const count of build === 'scalar' ? [1] : threads) {
        const name = count > 1 ? `${build}-mt` : build;
        const row = { build: name, host: 'chromium', threads: count };
        let page = null;
        try {
          page = await openPage();
          for (const result of await measurePage(page, memory, { build: name, threads: count, ...settings })) yield { ...row, ...result };
        } catch (error) {
          yield { ...row, error: error.message.split('\n')[0].replace(/^page\.evaluate: (BitwinError: )?/, '') };
        } finally {
          await page?.close();
        }
      }
    }
  } finally {
    await context.close();
    await server.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
