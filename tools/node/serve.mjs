// tools/serve: the page on this machine.

import { existsSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { inBuild } from './paths.mjs';
import { startServer } from './server.mjs';

const kHelp = `Usage: tools/serve [PORT] [--models DIR]

Serves the page of build/web on http://localhost:PORT (default 8080), with the headers that let it use threads.
Only this machine can reach it. Ctrl-C ends it.

  --models DIR   also serves the files of DIR under /models/
  --help         this text`;

class UsageError extends Error {}

async function serve(args) {
  let parsed;
  try {
    const options = { models: { type: 'string' }, help: { type: 'boolean' } };
    parsed = parseArgs({ args, allowPositionals: true, options });
  } catch (error) {
    throw new UsageError(error.message);
  }
  const { values, positionals } = parsed;
  if (values.help) return console.log(kHelp);
  if (positionals.length > 1) throw new UsageError(`One port at most, not ${positionals.length} arguments`);
  const port = Number(positionals[0] ?? 8080);
  if (!/^\d+$/.test(positionals[0] ?? '8080') || port > 65535) {
    throw new UsageError(`The port is "${positionals[0]}", but has to be a number from 0 to 65535`);
  }
  if (values.models !== undefined && !statSync(values.models, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`--models: there is no folder ${values.models}`);
  }
  const page = inBuild('web');
  if (!existsSync(`${page}/index.html`)) {
    throw new UsageError(`The page is missing (${page}). Build it:
  tools/setup && . tools/env.sh
  cmake --preset wasm && cmake --build --preset wasm
  npm --prefix web run build`);
  }
  const mounts = [['/', page]];
  if (values.models !== undefined) mounts.unshift(['/models/', values.models]);
  let server;
  try {
    server = await startServer({ mounts, port });
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new UsageError(`Port ${port} is in use; give another one: tools/serve ${port + 1}`);
  }
  console.log(`Bitwin is at ${server.origin}/`);
  if (values.models !== undefined) console.log(`Models of ${values.models} are at ${server.origin}/models/NAME`);
}

export async function main(args) {
  try {
    await serve(args);
  } catch (error) {
    console.error(`serve: ${error.message}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
