/** How far pure work runs ahead of the disk (E4.4). */
import { expect, test } from 'vitest';
import { settleDown } from '../../../test/dying-engine.ts';
import { createBench, edges, graphOf, node } from '../../../test/engine-kit.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Commit, CommitReply } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import type { EngineOptions } from '../api.ts';

const ids = Array.from({ length: 20 }, (_, index) => `n${index}`);

/** Twenty nodes one after the other. */
const chain = (run: () => unknown): Graph =>
  graphOf(
    'g',
    ids.map((id) => node(id, 'pure', run)),
    edges('> n0', ...ids.slice(1).map((id, index) => `n${index} > ${id}`), 'n19 >'),
  );

/** Twenty steps one after the other, each in a checkpoint of its own. */
const steps = (run: () => unknown): Graph =>
  graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        for (const id of ids) {
          await ctx.step(id, {}, run);
          await new Promise((resolve) => setImmediate(resolve));
        }
      }),
    ],
    edges('> a', 'a >'),
  );

test.each<[string, (run: () => unknown) => Graph, EngineOptions['bounds'], number]>([
  ['nodes', chain, { pendingCommits: 4 }, 4],
  ['nodes', chain, { pendingBytes: 4_000 }, 4],
  ['steps', steps, { pendingCommits: 4 }, 4],
  ['steps', steps, { pendingBytes: 4_000 }, 4],
])(
  'E4.4 %s run ahead of so many commits and bytes, and go on when those have landed: %#',
  async (_, make, bounds, ahead) => {
    const memory = createMemoryStore({ now: () => 1_700_000_000_000 });
    const open = Promise.withResolvers<void>();
    const commit = async (given: Commit): Promise<CommitReply> => {
      await open.promise;
      return memory.commit(given);
    };
    const { engine } = createBench({ store: { ...memory, commit }, ...(bounds && { bounds }) });
    let runs = 0;
    // Each output fills a checkpoint of a little over 1,000 bytes.
    const graph = make(() => ((runs += 1), 'x'.repeat(1_000)));
    const handle = await engine.start(graph, {});
    for (let turns = 0; turns < 5; turns += 1) await settleDown();
    expect(runs).toBe(ahead);
    open.resolve();
    expect((await handle.result()).status).toBe('completed');
    expect(runs).toBe(20);
  },
);
