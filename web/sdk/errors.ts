// Errors of the SDK: a code to act on in programs, a sentence to show to people.

/** The engine's codes, at the index of their number in the C ABI (engine/base/status.h). */
const kEngineCodes = [
  'internal', // 0 is "ok", which no error carries
  'invalid_argument',
  'format',
  'unsupported',
  'out_of_memory',
  'io',
  'cancelled',
  'context_full',
  'non_finite',
  'internal',
] as const;

/**
 * Why something failed. The engine's own codes, and two of the SDK: `crashed` (the worker died or the module trapped; the
 * model has to be loaded again) and `disposed` (dispose() was called).
 */
export type ErrorCode = (typeof kEngineCodes)[number] | 'crashed' | 'disposed';

export class BitwinError extends Error {
  override readonly name = 'BitwinError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The name of a code of the C ABI. */
export function engineCode(number: number): ErrorCode {
  return kEngineCodes[number] ?? 'internal';
}

/** Any thrown value as a BitwinError; one that is already keeps its code. */
export function asBitwinError(thrown: unknown, code: ErrorCode = 'internal'): BitwinError {
  if (thrown instanceof BitwinError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new BitwinError(code, message, { cause: thrown });
}
