// One build of the engine under Node, for tools/parity: a row of JSON a chunk on standard output.
//   node parity_node.mjs '{"build", "threads", "model", "ids", "steps", "chunks"}'

import { createReadStream, statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { inBuild } from './paths.mjs';

const { build, threads, model: file, ids, steps, chunks } = JSON.parse(process.argv[2]);
const importFile = (path) => import(pathToFileURL(path).href);
const { Engine } = await importFile(inBuild('sdk/bindings.js'));
const { default: factory } = await importFile(inBuild(`wasm/bitwin-${build}.js`));

const engine = await Engine.create(factory, threads);
const loader = engine.newLoader(threads, statSync(file).size);
for await (const bytes of createReadStream(file, { highWaterMark: 1 << 20 })) loader.feed(bytes);
const model = loader.finish();
for (const chunk of chunks) console.log(JSON.stringify(model.parity(ids, steps, chunk)));
process.exit(0); // the pool's idle threads would keep the process
