// The C ABI (engine/capi.h) as synchronous classes. They work wherever the module does: in a worker of the page, and
// under Node. Handles are freed explicitly.

import { BitwinError, engineCode } from './errors.js';
import { Heap, type HeapModule } from './heap.js';
import type { FinishReason, Limits, ModelInfo, Parity } from './types.js';

/** The exports of a module, as Emscripten names them. Addresses are numbers; 0 stands for null. */
export interface EngineModule extends HeapModule {
  _bitwin_version(): number;
  _bitwin_last_error(): number;
  _bitwin_last_error_code(): number;
  _bitwin_kernels(): number;
  _bitwin_loader_new(threads: number, kernel: number, fileSize: number): number;
  _bitwin_loader_feed(loader: number, bytes: number, size: number): number;
  _bitwin_loader_bytes_needed(loader: number): number;
  _bitwin_loader_finish(loader: number): number;
  _bitwin_loader_free(loader: number): void;
  _bitwin_model_free(model: number): void;
  _bitwin_model_info(model: number): number;
  _bitwin_model_tokenize(
    model: number,
    text: number,
    size: number,
    parseSpecial: number,
    addBos: number,
    ids: number,
    capacity: number,
  ): number;
  _bitwin_session_new(model: number, maxContext: number, chunk: number): number;
  _bitwin_session_free(session: number): void;
  _bitwin_session_chat(session: number, system: number, user: number, options: number): number;
  _bitwin_session_begin(session: number, ids: number, count: number, options: number): number;
  _bitwin_session_step(session: number, event: number): number;
  _bitwin_session_stop(session: number): void;
  _bitwin_session_reset(session: number): void;
  _bitwin_session_length(session: number): number;
  _bitwin_limits(model: number, bytes: number): number;
  _bitwin_parity(model: number, ids: number, count: number, steps: number, chunk: number): number;
}

/** The default export of a module's .js file. */
export type EngineFactory = (settings: {
  bitwinThreads: number;
  print?: (line: string) => void;
  printErr?: (line: string) => void;
}) => Promise<EngineModule>;

/** How tokens are drawn, complete. */
export interface Sampling {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  seed: bigint;
  maxTokens: number; // -1: until the context is full
  ignoreEnd: boolean;
}

export interface StepEvent {
  promptDone: number;
  promptTotal: number;
  token: number; // -1 while the prompt is processed
  text: string;
  finish: FinishReason | null;
}

const kFinishReasons = [null, 'end_of_text', 'max_tokens', 'context_full', 'stopped'] as const;
const kFeedBytes = 4 << 20;

// Sizes of the structs of capi.h on wasm32.
const kGenerateOptionsBytes = 32;
const kStepEventBytes = 24;

export class Engine {
  readonly heap: Heap;

  constructor(readonly module: EngineModule) {
    this.heap = new Heap(module);
  }

  /** `threads` counts the caller; a build without threads takes 1. */
  static async create(factory: EngineFactory, threads: number): Promise<Engine> {
    return new Engine(await factory({ bitwinThreads: threads }));
  }

  version(): string {
    return this.heap.textToZero(this.module._bitwin_version());
  }

  /** Names of the kernels that run here, best first. */
  kernels(): string[] {
    return this.heap.textToZero(this.module._bitwin_kernels()).split('\n').filter(Boolean);
  }

  /** `fileSize`: 0 when unknown. */
  newLoader(threads: number, fileSize: number): EngineLoader {
    return new EngineLoader(this, this.handle(this.module._bitwin_loader_new(threads, 0, fileSize)));
  }

  /** Throws the error of a call that failed. */
  check(code: number): void {
    if (code !== 0) throw this.lastError(code);
  }

  handle(address: number): number {
    if (address === 0) throw this.lastError(this.module._bitwin_last_error_code());
    return address;
  }

  lastError(code: number): BitwinError {
    const message = this.heap.textToZero(this.module._bitwin_last_error());
    return new BitwinError(engineCode(code), message || `The engine failed with code ${code}`);
  }

  /** Memory for one call, freed when `body` returns. */
  with<T>(sizes: number[], body: (...addresses: number[]) => T): T {
    const addresses: number[] = [];
    try {
      for (const size of sizes) addresses.push(this.allocate(size));
      return body(...addresses);
    } finally {
      for (const address of addresses) this.heap.free(address);
    }
  }

  allocate(size: number): number {
    const address = this.heap.allocate(size);
    if (address === null) throw new BitwinError('out_of_memory', `The engine's memory has no ${size} bytes left`);
    return address;
  }
}

/** Reads a model from bytes as they arrive. */
export class EngineLoader {
  private readonly buffer_: number;

  constructor(
    private readonly engine_: Engine,
    private handle_: number,
  ) {
    this.buffer_ = engine_.allocate(kFeedBytes);
  }

  feed(bytes: Uint8Array): void {
    const { heap, module } = this.engine_;
    for (let start = 0; start < bytes.length; start += kFeedBytes) {
      const piece = bytes.subarray(start, start + kFeedBytes);
      heap.write(this.buffer_, piece);
      this.engine_.check(module._bitwin_loader_feed(this.handle_, this.buffer_, piece.length));
    }
  }

  /** Bytes up to the end of the last tensor; 0 until the header is read. */
  bytesNeeded(): number {
    return this.engine_.module._bitwin_loader_bytes_needed(this.handle_);
  }

  /** The file has ended. Frees the loader, also when it throws. */
  finish(): EngineModel {
    const handle = this.release();
    return new EngineModel(this.engine_, this.engine_.handle(this.engine_.module._bitwin_loader_finish(handle)));
  }

