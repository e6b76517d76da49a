/** The workflow of the guide to stores, unchanged, on the store of each URL: its process is killed, and the next one ends it the same. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { packageDoors } from '../support/package-doors.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-each-'));
const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/stores.md'), 'utf8');
const [, code = ''] = /^```ts file=invoice\.ts\n(.*?)^```$/msu.exec(guide) ?? [];
const door = pathToFileURL(packageDoors['cairn-workflows'] ?? '').href;
writeFileSync(join(folder, 'invoice.ts'), code.replace("'cairn-workflows'", `'${door}'`));
/** Starts the run, or goes on with it, and then waits to be killed. */
const program = `
  import { openInvoice } from './invoice.ts';
  const app = openInvoice(process.argv[2]);
  const { engine } = app;
  const key = { tenant: engine.ports.tenant, runId: 'invoice' };
  const known = await engine.ports.store.readRun(key);
  let result = known ? await (await engine.resume('invoice')).result() : await app.invoke({ items: [1, 2, 3] }, { runId: 'invoice' });
  if (known || process.argv[2] === 'memory:') {
    const [wait] = await engine.waits('invoice');
    await engine.answer('invoice', wait.waitId, 'yes');
    result = await (await engine.resume('invoice')).result();
  }
  console.log(JSON.stringify([result.status, result.state.outputs]));
  setInterval(() => {}, 1_000);
`;
writeFileSync(join(folder, 'run.ts'), program);

const servers = { postgres: await preparePostgres(), redis: await startRedis() };
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  for (const server of Object.values(servers)) if (typeof server !== 'string') await server.stop();
});

/** The first line of a process, which is then killed. */
async function lineOfKilled(url: string): Promise<unknown> {
  const args = ['--disable-warning=ExperimentalWarning', join(folder, 'run.ts'), url];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const lines = createInterface(child.stdout);
  try {
    const [line] = (await Promise.race([once(lines, 'line'), ended])) as [unknown];
    return typeof line === 'string' ? JSON.parse(line) : `it ended with ${String(line)}`;
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

const paused = ['paused', { total: 6, note: 'noted 6' }];
const completed = ['completed', { total: 6, note: 'noted 6', approve: 'yes', send: 'sent 6' }];

describe('P1 the workflow of the guide is killed, and the next process ends it the same', () => {
  test.each([`sqlite:${join(folder, 'runs.db')}`, `file:${join(folder, 'runs')}`])(
    'on %s',
    { timeout: 60_000 },
    async (url) => {
      expect(await lineOfKilled(url)).toEqual(paused);
      expect(await lineOfKilled(url)).toEqual(completed);
    },
  );

  for (const [name, server] of Object.entries(servers))
    test.skipIf(typeof server === 'string')(
      `on ${name}://${typeof server === 'string' ? `: ${server}` : ''}`,
      { timeout: 60_000 },
      async () => {
        if (typeof server === 'string') return;
        expect(await lineOfKilled(server.url)).toEqual(paused);
        expect(await lineOfKilled(server.url)).toEqual(completed);
      },
    );

  test('on memory:, where nothing is left and it begins anew', { timeout: 60_000 }, async () => {
    expect(await lineOfKilled('memory:')).toEqual(completed);
  });
});
