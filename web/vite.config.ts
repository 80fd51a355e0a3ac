import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Plugin, defineConfig } from 'vite';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const build = process.env['BITWIN_BUILD'] || path('../build');
const kBuilds = ['relaxed-mt', 'relaxed', 'simd128-mt', 'simd128', 'scalar'];

/**
 * Copies the engine's modules as they are into a folder named after their content, so that a page never meets the modules
 * of another version in a cache. They are not bundled: each starts its own threads from its own file.
 */
function engineModules(folder: string): Plugin {
  const names = kBuilds.flatMap((build) => [`bitwin-${build}.js`, `bitwin-${build}.wasm`]);
  for (const name of names) {
    if (existsSync(folder + name)) continue;
    throw new Error(`${folder}${name} is missing. Build it: cmake --preset wasm && cmake --build --preset wasm`);
  }
  const modules = names.map((name) => ({ name, bytes: readFileSync(folder + name) }));
  const hash = createHash('sha256');
  for (const { bytes } of modules) hash.update(bytes);
  const target = `wasm/${hash.digest('hex').slice(0, 12)}/`;
  return {
    name: 'bitwin-modules',
    config: () => ({ define: { __BITWIN_MODULES__: JSON.stringify(target) } }),
    generateBundle() {
      for (const { name, bytes } of modules) this.emitFile({ type: 'asset', fileName: target + name, source: bytes });
    },
  };
}

export default defineConfig({
  root: path('app'),
  base: './', // the page works in any folder of any host
  plugins: [engineModules(`${build}/wasm/`)],
  worker: { format: 'es' },
  build: {
    outDir: `${build}/web`,
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    assetsInlineLimit: 0,
  },
});
