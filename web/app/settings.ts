// The settings panel: how answers are drawn, and with which build and how many threads.

import { BitwinError, type Build, type Features, type GenerateOptions, type ModelInfo, kBuilds, supports } from '../sdk/index.js';
import { element, input, textarea } from './dom.js';

const system = textarea('system');
const temperature = input('temperature');
const topP = input('top-p');
const topK = input('top-k');
const minP = input('min-p');
const seed = input('seed');
const maxTokens = input('max-tokens');
const build = element('build', HTMLSelectElement);
const threads = input('threads');

/** Offers the builds that this browser runs. */
export function showBuilds(features: Features, automatic: Build, automaticThreads: number): void {
  for (const name of kBuilds) {
    if (supports(features, name)) build.add(new Option(name, name));
  }
  build.options[0]!.textContent = `automatic (${automatic})`;
  threads.placeholder = String(automaticThreads);
  threads.disabled = !features.threads;
}

/** Shows what the model's file says where a field is empty. */
export function showDefaults(info: ModelInfo): void {
  const round = (value: number) => String(Number(value.toPrecision(6)));
  temperature.placeholder = round(info.temperature);
  topP.placeholder = round(info.top_p);
  topK.placeholder = info.top_k === 0 ? 'all' : String(info.top_k);
  minP.placeholder = round(info.min_p);
}

function invalid(field: HTMLInputElement): BitwinError {
  const name = field.labels?.[0]?.textContent?.trim().split('\n')[0]?.trim() ?? field.id;
  field.closest('details')!.open = true;
  field.focus();
  return new BitwinError('invalid_argument', `The setting "${name}" is not valid: ${field.validationMessage}`);
}

function number(field: HTMLInputElement): number | undefined {
  if (!field.validity.valid) throw invalid(field);
  return field.value === '' ? undefined : field.valueAsNumber;
}

/** Leaves out what is not set. */
function given<T extends object>(options: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

export function generateOptions(): GenerateOptions {
  if (!seed.validity.valid) throw invalid(seed);
  return given<GenerateOptions>({
    temperature: number(temperature),
    topP: number(topP),
    topK: number(topK),
    minP: number(minP),
    seed: seed.value === '' ? undefined : BigInt(seed.value),
    maxTokens: number(maxTokens),
  });
}

export function loadOptions(): { build?: Build; threads?: number } {
  return given<{ build?: Build; threads?: number }>({
    build: build.value === '' ? undefined : (build.value as Build),
    threads: threads.disabled ? undefined : number(threads),
  });
}

export function systemMessage(): string {
  return system.value;
}
