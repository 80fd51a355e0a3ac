// What the browser tests share: servers, a browser, models, and a page that notices whatever it should not do.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { launchChromium } from '../../tools/node/chromium.mjs';
import { inBuild } from '../../tools/node/paths.mjs';
import { startServer } from '../../tools/node/server.mjs';

export const tiny = path.resolve(process.env.BITWIN_TINY || inBuild('tiny/mixed.gguf'));
export const smollm2 = process.env.BITWIN_SMOLLM2 ? path.resolve(process.env.BITWIN_SMOLLM2) : null;

for (const [file, how] of [
  [tiny, `build/native/tests/make-tiny-model ${tiny}`],
  [inBuild('web/index.html'), 'npm --prefix web run build'],
  [inBuild('native/bitwin'), 'cmake --build --preset native'],
]) {
  if (!existsSync(file)) throw new Error(`${file} is missing: ${how}`);
}

/** The native program's greedy answer to a first question. */
export async function nativeAnswer(model, question, maxTokens, extra = []) {
  const args = ['run', '-m', model, '--max-tokens', String(maxTokens), ...extra, question];
  const { stdout } = await promisify(execFile)(inBuild('native/bitwin'), args, { env: { ...process.env, NO_COLOR: '1' } });
  return stdout.replace(/\n$/, '');
}

/** A server of the page, and of the models' folders under /models/. */
export function servePage(options = {}) {
  const folders = [...new Set([tiny, smollm2].filter(Boolean).map((file) => path.dirname(file)))];
  const mounts = [...folders.map((folder) => ['/models/', folder]), ['/', inBuild('web')]];
  return startServer({ mounts, ...options });
}

export const modelUrl = (server, model) => `${server.origin}/models/${path.basename(model)}`;

let browser = null;
export async function openBrowser() {
  browser ??= await launchChromium();
  return browser;
}
export async function closeBrowser() {
  await browser?.close();
  browser = null;
}

/**
 * The page, freshly opened. `faults` collects console errors, uncaught errors, violations of the content security policy
 * and requests to other origins; expectFaults(pattern) takes those away that a test provokes.
 */
export async function openPage(server, { viewport = { width: 1000, height: 800 }, query = '' } = {}) {
  const context = await (await openBrowser()).newContext({ viewport });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`));
  context.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(server.origin) && !/^(data|blob):/.test(url)) faults.push(`request to another origin: ${url}`);
  });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  await page.goto(`${server.origin}/${query}`);
  await page.waitForSelector('body[data-state=empty]');
  return {
    page,
    faults,
    expectFaults: (pattern) => faults.splice(0, faults.length, ...faults.filter((fault) => !pattern.test(fault))),
    /** Every test ends with this: nothing happened that should not. */
    async close() {
      await context.close();
      assert.deepEqual(faults, []);
    },
  };
}

export async function waitForState(page, state, timeout = 60_000) {
  await page.waitForSelector(`body[data-state=${state}]`, { timeout });
}

/** Waits until the model answers questions; fails with the page's own error message. */
export async function waitForModel(page, timeout = 120_000) {
  await page.waitForSelector('body[data-state=ready], #error:not([hidden])', { timeout });
  if (await page.locator('#error').isVisible()) assert.fail(`the page says: ${await page.locator('#error-text').textContent()}`);
}

export async function loadFile(page, file) {
  await page.setInputFiles('#file', file);
  await waitForModel(page);
}

export async function setSettings(page, settings) {
  await page.evaluate(() => (document.getElementById('settings').open = true));
  for (const [id, value] of Object.entries(settings)) {
    if (id === 'build') await page.selectOption('#build', value);
    else await page.fill(`#${id}`, String(value));
  }
}

/** Asks a question and gives the finished answer: {text, stats}. */
export async function ask(page, question, timeout = 120_000) {
  const before = await page.locator('.message.assistant').count();
  await page.fill('#prompt', question);
  await page.press('#prompt', 'Enter');
  const message = page.locator('.message.assistant').nth(before);
  await message.waitFor({ timeout });
  await page.waitForSelector('body[data-state=ready]', { timeout });
  return { text: await message.locator('.text').textContent(), stats: await message.locator('.stats').textContent() };
}

/** The error that the page shows. */
export async function shownError(page) {
  await page.waitForSelector('#error:not([hidden])', { timeout: 60_000 });
  return page.locator('#error-text').textContent();
}
