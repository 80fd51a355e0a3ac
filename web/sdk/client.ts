// The SDK's face: load a model, talk to it.

import { Answer } from './answer.js';
import { Connection } from './connection.js';
import { BitwinError } from './errors.js';
import { type Build, type Features, chooseBuild, defaultThreads, detectFeatures, supports } from './features.js';
import type { Source } from './source.js';
import type { AnswerResult, ChatOptions, GenerateOptions, Limits, LoadOptions, ModelInfo, Parity } from './types.js';

/**
 * Loads a model from a File, a Blob or a URL, in a worker of its own. The bytes go straight into the engine; the file is
 * never held as a whole.
 *
 * Errors (BitwinError): io, format, unsupported, out_of_memory; cancelled after `signal`; crashed.
 */
export async function load(source: Source | URL, options: LoadOptions = {}): Promise<Model> {
  const { signal } = options;
  const cancelled = () => new BitwinError('cancelled', 'Loading was cancelled');
  if (signal?.aborted) throw cancelled();
  const { build, threads } = choose(detectFeatures(), options);
  const modules = new URL(options.modules ?? 'wasm/', document.baseURI);
  const params = {
    source: source instanceof Blob ? source : new URL(source, document.baseURI).href,
    module: new URL(`bitwin-${build}.js`, modules).href,
    build,
    threads,
  };
  const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'bitwin' });
  const connection = new Connection(worker);
  // The worker holds nothing but this load, so ending it is the quickest way to end the load.
  const abort = () => connection.close(cancelled());
  signal?.addEventListener('abort', abort);
  try {
    const { info, version } = await connection.call('load', params, options.onProgress).result;
    return new Model(connection, info, build, version);
  } catch (error) {
    connection.close(new BitwinError('disposed', 'The model was not loaded'));
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

function choose(features: Features, options: LoadOptions): { build: Build; threads: number } {
  let threads = options.threads ?? defaultThreads(features);
  if (!Number.isInteger(threads) || threads < 1 || threads > 256) {
    throw new BitwinError('invalid_argument', `threads is ${threads}, but has to be an integer from 1 to 256`);
  }
  const build = options.build ?? chooseBuild(features, threads);
  if (!supports(features, build)) {
    const lacks = build.endsWith('-mt') && !features.threads ? 'cross-origin isolation (COOP and COEP headers)' : 'its instructions';
    throw new BitwinError('unsupported', `This browser cannot run the build ${build}: it lacks ${lacks}`);
  }
  if (!build.endsWith('-mt')) threads = 1;
  return { build, threads };
}

/** A loaded model. It holds a worker and the weights until dispose(). */
export class Model {
  constructor(
    private readonly connection_: Connection,
    readonly info: ModelInfo,
    readonly build: Build,
    /** The engine's version. */
    readonly version: string,
  ) {}

  /** A new conversation. */
  async chat(options: ChatOptions = {}): Promise<Chat> {
    const { session } = await this.connection_.call('newSession', { maxContext: options.maxContext ?? 0 }).result;
    return new Chat(this.connection_, session, options.system ?? null);
  }

  /** Token ids of a text. `parseSpecial`: control tokens written in the text count as such. */
  tokenize(text: string, options: { parseSpecial?: boolean; addBos?: boolean } = {}): Promise<number[]> {
    const { parseSpecial = false, addBos = false } = options;
    return this.connection_.call('tokenize', { text, parseSpecial, addBos }).result;
  }

  /** The fingerprint of a greedy run; `chunk` 0 takes all of the prompt at once. */
  parity(ids: number[], steps: number, chunk: number): Promise<Parity> {
    return this.connection_.call('parity', { ids, steps, chunk }).result;
  }

  /** Exactly `tokens` greedy tokens after raw token ids, past the model's end token too: for measuring its speed. */
  continueIds(ids: number[], tokens: number): Promise<AnswerResult> {
    return this.connection_.call('continueIds', { ids, tokens }).result;
  }

  /** Measures what the host can do at best, reading `bytes` bytes of memory several times; 0: 1 GiB. */
  limits(bytes = 0): Promise<Limits> {
    return this.connection_.call('limits', { bytes }).result;
  }

  /** Gives all memory back. Calls that wait fail with the code `disposed`. */
  dispose(): void {
    this.connection_.close(new BitwinError('disposed', 'The model was disposed'));
  }
}

/** One conversation; the engine keeps what was said. */
export class Chat {
  constructor(
    private readonly connection_: Connection,
    private readonly session_: number,
    private readonly system_: string | null,
  ) {}

  /** Says `text` and starts the answer. One answer at a time per model. */
  send(text: string, options: GenerateOptions & { signal?: AbortSignal } = {}): Answer {
    const { signal, ...generate } = options;
    let stop = () => {};
    const start = async (onEvent: Parameters<ConstructorParameters<typeof Answer>[0]>[0]): Promise<AnswerResult> => {
      const params = { session: this.session_, system: this.system_, user: text, options: generate };
      const call = this.connection_.call('generate', params, onEvent);
      stop = () => this.connection_.stop(call.id);
      if (signal?.aborted) stop();
      signal?.addEventListener('abort', stop);
      try {
        return await call.result;
      } finally {
        signal?.removeEventListener('abort', stop);
      }
    };
    return new Answer(start, () => stop());
  }

  /** Forgets what was said. */
  async reset(): Promise<void> {
    await this.connection_.call('resetSession', { session: this.session_ }).result;
  }

  /** Gives the conversation's memory back. */
  async close(): Promise<void> {
    await this.connection_.call('freeSession', { session: this.session_ }).result;
  }
}
