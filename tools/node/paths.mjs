// Where things are: in this repository, and in its build folder (BITWIN_BUILD, by default build/).

import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const build = path.resolve(process.env.BITWIN_BUILD || path.join(root, 'build'));

export const inRoot = (...parts) => path.join(root, ...parts);
export const inBuild = (...parts) => path.join(build, ...parts);

/** A package of web/node_modules. */
export const webPackage = (name) => createRequire(inRoot('web/package.json'))(name);
