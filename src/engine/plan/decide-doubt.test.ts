import { expect, test } from 'vitest';
import { decideDoubt, type DoubtDecision, type DoubtView } from './decide-doubt.ts';

/** All that can be known of an effect in doubt, each with each. */
function* everyView(): Generator<DoubtView> {
  for (const decision of [undefined, 'happened', 'run again', 'fail'] as const)
    for (const applied of [undefined, 'no', 'ended'] as const)
      for (const canReconcile of [false, true])
        for (const found of [undefined, 'happened', 'did not happen', 'unknown'] as const)
          for (const isIdempotent of [false, true])
            for (const onInDoubt of ['ask', 'fail'] as const)
              for (const isRetryPlanned of [false, true])
                yield { decision, applied, canReconcile, found, isIdempotent, onInDoubt, isRetryPlanned };
}

/** The table of docs/spec/effects.md, X3: the first line that fits decides. */
const table: readonly (readonly [line: string, fits: (view: DoubtView) => boolean, DoubtDecision])[] = [
  ['a person says that it happened', ({ decision }) => decision === 'happened', 'happened'],
  ['a person lets it run again', ({ decision }) => decision === 'run again', 'run'],
  ['a person lets it fail', ({ decision }) => decision === 'fail', 'fail'],
  ['it certainly had no effect', ({ applied }) => applied === 'no', 'run'],
  [
    'it ended and failed, and its author has it tried again',
    ({ applied, isRetryPlanned }) => applied === 'ended' && isRetryPlanned,
    'run',
  ],
  ['the world says that it happened', ({ found }) => found === 'happened', 'happened'],
  ['the world says that it did not', ({ found }) => found === 'did not happen', 'run'],
  ['the world can be asked', ({ canReconcile, found }) => canReconcile && found === undefined, 'reconcile'],
  ['a repetition does no harm', ({ isIdempotent }) => isIdempotent, 'run'],
  ['its author lets it fail', ({ onInDoubt }) => onInDoubt === 'fail', 'fail'],
  ['nothing decides: a person is asked', () => true, 'ask'],
];

test('X3 every effect in doubt is decided by the first line of the table that fits', () => {
  const used = new Set<string>();
  for (const view of everyView()) {
    const [line, , decision] = table.find(([, fits]) => fits(view)) as (typeof table)[number];
    used.add(line);
    expect([view, decideDoubt(view)]).toEqual([view, decision]);
  }
  expect(used.size).toBe(table.length);
});

test('X3 what may have happened never runs again unless someone or something says that this does no harm', () => {
  const isUnsafe = ({ decision, applied, found, isIdempotent, isRetryPlanned }: DoubtView): boolean =>
    decision !== 'run again' &&
    applied !== 'no' &&
    !(applied === 'ended' && isRetryPlanned) &&
    found !== 'did not happen' &&
    !isIdempotent;
  const unsafe = [...everyView()].filter(isUnsafe);
  expect(unsafe.length).toBeGreaterThan(0);
  expect(unsafe.filter((view) => decideDoubt(view) === 'run')).toEqual([]);
});
