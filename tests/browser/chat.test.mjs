// The page streams answers that are the native program's to the letter, stops at once, and goes on afterwards.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  ask, closeBrowser, loadFile, modelUrl, nativeAnswer, openPage, servePage, setSettings, shownError, smollm2, tiny,
  waitForModel, waitForState,
} from './support.mjs';

let server;
let plainServer;

before(async () => {
  server = await servePage();
  plainServer = await servePage({ isolated: false });
});
after(async () => {
  await closeBrowser();
  await server?.close();
  await plainServer?.close();
});

const kQuestion = 'What is the capital of France?';
const kBuilds = ['relaxed-mt', 'relaxed', 'simd128-mt', 'simd128', 'scalar'];

for (const build of kBuilds) {
  test(`the ${build} build gives the native program's answer`, async () => {
    const { page, close } = await openPage(server);
    await setSettings(page, { build, threads: 2, temperature: 0, 'max-tokens': 24 });
    await loadFile(page, tiny);
    const threads = build.endsWith('-mt') ? '2 threads' : '1 thread';
    assert.equal(await page.locator('#engine').textContent(), `${build} build, ${threads}`);
    const kernel = `kernel wasm-${build.replace('-mt', '')}`;
    assert.ok((await page.locator('#model').textContent()).endsWith(kernel));
    const { text } = await ask(page, kQuestion);
    assert.equal(text, await nativeAnswer(tiny, kQuestion, 24, ['--temp', '0']));
    await close();
  });
}

test('a sampled answer with a seed and a system message is the native one', async () => {
  const { page, close } = await openPage(server);
  const system = 'You are terse.';
  await setSettings(page, { system, temperature: 0.9, 'top-p': 0.9, 'top-k': 50, seed: '12345678901234567890', 'max-tokens': 24 });
  await loadFile(page, tiny);
  const { text } = await ask(page, kQuestion);
  const flags = ['--system', system, '--temp', '0.9', '--top-p', '0.9', '--top-k', '50', '--seed', '12345678901234567890'];
  assert.equal(text, await nativeAnswer(tiny, kQuestion, 24, flags));
  await close();
});

test('without cross-origin isolation the page answers the same with one thread', async () => {
  const { page, close } = await openPage(plainServer);
  assert.match(await page.locator('#engine').textContent(), /not cross-origin isolated/);
  await setSettings(page, { temperature: 0, 'max-tokens': 24 });
  await page.fill('#url', modelUrl(plainServer, tiny));
  await page.press('#url', 'Enter');
  await waitForModel(page);
  assert.equal(await page.locator('#engine').textContent(), 'relaxed build, 1 thread');
  assert.equal((await ask(page, kQuestion)).text, await nativeAnswer(tiny, kQuestion, 24, ['--temp', '0']));
  await close();
});

test('an answer streams in pieces and ends with its speed', async () => {
  const { page, close } = await openPage(server);
  await setSettings(page, { temperature: 0, 'max-tokens': 64 });
  await loadFile(page, tiny);
  await page.evaluate(() => {
    window.lengths = new Set();
    new MutationObserver(() => {
      window.lengths.add(document.querySelector('.message.assistant .text')?.textContent.length ?? 0);
    }).observe(document.getElementById('log'), { childList: true, characterData: true, subtree: true });
  });
  const { stats } = await ask(page, kQuestion);
  assert.ok((await page.evaluate(() => window.lengths.size)) > 4);
  assert.match(stats, /^[\d.]+ tokens\/s · first token after [\d.]+ s · \d+ tokens read, 64 written · ended at the maximum/);
  await close();
});

test('a conversation remembers, and a new chat forgets', async () => {
  const { page, close } = await openPage(server);
  await setSettings(page, { temperature: 0, 'max-tokens': 16 });
  await loadFile(page, tiny);
  const first = await ask(page, kQuestion);
  const second = await ask(page, kQuestion);
  assert.notEqual(second.text, first.text);
  await page.click('#new-chat');
  assert.equal(await page.locator('.message').count(), 0);
  assert.equal((await ask(page, kQuestion)).text, first.text);
  await close();
});

test('what is said is shown as text, never as markup', async () => {
  const { page, close } = await openPage(server);
  await setSettings(page, { temperature: 0, 'max-tokens': 4 });
  await loadFile(page, tiny);
  const markup = '<img src=x onerror="document.title=1"><b>bold</b>';
  await ask(page, markup);
  assert.equal(await page.locator('.message.user .text').textContent(), markup);
  assert.equal(await page.locator('.message img, .message b').count(), 0);
  await close();
});

test('a setting out of range is named and nothing is sent', async () => {
  const { page, close } = await openPage(server);
  await loadFile(page, tiny);
  await setSettings(page, { 'top-p': 7 });
  await page.fill('#prompt', 'hello');
  await page.press('#prompt', 'Enter');
  assert.match(await shownError(page), /"Top p" is not valid/);
  assert.equal(await page.locator('.message').count(), 0);
  await setSettings(page, { 'top-p': 0.9, 'max-tokens': 2 });
  await ask(page, 'hello');
  await close();
});

test('a question longer than the context is refused with both numbers', async () => {
  const { page, close } = await openPage(server);
  await setSettings(page, { temperature: 0, 'max-tokens': 2 });
  await loadFile(page, tiny);
  await page.fill('#prompt', '9'.repeat(3000));
  await page.press('#prompt', 'Enter');
  assert.match(await shownError(page), /\d+.*1,?024/);
  await waitForState(page, 'ready');
  await page.click('#new-chat');
  assert.match((await ask(page, 'hello')).stats, /2 written/);
  await close();
});

