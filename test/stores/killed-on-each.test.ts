/** The workflow of the guide to stores, unchanged, on the store of each URL: its process is killed, and the next one ends it the same. */
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openGuideProgram } from '../support/guide-program.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';

/** Starts the run, or goes on with it, and then waits to be killed. */
const program = openGuideProgram(
  'stores.md',
  `
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
`,
);

const servers = { postgres: await preparePostgres(), redis: await startRedis() };
afterAll(async () => {
  program.remove();
  for (const server of Object.values(servers)) if (typeof server !== 'string') await server.stop();
});

const paused = ['paused', { total: 6, note: 'noted 6' }];
const completed = ['completed', { total: 6, note: 'noted 6', approve: 'yes', send: 'sent 6' }];

describe('P1 the workflow of the guide is killed, and the next process ends it the same', () => {
  test.each([`sqlite:${join(program.folder, 'runs.db')}`, `file:${join(program.folder, 'runs')}`])(
    'on %s',
    { timeout: 60_000 },
    async (url) => {
      expect(await program.firstLine([url])).toEqual(paused);
      expect(await program.firstLine([url])).toEqual(completed);
    },
  );

  for (const [name, server] of Object.entries(servers))
    test.skipIf(typeof server === 'string')(
      `on ${name}://${typeof server === 'string' ? `: ${server}` : ''}`,
      { timeout: 60_000 },
      async () => {
        if (typeof server === 'string') return;
        expect(await program.firstLine([server.url])).toEqual(paused);
        expect(await program.firstLine([server.url])).toEqual(completed);
      },
    );

  test('on memory:, where nothing is left and it begins anew', { timeout: 60_000 }, async () => {
    expect(await program.firstLine(['memory:'])).toEqual(completed);
  });
});
