// The package `bitwin`: language models in the page, without a server.

export { Answer } from './answer.js';
export { Chat, Model, load } from './client.js';
export { BitwinError, type ErrorCode } from './errors.js';
export { type Build, type Features, chooseBuild, defaultThreads, detectFeatures, kBuilds, supports } from './features.js';
export type { Source } from './source.js';
export type {
  AnswerEvent,
  AnswerResult,
  ChatOptions,
  FinishReason,
  GenerateOptions,
  Limits,
  LoadOptions,
  LoadProgress,
  ModelInfo,
  Parity,
  Timings,
} from './types.js';