/** Lets the engine's module be wrapped: `wrap` is JavaScript over the names `real` (its factory) and `settings`. */
async function wrapModule(page, wrap) {
  await page.route(/\/bitwin-relaxed\.js(\?real)?$/, async (route) => {
    if (route.request().url().endsWith('?real')) return route.continue();
    const body = `import real from './bitwin-relaxed.js?real';\nexport default async (settings) => { ${wrap} };`;
    return route.fulfill({ contentType: 'text/javascript', headers: { 'Cross-Origin-Embedder-Policy': 'require-corp' }, body });
  });
}

const crashes = [
  ['a module that traps', `const module = await real(settings);
    module._bitwin_session_step = () => { throw new WebAssembly.RuntimeError('unreachable'); };
    return module;`, /engine crashed: unreachable/],
  ['a worker that dies', `const module = await real(settings);
    module._bitwin_session_step = () => { setTimeout(() => { throw new Error('deliberate'); }); return 0; };
    return module;`, /worker failed: .*deliberate/],
];
for (const [what, wrap, message] of crashes) {
  test(`${what} is reported, and a model can be loaded again`, async () => {
    const { page, expectFaults, close } = await openPage(server);
    await setSettings(page, { build: 'relaxed', temperature: 0, 'max-tokens': 4 });
    await wrapModule(page, wrap);
    await loadFile(page, tiny);
    await page.fill('#prompt', 'hello');
    await page.press('#prompt', 'Enter');
    assert.match(await shownError(page), message);
    await waitForState(page, 'empty');
    await page.unrouteAll();
    await loadFile(page, tiny);
    assert.match((await ask(page, 'hello')).stats, /4 written/);
    expectFaults(/deliberate/);
    await close();
  });
}

test('on a phone nothing is wider than the screen', async () => {
  const { page, close } = await openPage(server, { viewport: { width: 340, height: 640 } });
  const widths = () => page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  const fits = async () => {
    const [content, screen] = await widths();
    assert.ok(content <= screen, `${content} pixels on a screen of ${screen}`);
  };
  await fits();
  await setSettings(page, { temperature: 0, 'max-tokens': 8 });
  await loadFile(page, tiny);
  await ask(page, 'w'.repeat(100));
  await fits();
  await close();
});

/** Clicks Stop (or presses Escape) as soon as the answer's element fits; gives the milliseconds until the page is ready. */
async function stopWhen(page, selector, pattern, question) {
  await page.evaluate(({ selector: wanted, source }) => {
    const expression = new RegExp(source);
    const observer = new MutationObserver(() => {
      const all = [...document.querySelectorAll(wanted)];
      if (!expression.test(all.at(-1)?.textContent ?? '')) return;
      observer.disconnect();
      window.stoppedAt = performance.now();
      document.getElementById('stop').click();
    });
    observer.observe(document.getElementById('log'), { childList: true, characterData: true, subtree: true });
    new MutationObserver(() => {
      if (document.body.dataset.state === 'ready') window.readyAt = performance.now();
    }).observe(document.body, { attributes: true });
  }, { selector, source: pattern.source });
  const answer = await ask(page, question);
  return { ...answer, milliseconds: await page.evaluate(() => window.readyAt - window.stoppedAt) };
}

const models = [{ name: 'the tiny model', file: tiny, prompt: '9'.repeat(900), tokens: 100 }];
if (smollm2 !== null) models.push({ name: 'SmolLM2', file: smollm2, prompt: 'word '.repeat(1500), tokens: 400 });

for (const { name, file, prompt, tokens } of models) {
  describe(name, () => {
    test('stops in prompt processing at once, and can answer again', async () => {
      const { page, close } = await openPage(server);
      await setSettings(page, { temperature: 0, 'max-tokens': 8 });
      await loadFile(page, file);
      const { text, stats, milliseconds } = await stopWhen(page, '.message.assistant .stats', /Reading: \d+ of/, prompt);
      assert.equal(text, '');
      assert.match(stats, /0 written · stopped$/);
      assert.ok(milliseconds < 1000, `the stop took ${milliseconds} ms`);
      await page.click('#new-chat');
      assert.equal((await ask(page, kQuestion)).text, await nativeAnswer(file, kQuestion, 8, ['--temp', '0']));
      await close();
    });

    test('stops in decoding at once, and can answer again', async () => {
      const { page, close } = await openPage(server);
      await setSettings(page, { temperature: 0, 'max-tokens': tokens });
      await loadFile(page, file);
      const { text, stats, milliseconds } = await stopWhen(page, '.message.assistant .text', /./, 'Count to one hundred.');
      assert.notEqual(text, '');
      assert.match(stats, /stopped$/);
      assert.ok(Number(/(\d+) written/.exec(stats)[1]) < tokens, stats);
      assert.ok(milliseconds < 1000, `the stop took ${milliseconds} ms`);
      await setSettings(page, { 'max-tokens': 4 });
      assert.match((await ask(page, 'And now?')).stats, /written/);
      await close();
    });
  });
}

test('SmolLM2 answers as natively', { skip: smollm2 === null && 'BITWIN_SMOLLM2 names no file' }, async () => {
  const { page, close } = await openPage(server);
  await setSettings(page, { temperature: 0, 'max-tokens': 32 });
  await loadFile(page, smollm2);
  const { text } = await ask(page, kQuestion);
  assert.match(text, /Paris/);
  assert.equal(text, await nativeAnswer(smollm2, kQuestion, 32, ['--temp', '0']));
  await close();
});
