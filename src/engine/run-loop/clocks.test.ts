/** The two clocks of a run: a wall clock that jumps ends no attempt, and a machine that slept has no lease any more (O2, E6). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node } from '../../../test/engine-kit.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Clock } from '../../ports/clock.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createVirtualClock } from '../../ports/virtual-clock.ts';
import type { RunResult } from '../api.ts';

const twoHoursMs = 2 * 60 * 60 * 1_000;

/** A clock whose wall time can be put forward, while its monotonic time goes on as it did. */
function jumpingClock(): {
  readonly clock: Clock;
  readonly run: <T>(work: Promise<T>) => Promise<T>;
  readonly jump: () => void;
} {
  const virtual = createVirtualClock();
  let aheadMs = 0;
  const clock: Clock = { ...virtual, now: () => virtual.now() + aheadMs };
  return {
    clock,
    run: (work) => virtual.run(work),
    jump: () => {
      aheadMs += twoHoursMs;
    },
  };
}

const forms: Readonly<Record<string, (effect: (ctx: { jump: () => void }) => unknown, jump: () => void) => NodeRun>> = {
  'a node': (effect, jump) => ({ effect: 'external', run: () => effect({ jump }) }),
  'a step': (effect, jump) => ({
    effect: 'read',
    run: (ctx) => ctx.step('s', { effect: 'external', timeoutMs: 5_000 }, () => effect({ jump })),
  }),
};
interface NodeRun {
  readonly effect: 'external' | 'read';
  readonly run: (ctx: NodeContext) => unknown;
}

test.each(Object.keys(forms))(
  'E6 a wall clock that jumps two hours while %s runs does not time its attempt out',
  async (form) => {
    const { clock, run, jump } = jumpingClock();
    const { engine } = createBench({ clock });
    const work = (): Promise<string> =>
      new Promise((resolve) => {
        jump();
        clock.setTimer(5, () => resolve('done'));
      });
    const { effect, run: body } = (forms[form] as (typeof forms)[string])(work, jump);
    const graph = graphOf('g', [node('a', effect, body, { timeoutMs: 5_000 })], edges('> a', 'a >'));
    const result: RunResult = await run(engine.start(graph, {}).then((handle) => handle.result()));
    expect([result.status, result.state.outputs['a']]).toEqual(['completed', 'done']);
  },
);

test('O2 after a sleep that the monotonic clock did not see, no effect begins before the lease is renewed', async () => {
  const { clock, run, jump } = jumpingClock();
  const calls: string[] = [];
  const store = createMemoryStore({ now: () => clock.now() });
  const renewClaims: typeof store.renewClaims = (claims) => (calls.push('renewed'), store.renewClaims(claims));
  const bench = createBench({ clock, store: { ...store, renewClaims } });
  const graph = graphOf(
    'g',
    [node('sleeps', 'read', async () => jump()), node('pay', 'external', () => calls.push('called'))],
    edges('> sleeps', 'sleeps > pay', 'pay >'),
  );
  const result = await run(bench.engine.start(graph, {}).then((handle) => handle.result()));
  expect([result.status, calls]).toEqual(['completed', ['renewed', 'called']]);
});
