/** What is in doubt has its place among what a graph may run at once (E1.3). */
import { expect, test } from 'vitest';
import { killedInEffect } from '../../../test/dying-engine.ts';
import { afterCrash, edges, graphOf, node, resumeToRest } from '../../../test/engine-kit.ts';
import type { NodeDefinition } from '../../graph/graph.ts';

test.each<[string, (run: () => unknown) => NodeDefinition]>([
  ['node', (run) => node('a', 'write', run)],
  ['step', (run) => node('a', 'read', (ctx) => ctx.step('s', { effect: 'write' }, run))],
  [
    'child run',
    (run) =>
      node('a', 'read', async (ctx) => {
        const child = graphOf('c', [node('x', 'write', run)], edges('> x', 'x >'));
        if ((await ctx.run(child, {})).status === 'failed') throw new Error('the child failed');
      }),
  ],
])('E1.3 P1 a %s in doubt counts as at work: nothing begins in its place', async (_, make) => {
  for (const answer of ['fail', 'happened']) {
    const begun: string[] = [];
    // The child run is queued behind `b`, and what follows `b` behind the child run.
    const beside = [node('b', 'pure', () => 1), node('d', 'write', () => begun.push('d'))];
    const { bench, graph } = await killedInEffect((run) =>
      graphOf('g', [make(run), ...beside], edges('> a', '> b', 'b > d', 'a >', 'd >'), {
        policies: { concurrency: 1 },
      }),
    );
    const paused = await resumeToRest(afterCrash(bench), 'r', graph);
    expect([paused.status, paused.waits.map(({ kind }) => kind), begun]).toEqual(['paused', ['doubt'], []]);
    await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', answer);
    const { status } = await resumeToRest(afterCrash(bench), 'r', graph);
    expect([status, begun]).toEqual(answer === 'happened' ? ['completed', ['d']] : ['failed', []]);
  }
});
