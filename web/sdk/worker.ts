// The worker that holds the engine. It drives the token loop one C call per token or prompt chunk, and looks into its
// message queue between them: so a stop takes effect at once, in prompt processing too, without shared memory.

import { Engine, type EngineFactory, type EngineModel, type EngineSession, type Sampling } from './bindings.js';
import { BitwinError, asBitwinError } from './errors.js';
import type { Calls, FromWorker, Method, Request, ToWorker } from './protocol.js';
import { openSource } from './source.js';
import type { AnswerEvent, AnswerResult, GenerateOptions } from './types.js';

interface WorkerScope {
  onmessage: ((message: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker): void;
}
const scope = globalThis as unknown as WorkerScope;

/** Prompt tokens per step. Small, so that a stop is never far away; the bits do not depend on it. */
const kChunk = 16;
const kProgressMilliseconds = 100;

let engine: Engine | null = null;
let model: EngineModel | null = null;
let nextSession = 1;
const sessions = new Map<number, EngineSession>();
let answering: { id: number; session: EngineSession } | null = null;

type Report<M extends Method> = (event: Calls[M]['event']) => void;
type Handlers = {
  [M in Method]: (params: Calls[M]['params'], report: Report<M>, id: number) => Promise<Calls[M]['result']>;
};

// A message to oneself goes through the event loop, behind the messages that wait there; a timer would be slowed down.
const turn = new MessageChannel();
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    turn.port1.onmessage = () => resolve();
    turn.port2.postMessage(null);
  });
}

async function importModule(url: string): Promise<EngineFactory> {
  try {
    return ((await import(/* @vite-ignore */ url)) as { default: EngineFactory }).default;
  } catch (thrown) {
    throw new BitwinError('io', `The engine's module ${url} cannot be loaded`, { cause: thrown });
  }
}

function loaded(): EngineModel {
  if (model === null) throw new BitwinError('invalid_argument', 'No model is loaded');
  return model;
}

function session(id: number): EngineSession {
  const found = sessions.get(id);
  if (found === undefined) throw new BitwinError('invalid_argument', 'This conversation has been closed');
  return found;
}

function idle(): void {
  if (answering !== null) throw new BitwinError('invalid_argument', 'The model is still answering');
}

function randomSeed(): bigint {
  return crypto.getRandomValues(new BigUint64Array(1))[0]!;
}

function sampling(options: GenerateOptions): Sampling {
  const info = loaded().info();
  return {
    temperature: options.temperature ?? info.temperature,
    topK: options.topK ?? info.top_k,
    topP: options.topP ?? info.top_p,
    minP: options.minP ?? info.min_p,
    seed: options.seed === undefined ? randomSeed() : BigInt.asUintN(64, BigInt(options.seed)),
    maxTokens: options.maxTokens ?? -1,
    ignoreEnd: false,
  };
}

const handlers: Handlers = {
  async load({ source, module, threads }, report) {
    if (engine !== null) throw new BitwinError('invalid_argument', 'This worker already holds a model');
    const [factory, bytes] = await Promise.all([importModule(module), openSource(source)]);
    engine = await Engine.create(factory, threads);
    const loader = engine.newLoader(threads, bytes.size);
    const start = performance.now();
    let last = start;
    let fed = 0;
    const progress = (now: number) => {
      const seconds = Math.max(now - start, 1) / 1000;
      report({ loaded: fed, total: bytes.size || loader.bytesNeeded(), bytesPerSecond: fed / seconds });
    };
    try {
      for (;;) {
        const piece = await bytes.next().catch((thrown: unknown) => {
          throw asBitwinError(new Error(`Reading the model broke off after ${fed} bytes: ${String(thrown)}`), 'io');
        });
        if (piece === null) break;
        loader.feed(piece);
        fed += piece.length;
        const now = performance.now();
        if (now - last >= kProgressMilliseconds) {
          last = now;
          progress(now);
        }
      }
      progress(performance.now());
      model = loader.finish();
    } finally {
      loader.free();
    }
    return { info: model.info(), version: engine.version() };
  },

  async tokenize({ text, parseSpecial, addBos }) {
    return loaded().tokenize(text, parseSpecial, addBos);
  },

  async parity({ ids, steps, chunk }) {
    idle();
    return loaded().parity(ids, steps, chunk);
  },

  async newSession({ maxContext }) {
    const id = nextSession++;
    sessions.set(id, loaded().newSession(maxContext, kChunk));
    return { session: id };
  },

  async resetSession({ session: id }) {
    idle();
    session(id).reset();
    return null;
  },

  async freeSession({ session: id }) {
    idle();
    session(id).free();
    sessions.delete(id);
    return null;
  },

  async generate({ session: sessionId, system, user, options }, report, id) {
    idle();
    const chat = session(sessionId);
    const start = performance.now();
    chat.chat(system, user, sampling(options));
    return finish(chat, start, report, id);
  },

  async continueIds({ ids, tokens }, report, id) {
    idle();
    const once = loaded().newSession(ids.length + tokens - 1, kChunk);
    try {
      const start = performance.now();
      const greedy = { temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0n, maxTokens: tokens, ignoreEnd: true };
      once.begin(ids, greedy);
      return await finish(once, start, report, id);
    } finally {
      once.free();
    }
  },

  async limits({ bytes }) {
    idle();
    return loaded().limits(bytes);
  },
};

/** Steps until the answer that began at `start` is complete. */
async function finish(steps: EngineSession, start: number, report: (event: AnswerEvent) => void, id: number): Promise<AnswerResult> {
  answering = { id, session: steps };
  let text = '';
  let generated = 0;
  let first = 0;
  try {
    for (;;) {
      const step = steps.step();
      const now = performance.now();
      if (step.token >= 0) {
        generated += 1;
        if (generated === 1) first = now;
      }
      text += step.text;
      report({ promptDone: step.promptDone, promptTotal: step.promptTotal, text: step.text });
      if (step.finish !== null) {
        const timeToFirstToken = generated > 0 ? (first - start) / 1000 : 0;
        const tokensPerSecond = generated > 1 ? ((generated - 1) * 1000) / Math.max(now - first, 1e-3) : 0;
        const timings = { timeToFirstToken, tokensPerSecond, promptTokens: step.promptTotal, generatedTokens: generated };
        return { text, finish: step.finish, timings };
      }
      await nextTurn();
    }
  } finally {
    answering = null;
  }
}

async function answer(request: Request): Promise<void> {
  const { id, method, params } = request;
  const report = (event: unknown) => scope.postMessage({ kind: 'event', id, event });
  try {
    const handler = handlers[method] as (params: unknown, report: unknown, id: number) => Promise<unknown>;
    scope.postMessage({ kind: 'result', id, result: await handler(params, report, id) });
  } catch (thrown) {
    // The engine reports its errors as codes and the SDK its own as BitwinError. Anything else is a trap of the module, or
    // a defect; either way nothing that the module holds can be trusted any more.
    const fatal = !(thrown instanceof BitwinError);
    const { code, message } = asBitwinError(thrown, 'crashed');
    scope.postMessage({ kind: 'error', id, code, message: fatal ? `The engine crashed: ${message}` : message, fatal });
  }
}

scope.onmessage = ({ data }) => {
  if (data.kind === 'call') void answer(data);
  else if (answering?.id === data.id) answering.session.stop();
};
