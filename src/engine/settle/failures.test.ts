import { describe, expect, test } from 'vitest';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';

const failing = node(
  'bad',
  'pure',
  () => {
    throw new NodeFailure('no disk', { code: 'DISK' });
  },
  { onFailure: 'skip-dependents' },
);

describe('E9 failures in the state', () => {
  test('E9 a node sees what failed before it, as an error, and what was skipped as neither output nor failure', async () => {
    const seen: unknown[] = [];
    const graph = graphOf(
      'g',
      [
        failing,
        node('after', 'pure', () => 1),
        node('last', 'pure', ({ state: { failures, outputs } }) => {
          const error = failures['bad'] as Error & { code?: unknown };
          seen.push(error instanceof Error, error.message, error.code, 'after' in failures, 'after' in outputs);
        }),
      ],
      [...edges('> bad', 'bad > after', 'last >'), { from: 'after', to: 'last', always: true }],
    );
    const result = await runToRest(createBench().engine, graph);
    expect(result.status).toBe('completed');
    expect(seen).toEqual([true, 'no disk', 'DISK', false, false]);
    expect(Object.keys(result.state.failures)).toEqual(['bad']);
  });

  test('G6 the condition of an edge sees the failure that it takes', async () => {
    const graph = graphOf(
      'g',
      [
        node('bad', 'pure', () => {
          throw new NodeFailure('no disk', { code: 'DISK' });
        }),
        node('mend', 'pure', () => 'mended'),
      ],
      [
        ...edges('> bad', 'mend >'),
        {
          from: 'bad',
          to: 'mend',
          on: 'failed',
          condition: { text: 'failures.bad', evaluate: ({ state }) => state.failures['bad']?.message === 'no disk' },
        },
      ],
    );
    expect((await runToRest(createBench().engine, graph)).state.outputs['mend']).toBe('mended');
  });

  test('E9 a failure is there again for an activation that runs again after a crash, as it saw it', async () => {
    const seen: string[] = [];
    const graph = graphOf(
      'g',
      [
        failing,
        node('ask', 'human', async (ctx) => {
          seen.push(Object.keys(ctx.state.failures).join());
          return ctx.ask({ prompt: 'go on?' });
        }),
        node(
          'worse',
          'read',
          async (ctx) => {
            await ctx.sleepUntil(ctx.now() + 1);
            throw new NodeFailure('worse');
          },
          { onFailure: 'skip-dependents' },
        ),
      ],
      [...edges('> bad', '> worse', 'ask >', 'worse >'), { from: 'bad', to: 'ask', always: true }],
    );
    const bench = createBench();
    const paused = await runToRest(bench.engine, graph);
    expect(Object.keys(paused.state.failures)).toEqual(['bad', 'worse']);
    await bench.engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
    const done = await resumeToRest(afterCrash(bench), paused.runId, graph);
    expect(done.status).toBe('completed');
    expect(seen).toEqual(['bad', 'bad']);
  });

  test('X2 the input of an activation is what it read of failures too', async () => {
    const graphs = [1, 2].map((version) =>
      graphOf(
        'g',
        [
          node(
            'bad',
            'pure',
            () => {
              throw new NodeFailure(`failed ${version}`);
            },
            { onFailure: 'skip-dependents', version: String(version) },
          ),
          node('tell', 'external', ({ state }) => state.failures['bad']?.message, { timeoutMs: 1e12 }),
        ],
        [...edges('> bad', 'tell >'), { from: 'bad', to: 'tell', always: true }],
      ),
    );
    const hashes = new Set<string | undefined>();
    for (const graph of graphs) {
      const bench = createBench();
      const { runId } = await runToRest(bench.engine, graph);
      const handle = await bench.engine.resume(runId, { graph });
      for await (const event of handle.events())
        if (event.type === 'checkpoint')
          for (const part of event.change)
            if (part.kind === 'settle' && part.node?.[0] === 'tell') hashes.add(part.hash);
    }
    expect(hashes.size).toBe(2);
  });
});
