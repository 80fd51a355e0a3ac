// The page takes a model from a file, an address or a drop, and says clearly what is wrong with one that it cannot take.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import {
  ask, closeBrowser, loadFile, modelUrl, openPage, servePage, setSettings, shownError, tiny, waitForModel, waitForState,
} from './support.mjs';

let server;
let folder;
let bytes;

/** Answers with half of the model; `end` says what comes then. */
const half = (end) => (_request, response, headers) => {
  response.writeHead(200, { ...headers, 'Content-Type': 'application/octet-stream', 'Content-Length': bytes.length });
  response.write(bytes.subarray(0, bytes.length >> 1));
  end(response);
};

before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'bitwin-load-'));
  bytes = await readFile(tiny);
  server = await servePage({
    routes: {
      '/page.gguf': (_request, response, headers) => {
        response.writeHead(200, { ...headers, 'Content-Type': 'text/html; charset=utf-8' });
        response.end('<!doctype html><title>Sign in</title>');
      },
      '/hangs.gguf': half(() => {}),
      '/breaks.gguf': half((response) => setTimeout(() => response.destroy(), 1000)),
    },
  });
});
after(async () => {
  await closeBrowser();
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

async function file(name, content) {
  const name_ = path.join(folder, name);
  await writeFile(name_, content);
  return name_;
}

/** The page still takes a good model and answers. */
async function stillWorks(page) {
  await loadFile(page, tiny);
  await setSettings(page, { temperature: 0, 'max-tokens': 4 });
  const { stats } = await ask(page, 'hello');
  assert.match(stats, /4 written/);
}

test('a model loads from the file picker', async () => {
  const { page, close } = await openPage(server);
  await loadFile(page, tiny);
  assert.match(await page.locator('#model').textContent(), /parameters · .* in memory · kernel wasm-relaxed/);
  assert.match(await page.locator('#engine').textContent(), /^relaxed/);
  await close();
});

test('a model loads from an address, with progress', async () => {
  const { page, close } = await openPage(server);
  await page.evaluate(() => {
    window.seen = [];
    new MutationObserver(() => window.seen.push(document.getElementById('loading-text').textContent)).observe(
      document.getElementById('loading-text'), { childList: true });
  });
  await page.fill('#url', modelUrl(server, tiny));
  await page.press('#url', 'Enter');
  await waitForModel(page);
  const seen = await page.evaluate(() => window.seen.filter(Boolean));
  assert.match(seen.at(-1), /^[\d.]+ [kM]B of [\d.]+ [kM]B, [\d.]+ [kMG]?B\/s$/);
  await close();
});

test('a model loads by drag and drop', async () => {
  const { page, close } = await openPage(server);
  const transfer = await page.evaluateHandle(async (url) => {
    const data = new DataTransfer();
    data.items.add(new File([await (await fetch(url)).arrayBuffer()], 'dropped.gguf'));
    return data;
  }, modelUrl(server, tiny));
  await page.dispatchEvent('#drop', 'dragover', { dataTransfer: transfer });
  assert.equal(await page.locator('body.dragging').count(), 1);
  await page.dispatchEvent('#drop', 'drop', { dataTransfer: transfer });
  await waitForModel(page);
  assert.equal(await page.locator('body.dragging').count(), 0);
  await close();
});

const badFiles = [
  ['a file that is cut off', 'cut.gguf', () => bytes.subarray(0, Math.floor(bytes.length * 0.7)), /incomplete|ends|bytes/i],
  ['a file with a damaged header', 'header.gguf', () => Buffer.concat([bytes.subarray(0, 8), Buffer.alloc(16, 0xff), bytes.subarray(24)]), /tensor|count|entries|bytes|key/i],
  ['a web page', 'page.gguf', () => Buffer.from('<!doctype html><title>Not found</title>'), /GGUF/],
  ['an empty file', 'empty.gguf', () => Buffer.alloc(0), /empty|GGUF|0 bytes/i],
];
for (const [what, name, content, message] of badFiles) {
  test(`${what} is refused with a clear error, and the page goes on`, async () => {
    const { page, close } = await openPage(server);
    await page.setInputFiles('#file', await file(name, content()));
    assert.match(await shownError(page), message);
    await waitForState(page, 'empty');
    await stillWorks(page);
    assert.equal(await page.locator('#error').isVisible(), false);
    await close();
  });
}

const badAddresses = [
  ['an address that answers with a web page', '/page.gguf', /is a web page \(text\/html/, null],
  ['an address that is not there', '/models/none.gguf', /HTTP status 404/, /404/],
  ['a download that breaks off', '/breaks.gguf', /broke off after [1-9]\d* bytes/, /ERR_/],
];
for (const [what, address, message, fault] of badAddresses) {
  test(`${what} is refused with a clear error, and the page goes on`, async () => {
    const { page, expectFaults, close } = await openPage(server);
    await page.fill('#url', server.origin + address);
    await page.press('#url', 'Enter');
    assert.match(await shownError(page), message);
    await waitForState(page, 'empty');
    await stillWorks(page);
    if (fault !== null) expectFaults(fault);
    await close();
  });
}

test('a load that hangs can be cancelled', async () => {
  const { page, close } = await openPage(server);
  await page.fill('#url', `${server.origin}/hangs.gguf`);
  await page.press('#url', 'Enter');
  await waitForState(page, 'loading');
  await page.click('#cancel');
  await waitForState(page, 'empty', 2000);
  assert.equal(await page.locator('#error').isVisible(), false);
  await stillWorks(page);
  await close();
});

test('another model takes the place of the first', async () => {
  const { page, close } = await openPage(server);
  await loadFile(page, tiny);
  await page.click('#change');
  await waitForState(page, 'empty');
  await stillWorks(page);
  // The first model's worker is gone, and with it its memory.
  const engines = () => page.workers().filter((worker) => /\/assets\/worker/.test(worker.url())).length;
  for (let i = 0; engines() > 1 && i < 50; ++i) await page.waitForTimeout(100);
  assert.equal(engines(), 1);
  await close();
});
