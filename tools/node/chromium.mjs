// Chromium of the system, driven by playwright-core.

import { existsSync } from 'node:fs';
import { webPackage } from './paths.mjs';

const kFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The program: BITWIN_CHROMIUM, else the system's. Undefined when there is none. */
export function findChromium() {
  const candidates = [process.env.BITWIN_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  return candidates.find((file) => file && existsSync(file));
}

function settings() {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('There is no Chromium: run tools/setup, or name one in BITWIN_CHROMIUM');
  return { executablePath, args: kFlags };
}

export async function launchChromium() {
  return webPackage('playwright-core').chromium.launch(settings());
}

/** A browser that keeps what pages store in a folder, as its one context. */
export async function openProfile(folder) {
  return webPackage('playwright-core').chromium.launchPersistentContext(folder, settings());
}
