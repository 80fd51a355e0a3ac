// What this host can run, and which build of the engine suits it best.

/** The builds of the engine, each a module `bitwin-<build>.js` with its `.wasm`. */
export const kBuilds = ['relaxed-mt', 'relaxed', 'simd128-mt', 'simd128', 'scalar'] as const;
export type Build = (typeof kBuilds)[number];

export interface Features {
  simd128: boolean;
  relaxedSimd: boolean;
  /** Shared memory: the page is cross-origin isolated. */
  threads: boolean;
  /** Logical processors, as the host tells them. */
  processors: number;
}

// Each probe is a module of one function that uses one instruction of the feature; hosts without it reject the module.
const kHeader = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const kFunctionToV128 = [0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b, 0x03, 0x02, 0x01, 0x00];
const kSplat = [0x41, 0x00, 0xfd, 0x0f]; // i8x16.splat(0)
const kRelaxedDot = [0xfd, 0x92, 0x02]; // i16x8.relaxed_dot_i8x16_i7x16_s

function validates(instructions: number[]): boolean {
  const body = [0x00, ...instructions, 0x0b];
  const code = [0x0a, body.length + 2, 0x01, body.length, ...body];
  try {
    return WebAssembly.validate(new Uint8Array([...kHeader, ...kFunctionToV128, ...code]));
  } catch {
    return false;
  }
}

function sharesMemory(): boolean {
  if (globalThis.crossOriginIsolated !== true || typeof SharedArrayBuffer !== 'function') return false;
  try {
    return new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer instanceof SharedArrayBuffer;
  } catch {
    return false;
  }
}

export function detectFeatures(): Features {
  return {
    simd128: validates(kSplat),
    relaxedSimd: validates([...kSplat, ...kSplat, ...kRelaxedDot]),
    threads: sharesMemory(),
    processors: globalThis.navigator?.hardwareConcurrency ?? 1,
  };
}

/** Threads to compute with when nobody says: physical processors as far as they can be guessed, at most 8. */
export function defaultThreads(features: Features): number {
  if (!features.threads) return 1;
  // Hosts tell logical processors. Machines with more than four usually have two per core, or half of them slow ones.
  const physical = features.processors > 4 ? Math.ceil(features.processors / 2) : features.processors;
  return Math.max(1, Math.min(physical, 8));
}

export function supports(features: Features, build: Build): boolean {
  if (build.endsWith('-mt') && !features.threads) return false;
  if (build.startsWith('relaxed')) return features.relaxedSimd;
  if (build.startsWith('simd128')) return features.simd128;
  return true;
}

/** The best build that the host supports; one thread needs no shared memory. */
export function chooseBuild(features: Features, threads: number): Build {
  const threaded = threads > 1 && features.threads;
  const build = kBuilds.find((candidate) => candidate.endsWith('-mt') === threaded && supports(features, candidate));
  return build ?? 'scalar';
}
