// The page: open a model, talk to it.

import {
  BitwinError,
  type Chat,
  type Model,
  type Source,
  chooseBuild,
  defaultThreads,
  detectFeatures,
  load,
} from '../sdk/index.js';
import { button, element, input, textarea } from './dom.js';
import { formatBytes, formatCount } from './format.js';
import { generateOptions, loadOptions, showBuilds, showDefaults, systemMessage } from './settings.js';
import { AnswerView, addQuestion, clearTranscript } from './transcript.js';

/** The folder of the engine's modules, relative to the page; set by vite.config.ts. */
declare const __BITWIN_MODULES__: string;

type State = 'empty' | 'loading' | 'ready' | 'answering';

const composer = element('composer', HTMLFormElement);
const prompt = textarea('prompt');
const engineLine = element('engine', HTMLElement);
const modelLine = element('model', HTMLElement);
const loadingTitle = element('loading-title', HTMLElement);
const loadingText = element('loading-text', HTMLElement);
const progress = element('progress', HTMLProgressElement);
const errorBox = element('error', HTMLElement);
const errorText = element('error-text', HTMLElement);
const file = input('file');
const url = input('url');

const features = detectFeatures();

let state: State = 'empty';
let model: Model | null = null;
let chat: Chat | null = null;
let stopping: AbortController | null = null;
let loading: AbortController | null = null;

function show(next: State): void {
  state = next;
  const hasModel = state === 'ready' || state === 'answering';
  document.body.dataset['state'] = state;
  element('open', HTMLElement).hidden = state !== 'empty';
  element('loading', HTMLElement).hidden = state !== 'loading';
  element('chat', HTMLElement).hidden = !hasModel;
  composer.hidden = !hasModel;
  button('change').hidden = !hasModel;
  button('new-chat').hidden = state !== 'ready';
  button('send').hidden = state === 'answering';
  button('stop').hidden = state !== 'answering';
}

function showError(thrown: unknown): void {
  errorText.textContent = thrown instanceof Error ? thrown.message : String(thrown);
  errorBox.hidden = false;
  errorBox.scrollIntoView({ block: 'nearest' });
}

function clearError(): void {
  errorBox.hidden = true;
}

/** Gives the model's memory back and returns to the first panel. */
function closeModel(): void {
  model?.dispose();
  model = null;
  chat = null;
  clearTranscript();
  showEngine();
  show('empty');
}

function showEngine(): void {
  if (model !== null) {
    engineLine.textContent = `${model.build} build, ${model.info.threads} thread${model.info.threads === 1 ? '' : 's'}`;
  } else {
    engineLine.textContent = features.threads ? '' : 'One thread: this page is not cross-origin isolated.';
  }
}

async function openModel(source: Source, name: string): Promise<void> {
  loading?.abort();
  clearError();
  closeModel();
  const controller = new AbortController();
  loading = controller;
  loadingTitle.textContent = `Loading ${name}`;
  loadingText.textContent = '';
  progress.removeAttribute('value');
  show('loading');
  try {
    const loaded = await load(source, {
      ...loadOptions(),
      modules: __BITWIN_MODULES__,
      signal: controller.signal,
      onProgress: ({ loaded: done, total, bytesPerSecond }) => {
        if (total > 0) progress.value = Math.min(done / total, 1);
        const whole = total > 0 ? ` of ${formatBytes(total)}` : '';
        loadingText.textContent = `${formatBytes(done)}${whole}, ${formatBytes(Math.round(bytesPerSecond))}/s`;
      },
    });
    model = loaded;
  } catch (error) {
    if (loading !== controller) return; // another load has taken over
    show('empty');
    if (!(error instanceof BitwinError && error.code === 'cancelled')) showError(error);
    return;
  } finally {
    if (loading === controller) loading = null;
  }
  const { info } = model;
  modelLine.textContent = [
    info.name || name,
    `${formatCount(info.parameters)} parameters`,
    `${formatBytes(info.packed_bytes)} in memory`,
    `kernel ${info.kernel}`,
  ].join(' · ');
  showDefaults(info);
  showEngine();
  show('ready');
  prompt.focus();
}

async function ask(text: string): Promise<void> {
  if (model === null || state !== 'ready' || text.trim() === '') return;
  clearError();
  let view: AnswerView | null = null;
  const current = model;
  const controller = new AbortController();
  try {
    const options = generateOptions();
    stopping = controller;
    show('answering');
    chat ??= await current.chat(systemMessage() === '' ? {} : { system: systemMessage() });
    prompt.value = '';
    addQuestion(text);
    view = new AnswerView();
    const answer = chat.send(text, { ...options, signal: controller.signal });
    for await (const { text: piece, promptDone, promptTotal } of answer) {
      if (piece !== '') view.append(piece);
      else if (promptDone < promptTotal) view.showPrompt(promptDone, promptTotal);
    }
    view.finish(await answer.finished);
  } catch (error) {
    view?.fail();
    if (model !== current) return;
    showError(error);
    if (error instanceof BitwinError && error.code === 'crashed') closeModel();
  }
  if (model !== current) return; // closed meanwhile, perhaps for another one
  stopping = null;
  show('ready');
  prompt.focus();
}

async function newChat(): Promise<void> {
  if (state !== 'ready') return;
  const old = chat;
  chat = null;
  clearTranscript();
  clearError();
  prompt.focus();
  await old?.close().catch(showError);
}

function openUrl(): void {
  const address = url.value.trim();
  if (address === '') return;
  void openModel(address, decodeURIComponent(address.split(/[?#]/)[0]!.split('/').pop() ?? '') || address);
}

file.addEventListener('change', () => {
  const chosen = file.files?.[0];
  file.value = ''; // so that the same file can be chosen again
  if (chosen) void openModel(chosen, chosen.name);
});
element('url-form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  openUrl();
});
element('settings-form', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
composer.addEventListener('submit', (event) => {
  event.preventDefault();
  void ask(prompt.value);
});
prompt.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void ask(prompt.value);
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') stopping?.abort();
});
button('stop').addEventListener('click', () => stopping?.abort());
button('cancel').addEventListener('click', () => loading?.abort());
button('change').addEventListener('click', closeModel);
button('new-chat').addEventListener('click', () => void newChat());
button('error-close').addEventListener('click', clearError);

document.addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('dragging');
});
document.addEventListener('dragleave', () => document.body.classList.remove('dragging'));
document.addEventListener('drop', (event) => {
  event.preventDefault();
  document.body.classList.remove('dragging');
  const dropped = event.dataTransfer?.files[0];
  if (dropped) void openModel(dropped, dropped.name);
});

const threads = defaultThreads(features);
showBuilds(features, chooseBuild(features, threads), threads);
showEngine();
show('empty');
