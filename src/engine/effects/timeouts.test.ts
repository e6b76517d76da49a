/** Timeouts of effects: what was told to stop may still act on the world for a while, and nothing follows it in that time. */
import { expect, test } from 'vitest';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import { createBench, edges, graphOf, node, runToRest, type Bench } from '../../../test/engine-kit.ts';

type Work = (signal: AbortSignal) => Promise<unknown>;

/** A node that is an effect, or one whose step is. It may take 1 s, and is tried once more. */
function graphWith(kind: 'node' | 'step', work: Work, effect: 'external' | 'pure'): Graph {
  const bounds = { effect, idempotent: true, timeoutMs: 1_000, retry: { attempts: 2, delayMs: 10 } } as const;
  const run = (ctx: NodeContext): Promise<unknown> =>
    kind === 'node' ? work(ctx.signal) : ctx.step('s', bounds, ({ signal }) => work(signal));
  const { timeoutMs, retry } = bounds;
  const a = kind === 'node' ? node('a', effect, run, { timeoutMs, retry, idempotent: true }) : node('a', 'read', run);
  return graphOf('g', [a], edges('> a', 'a >'));
}

/** Work that ends this long after it was told to stop, with a line for each beginning and end, and the virtual time of both. */
function slowToStop({ clock }: Bench, delayMs: number, lines: string[]): Work {
  const startedAt = clock.timeMs;
  const note = (word: string): void => void lines.push(`${word} ${clock.timeMs - startedAt}`);
  return (signal) => {
    note('begins');
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => clock.setTimer(delayMs, () => resolve(note('ends'))));
    });
  };
}

test.each(['node', 'step'] as const)(
  'P2 E6 the next attempt of an effect (a %s) begins when the one that timed out has ended; what it gives then is late',
  async (kind) => {
    const bench = createBench();
    const lines: string[] = [];
    const result = await runToRest(bench.engine, graphWith(kind, slowToStop(bench, 1_500, lines), 'external'));
    expect(lines).toEqual(['begins 0', 'ends 2500', 'begins 2510', 'ends 5010']);
    expect([result.status, result.error?.message]).toEqual(['failed', expect.stringContaining('1000 ms')]);
  },
);

test.each(['node', 'step'] as const)('P2 E6 an effect (a %s) that does not stop has cancelGraceMs', async (kind) => {
  const bench = createBench();
  const lines: string[] = [];
  const result = await runToRest(bench.engine, graphWith(kind, slowToStop(bench, 60_000, lines), 'external'));
  expect(lines.slice(0, 2)).toEqual(['begins 0', 'begins 6010']);
  expect(result.status).toBe('failed');
});

test.each(['node', 'step'] as const)('E6 nobody waits for the end of what only computes (a %s)', async (kind) => {
  const bench = createBench();
  const lines: string[] = [];
  await runToRest(bench.engine, graphWith(kind, slowToStop(bench, 1_500, lines), 'pure'));
  expect(lines.slice(0, 2)).toEqual(['begins 0', 'begins 1010']);
});
