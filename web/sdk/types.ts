// What callers of the SDK pass in and get back.

import type { Build } from './features.js';

export interface ModelInfo {
  architecture: string;
  name: string;
  layers: number;
  width: number;
  heads: number;
  kv_heads: number;
  /** Positions the model was trained for. */
  context: number;
  vocabulary: number;
  parameters: number;
  packed_bytes: number;
  kv_bytes_per_token: number;
  kernel: string;
  threads: number;
  /** The file's own sampling, or the engine's defaults. */
  temperature: number;
  top_k: number;
  top_p: number;
  min_p: number;
}

export interface LoadProgress {
  /** Bytes of the file that the engine has taken. */
  loaded: number;
  /** Bytes of the file; 0 while unknown. */
  total: number;
  bytesPerSecond: number;
}

export interface LoadOptions {
  /** The folder of the modules; by default `wasm/` beside the page. */
  modules?: string | URL;
  /** By default the best one that the host supports. */
  build?: Build;
  /** Threads to compute with, the worker included; by default as many as there are physical processors. */
  threads?: number;
  onProgress?: (progress: LoadProgress) => void;
  signal?: AbortSignal;
}

export interface ChatOptions {
  /** A system message that opens the conversation. */
  system?: string;
  /** Positions of the context; by default the smaller of the model's and 4096. */
  maxContext?: number;
}

/** How an answer is drawn. What is left out comes from the model file, or the engine where the file says nothing. */
export interface GenerateOptions {
  /** 0: always the most likely token. */
  temperature?: number;
  /** 0: all. */
  topK?: number;
  topP?: number;
  minP?: number;
  /** An integer from 0 to 2^64 - 1; the same seed draws the same answer in every build. By default drawn at random. */
  seed?: number | bigint;
  /** By default until the context is full. */
  maxTokens?: number;
}

export type FinishReason = 'end_of_text' | 'max_tokens' | 'context_full' | 'stopped';

/** What arrives while an answer is made: progress through the prompt, then pieces of text (whole characters). */
export interface AnswerEvent {
  promptDone: number;
  promptTotal: number;
  text: string;
}

/** Where the time went, in seconds. */
export interface Timings {
  /** From the request to the first token, prompt processing included. */
  timeToFirstToken: number;
  /** Tokens a second after the first one; 0 when there was only one. */
  tokensPerSecond: number;
  promptTokens: number;
  generatedTokens: number;
}

export interface AnswerResult {
  text: string;
  finish: FinishReason;
  timings: Timings;
}

/** What the host can do at best with the model's build and threads, and what a token costs. */
export interface Limits {
  read_bytes_per_second: number;
  /** Multiply-accumulates of bytes. */
  macs_per_second: number;
  /** Packed weights that a token after the prompt reads. */
  weight_bytes_per_token: number;
  /** Multiply-accumulates of the layers for a prompt token. */
  macs_per_token: number;
}

/** A reproducible greedy run; equal fingerprints mean equal bits of all logits. */
export interface Parity {
  kernel: string;
  threads: number;
  chunk: number | 'all';
  prompt_tokens: number;
  ids: number[];
  steps: string[];
  fingerprint: string;
}
