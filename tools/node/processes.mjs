// Memory of processes, from Linux's /proc.

import { readFile, readdir } from 'node:fs/promises';

const read = (pid, name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');

async function list() {
  const processes = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    // The parent is the second field after the name, which stands in brackets and may hold anything.
    const stat = await read(pid, 'stat');
    const parent = /^\S+ (\d+)/.exec(stat.slice(stat.lastIndexOf(')') + 2))?.[1];
    if (parent !== undefined) processes.push({ pid: Number(pid), parent: Number(parent), command: await read(pid, 'cmdline') });
  }
  return processes;
}

/** The processes that `root(command)` names by their command line (arguments end in NUL), and all that descend from them. */
export async function processTree(root) {
  const processes = await list();
  const inside = new Set(processes.filter(({ command }) => root(command)).map(({ pid }) => pid));
  for (let size = -1; size !== inside.size;) {
    size = inside.size;
    for (const { pid, parent } of processes) if (inside.has(parent)) inside.add(pid);
  }
  return processes.filter(({ pid }) => inside.has(pid));
}

/** Resident bytes of a process, where a page that n processes share counts 1/n (PSS). */
export async function proportionalBytes(pid) {
  return Number(/^Pss:\s+(\d+) kB/m.exec(await read(pid, 'smaps_rollup'))?.[1] ?? 0) * 1024;
}
