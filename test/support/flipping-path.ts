/** A process that turns a path between a place inside a folder and a link out of it, as fast as it can. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The path is a link all the time: now to the inner folder, now out. */
const flipLink = `
  const { renameSync, symlinkSync } = require('node:fs');
  const [path, inside, outside] = process.argv.slice(1);
  symlinkSync(inside, path);
  process.stdout.write('flipping');
  for (let turn = 0; ; turn += 1) {
    symlinkSync(turn % 2 === 0 ? outside : inside, path + '.next');
    renameSync(path + '.next', path);
  }`;

/** The path is now the inner folder itself, moved there, and now a link out; whatever others made there meanwhile is removed. */
const swapFolder = `
  const { renameSync, rmSync, symlinkSync } = require('node:fs');
  const [path, inside, outside] = process.argv.slice(1);
  process.stdout.write('flipping');
  for (;;) {
    try {
      rmSync(path, { recursive: true, force: true });
      renameSync(inside, path);
      renameSync(path, inside);
      symlinkSync(outside, path);
    } catch {}
  }`;

/** Runs `use` while `path` leads now inside, now outside; the process is gone when it resolves. */
export async function whilePathFlips(
  places: { readonly path: string; readonly inside: string; readonly outside: string },
  by: 'link' | 'folder',
  use: () => Promise<void>,
): Promise<void> {
  const args = ['-e', by === 'link' ? flipLink : swapFolder, places.path, places.inside, places.outside];
  const flipping = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(flipping, 'exit');
  try {
    await once(flipping.stdout, 'data');
    await use();
  } finally {
    flipping.kill('SIGKILL');
    await ended;
  }
}