  free(): void {
    if (this.handle_ !== 0) this.engine_.module._bitwin_loader_free(this.release());
  }

  private release(): number {
    const handle = this.handle_;
    this.handle_ = 0;
    if (handle !== 0) this.engine_.heap.free(this.buffer_);
    return handle;
  }
}

export class EngineModel {
  constructor(
    private readonly engine_: Engine,
    private readonly handle_: number,
  ) {}

  info(): ModelInfo {
    const { heap, module } = this.engine_;
    return JSON.parse(heap.textToZero(this.engine_.handle(module._bitwin_model_info(this.handle_)))) as ModelInfo;
  }

  tokenize(text: string, parseSpecial = false, addBos = false): number[] {
    const { heap, module } = this.engine_;
    const bytes = heap.encode(text);
    // No tokeniser of ours makes more tokens than bytes, but for BOS.
    const capacity = bytes.length + 1;
    return this.engine_.with([bytes.length, capacity * 4], (source, ids) => {
      heap.write(source, bytes);
      const size = bytes.length - 1;
      const count = module._bitwin_model_tokenize(
        this.handle_, source, size, Number(parseSpecial), Number(addBos), ids, capacity);
      if (count < 0) throw this.engine_.lastError(-count);
      return Array.from({ length: count }, (_, i) => heap.view.getInt32(ids + 4 * i, true));
    });
  }

  /** `maxContext`, `chunk`: 0 for the engine's defaults. */
  newSession(maxContext: number, chunk: number): EngineSession {
    const { module } = this.engine_;
    return new EngineSession(this.engine_, this.engine_.handle(module._bitwin_session_new(this.handle_, maxContext, chunk)));
  }

  /** `chunk` 0: all of the prompt at once. */
  parity(ids: readonly number[], steps: number, chunk: number): Parity {
    const { heap, module } = this.engine_;
    return this.engine_.with([ids.length * 4], (address) => {
      ids.forEach((id, i) => heap.view.setInt32(address + 4 * i, id, true));
      return this.takeJson(module._bitwin_parity(this.handle_, address, ids.length, steps, chunk)) as Parity;
    });
  }

  /** Measures what the host can do at best; `bytes` 0: over 1 GiB of memory. */
  limits(bytes: number): Limits {
    return this.takeJson(this.engine_.module._bitwin_limits(this.handle_, bytes)) as Limits;
  }

  free(): void {
    this.engine_.module._bitwin_model_free(this.handle_);
  }

  /** Parses and frees text that a call gave. */
  private takeJson(address: number): unknown {
    const { heap } = this.engine_;
    const json = this.engine_.handle(address);
    try {
      return JSON.parse(heap.textToZero(json));
    } finally {
      heap.free(json);
    }
  }
}

/** One conversation. */
export class EngineSession {
  private readonly event_: number;

  constructor(
    private readonly engine_: Engine,
    private readonly handle_: number,
  ) {
    this.event_ = engine_.allocate(kStepEventBytes);
  }

  /** Adds a user's message, and before the first one a system message, and starts the answer. */
  chat(system: string | null, user: string, sampling: Sampling): void {
    const { heap, module } = this.engine_;
    const systemBytes = heap.encode(system ?? '');
    const userBytes = heap.encode(user);
    const sizes = [kGenerateOptionsBytes, systemBytes.length, userBytes.length];
    this.engine_.with(sizes, (options, systemAddress, userAddress) => {
      this.writeSampling(options, sampling);
      heap.write(systemAddress, systemBytes);
      heap.write(userAddress, userBytes);
      const code = module._bitwin_session_chat(
        this.handle_, system === null ? 0 : systemAddress, userAddress, options);
      this.engine_.check(code);
    });
  }

  /** Starts an answer to raw token ids. */
  begin(ids: readonly number[], sampling: Sampling): void {
    const { heap, module } = this.engine_;
    this.engine_.with([kGenerateOptionsBytes, ids.length * 4], (options, address) => {
      this.writeSampling(options, sampling);
      ids.forEach((id, i) => heap.view.setInt32(address + 4 * i, id, true));
      this.engine_.check(module._bitwin_session_begin(this.handle_, address, ids.length, options));
    });
  }

  /** One prompt chunk or one token. */
  step(): StepEvent {
    const { heap, module } = this.engine_;
    this.engine_.check(module._bitwin_session_step(this.handle_, this.event_));
    const view = heap.view;
    const at = (index: number) => view.getInt32(this.event_ + 4 * index, true);
    return {
      promptDone: at(0),
      promptTotal: at(1),
      token: at(2),
      finish: kFinishReasons[at(3)] ?? null,
      text: heap.text(at(4), at(5)),
    };
  }

  /** The next step ends the answer. */
  stop(): void {
    this.engine_.module._bitwin_session_stop(this.handle_);
  }

  /** Forgets the conversation. */
  reset(): void {
    this.engine_.module._bitwin_session_reset(this.handle_);
  }

  /** Positions in the cache. */
  length(): number {
    return this.engine_.module._bitwin_session_length(this.handle_);
  }

  free(): void {
    this.engine_.heap.free(this.event_);
    this.engine_.module._bitwin_session_free(this.handle_);
  }

  private writeSampling(address: number, sampling: Sampling): void {
    const view = this.engine_.heap.view;
    view.setFloat32(address, sampling.temperature, true);
    view.setInt32(address + 4, sampling.topK, true);
    view.setFloat32(address + 8, sampling.topP, true);
    view.setFloat32(address + 12, sampling.minP, true);
    view.setBigUint64(address + 16, sampling.seed, true);
    view.setInt32(address + 24, sampling.maxTokens, true);
    view.setInt32(address + 28, Number(sampling.ignoreEnd), true);
  }
}
