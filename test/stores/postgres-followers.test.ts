/** Who follows runs from other processes while the Postgres server crashes under load: no gap, no repetition, and a reset where the tail vanished. */
import { afterAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../examples/fleet/fleet.ts';
import { AgentGraph, createWorker, END, openHistory, openStore, START } from '../../src/index.ts';

import { preparePostgres, type PostgresUnderTest } from '../support/postgres-store.ts';
import { isProving, scale } from '../support/scale.ts';
import { FollowingProcess, readFollowed } from './following-process.ts';

const found = await preparePostgres();
const reason = typeof found === 'string' ? found : found.crash === undefined ? 'the server is not ours to crash' : '';
if (reason !== '') console.warn(`Following over crashes of Postgres was not tested: ${reason}`);

const [runs, nodes, crashes, followers] = [scale(4, 16), scale(40, 120), scale(1, 12), scale(2, 6)];

/** Nodes whose checkpoints need not survive a crash, and whose outputs differ each time: a history that was lost does not come back. */
function chain(): AgentGraph {
  const graph: AgentGraph = new AgentGraph({}, { id: 'chain', checkpointPolicy: 'every_node' });
  const ids = Array.from({ length: nodes }, (_, index) => `n${index}`);
  for (const id of ids)
    graph.addNode(id, async () => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      return Math.random();
    });
  for (const [index, id] of ids.entries()) graph.addEdge(ids[index - 1] ?? START, id);
  return graph.addEdge(ids.at(-1) as string, END);
}

describe.skipIf(reason !== '')(
  `following over crashes${reason === '' ? '' : `: ${reason}`}`,
  { timeout: 600_000 },
  () => {
    const server = found as PostgresUnderTest;
    afterAll(() => server.stop());

    test('each event comes once and in order to followers in other processes while the server crashes, and what they were given is the history', async () => {
      await server.empty();
      // What is not flushed for somebody waits long for the disk, so that a crash takes much of it back.
      await server.run(`alter system set wal_writer_delay = '10s'`);
      await server.run('select pg_reload_conf()');
      const runIds = Array.from({ length: runs }, (_, index) => `chain-${index + 1}`);
      const store = openStore(server.url);
      const graph = chain().compile({ store, leaseMs: 2_000, wakes: false });
      const following = Array.from(
        { length: followers },
        (_, index) => new FollowingProcess(server.url, index, index % 2 === 0 ? runIds : []),
      );
      try {
        await Promise.all(following.map((each) => each.ready()));
        const worker = createWorker({ graphs: [graph], concurrency: 32, pollMs: 100 });
        for (const runId of runIds) await graph.start({}, { runId, detach: true });
        const seenBy = (each: FollowingProcess): number =>
          [...each.seen.values()].reduce((sum, { length }) => sum + length, 0);
        for (let crash = 1; crash <= crashes; crash += 1) {
          const enough = (crash * runs * nodes) / (crashes + 1);
          await waitFor(
            `${enough} checkpoints are seen`,
            async () => following.every((each) => seenBy(each) >= enough) || undefined,
          );
          await server.crash?.();
        }
        const history = openHistory(store);
        const expected = new Map<string, readonly string[]>();
        for (const runId of runIds) expected.set(runId, await readFollowed(history, runId));
        const isLevel = (each: FollowingProcess): boolean =>
          each.faults.length > 0 ||
          runIds.every((runId) => each.seen.get(runId)?.at(-1) === expected.get(runId)?.at(-1));
        await waitFor('all have followed all', async () => following.every(isLevel) || undefined);
        for (const { seen, faults } of following) {
          expect(faults).toEqual([]);
          for (const runId of runIds) expect(seen.get(runId)).toEqual(expected.get(runId));
        }
        const sum = (name: 'resets' | 'cuts'): number => following.reduce((total, each) => total + each[name], 0);
        // Whether a crash takes back what somebody has seen is a matter of timing: the few crashes of the gate may all miss it.
        expect(sum('resets')).toBeGreaterThanOrEqual(isProving ? 1 : 0);
        expect(sum('cuts')).toBeGreaterThan(runs);
        if (isProving)
          console.log(`${crashes} crashes: ${sum('resets')} resets, ${sum('cuts')} cuts of ${followers} followers`);
        expect((await history.verify()).isValid).toBe(true);
        await worker.stop();
      } finally {
        await Promise.all(following.map((each) => each.end()));
        await graph.close();
        await store.close();
      }
    });
  },
);
