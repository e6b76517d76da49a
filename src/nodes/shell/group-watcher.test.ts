/** Real processes, killed. */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'cairn-group-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const worker = join(import.meta.dirname, '../../../test/support/shell-worker.ts');

test('O2 when a worker is killed, the commands it runs and what they started die with it', async () => {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const child = fork(worker, [`exec 9>${path}; (sleep 600 & sleep 600) & echo x; sleep 600`], { stdio: 'ignore' });
  // Opening waits for the command to do so; the pipe ends when all that have it open are dead.
  const pipe = await open(path, 'r');
  await once(child, 'message');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await pipe.readFile('utf8')).toBe('');
  await pipe.close();
});

test('O2 a worker that ran commands ends as it would without the watcher', async () => {
  const child = fork(worker, ['true'], { stdio: 'ignore' });
  expect(await once(child, 'exit')).toEqual([0, null]);
});
