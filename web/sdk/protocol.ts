// What the page and its worker say to each other: typed requests with ids.

import type { Build } from './features.js';
import type { ErrorCode } from './errors.js';
import type { Source } from './source.js';
import type { AnswerEvent, AnswerResult, GenerateOptions, Limits, LoadProgress, ModelInfo, Parity } from './types.js';

/** Every call: what it takes, what it gives back, and what it reports before that. */
export interface Calls {
  load: {
    params: { source: Source; module: string; build: Build; threads: number };
    result: { info: ModelInfo; version: string };
    event: LoadProgress;
  };
  tokenize: {
    params: { text: string; parseSpecial: boolean; addBos: boolean };
    result: number[];
    event: never;
  };
  parity: {
    params: { ids: number[]; steps: number; chunk: number };
    result: Parity;
    event: never;
  };
  limits: {
    params: { bytes: number };
    result: Limits;
    event: never;
  };
  newSession: {
    params: { maxContext: number };
    result: { session: number };
    event: never;
  };
  resetSession: {
    params: { session: number };
    result: null;
    event: never;
  };
  freeSession: {
    params: { session: number };
    result: null;
    event: never;
  };
  continueIds: {
    params: { ids: number[]; tokens: number };
    result: AnswerResult;
    event: AnswerEvent;
  };
  generate: {
    params: { session: number; system: string | null; user: string; options: GenerateOptions };
    result: AnswerResult;
    event: AnswerEvent;
  };
}

export type Method = keyof Calls;

export type Request = {
  [M in Method]: { kind: 'call'; id: number; method: M; params: Calls[M]['params'] };
}[Method];

/** Ends the `generate` call with that id as soon as its current step is done; its result still arrives. */
export interface StopRequest {
  kind: 'stop';
  id: number;
}

export type ToWorker = Request | StopRequest;

export type FromWorker =
  | { kind: 'event'; id: number; event: unknown }
  | { kind: 'result'; id: number; result: unknown }
  /** `fatal`: the module trapped, and nothing that it holds can be used any more. */
  | { kind: 'error'; id: number; code: ErrorCode; message: string; fatal: boolean };
