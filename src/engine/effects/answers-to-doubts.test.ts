/** What a person says of an effect in doubt: what becomes of it, in this attempt and in a resume of the failed run (X3). */
import { expect, test } from 'vitest';
import { decide, ofNode, ofStep } from '../../../test/doubt-kit.ts';
import { killedInEffect } from '../../../test/dying-engine.ts';
import { edges, graphOf, node } from '../../../test/engine-kit.ts';

test.each([
  ['node', ofNode, 'fail'],
  ['step', ofStep, 'fail'],
  ['step', ofStep, { decision: 'fail' }],
])(
  'X3.5 a %s that a person said to have failed is asked about anew by a resume of the failed run',
  async (_, make, answer) => {
    const { bench, graph } = await killedInEffect(make);
    expect((await decide(bench, graph, answer)).status).toBe('failed');
    expect((await decide(bench, graph, 'run again')).state.outputs['a']).toBe('call 2');
  },
);

test('X3.9 a step makes its output of what a person says, who is asked again where it cannot', async () => {
  const readAnswer = (given: unknown): unknown => {
    if (typeof given === 'string') throw new Error('give a number');
    return { told: given };
  };
  const { bench, graph, calls } = await killedInEffect((run) =>
    graphOf(
      'g',
      [node('a', 'read', (ctx) => ctx.step('s', { effect: 'write', readAnswer }, run))],
      edges('> a', 'a >'),
    ),
  );
  const again = await decide(bench, graph, { decision: 'happened', output: 'seven' });
  expect([again.status, again.waits[0]?.prompt]).toEqual([
    'paused',
    'It is not known whether this write effect happened: a, step s. Did it? (The answer before does not fit: give a number)',
  ]);
  expect((await decide(bench, graph, 'happened')).state.outputs['a']).toEqual({ told: null });
  expect(calls()).toBe(1);
});
