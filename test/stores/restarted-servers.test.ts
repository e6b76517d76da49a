/** A server that is started again under an external node: its worker goes on, whichever server it is, and nobody is asked. */
import { afterAll, describe, expect, test } from 'vitest';
import { AgentGraph, createWorker, END, openStore, START } from '../../src/index.ts';
import { until } from '../support/awaited.ts';
import { preparePostgres } from '../support/postgres-store.ts';
import { startRedis } from '../support/redis.ts';

interface Server {
  readonly url: string;
  readonly crash: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

async function start(name: string): Promise<Server | string> {
  const found = name === 'Redis' ? await startRedis() : await preparePostgres();
  if (typeof found === 'string') return found;
  const { url, crash, stop } = found;
  return crash === undefined ? 'the server that is used is not ours to crash' : { url, crash, stop };
}

describe.each(['Postgres', 'Redis'])('%s', async (name) => {
  const found = await start(name);
  if (typeof found === 'string') console.warn(`${name} was not started again: ${found}`);
  const reason = typeof found === 'string' ? `: ${found}` : '';
  afterAll(async () => {
    if (typeof found !== 'string') await found.stop();
  });

  test.skipIf(reason !== '')(
    `O2 the worker whose node is under way keeps its run, beside another one${reason}`,
    async () => {
      const { url, crash } = found as Server;
      const [begun, proceed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const calls: string[] = [];
      const open = (worker: string) =>
        new AgentGraph({}, { id: 'pays' })
          .addNode(
            'pay',
            async () => {
              calls.push(worker);
              begun.resolve();
              await proceed.promise;
              return 'paid';
            },
            { effectClass: 'external' },
          )
          .addEdge(START, 'pay')
          .addEdge('pay', END)
          .compile({ store: openStore(url) });
      const [first, other] = [open('first'), open('other')];
      const running = first.invoke({}, { runId: 'r' });
      await begun.promise;
      const worker = createWorker({ graphs: [other], pollMs: 20 });
      await crash();
      const looked = openStore(url);
      await until('the other worker has looked for runs', async () => {
        const workers = await looked.listWorkers('default').catch(() => []);
        return workers.length > 0;
      });
      expect(await looked.listClaimable({ tenant: 'default', limit: 5 })).toEqual([]);
      proceed.resolve();
      expect(await running).toMatchObject({ status: 'completed', waits: [] });
      expect(calls).toEqual(['first']);
      await worker.stop();
      await Promise.all([first.close(), other.close(), looked.close()]);
    },
  );
});
