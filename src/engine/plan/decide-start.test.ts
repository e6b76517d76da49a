import { expect, test } from 'vitest';
import { decideStart, nothingRecorded, type StartDecision, type StartView } from './decide-start.ts';

const fresh: StartView<string> = {
  isOverLimit: false,
  isEffect: false,
  isSupplied: false,
  earlier: nothingRecorded,
  passesCondition: () => true,
  offer: () => undefined,
  now: 100,
};
const earlierWith = (fields: Partial<StartView<string>['earlier']>): Partial<StartView<string>> => ({
  earlier: { ...nothingRecorded, ...fields },
});
const record = { kind: 'replay', offer: 'record' } as const;
/** An ancestor recorded an outcome; it announced nothing since. */
const outcome = { offer: (what: string) => (what === 'any' ? 'record' : undefined) };
/** An ancestor began it again after the fork point. */
const reopened = { offer: () => 'record' };

type Case = readonly [what: string, view: Partial<StartView<string>>, decision: StartDecision<string>];

const notBegun: readonly Case[] = [
  ['nothing speaks against it', {}, { kind: 'begin' }],
  ['an effect', { isEffect: true }, { kind: 'begin' }],
  ['over its limit, whatever else', { isOverLimit: true, isSupplied: true, ...outcome }, { kind: 'overLimit' }],
  ['turned away, whatever else', { passesCondition: () => false, isSupplied: true, ...outcome }, { kind: 'skip' }],
  ['supplied, though recorded', { isSupplied: true, ...outcome }, { kind: 'supplied' }],
  ['recorded', outcome, record],
  ['an effect that is recorded', { isEffect: true, ...outcome }, record],
  ['an effect that the original has begun', { isEffect: true, ...reopened }, record],
];

const begun: readonly Case[] = [
  ['earlierWith steps or a view', {}, { kind: 'begin' }],
  ['failed for its limit', { isOverLimit: true, ...outcome }, { kind: 'overLimit' }],
  ['failed for its limit, supplied', { isOverLimit: true, isSupplied: true }, { kind: 'supplied' }],
  ['its condition does not count twice', { passesCondition: () => false }, { kind: 'begin' }],
  [
    'supplied, whatever it earlierWith',
    { isSupplied: true, isEffect: true, ...earlierWith({ hasIntent: true }) },
    { kind: 'supplied' },
  ],
  ['saved its outcome', earlierWith({ hasOutcome: true, hasIntent: true }), { kind: 'saved' }],
  ['an effect in doubt', { isEffect: true, ...earlierWith({ hasIntent: true }) }, { kind: 'doubt' }],
  ['in doubt, and recorded', { isEffect: true, ...earlierWith({ hasIntent: true }), ...outcome }, { kind: 'doubt' }],
  ['in doubt, and begun again', { isEffect: true, ...earlierWith({ hasIntent: true }), ...reopened }, record],
  [
    'an effect that is tried again, and recorded',
    { isEffect: true, ...earlierWith({ retryAt: 200 }), ...outcome },
    record,
  ],
  [
    'no effect, and recorded: its steps are taken over',
    { ...earlierWith({ retryAt: 200 }), ...outcome },
    { kind: 'later', at: 200 },
  ],
  ['tried again later', earlierWith({ retryAt: 101 }), { kind: 'later', at: 101 }],
  ['tried again now', earlierWith({ retryAt: 100 }), { kind: 'begin' }],
  [
    'in doubt, and due later: judged first',
    { isEffect: true, ...earlierWith({ hasIntent: true, retryAt: 200 }) },
    { kind: 'doubt' },
  ],
];

test.each(notBegun)('X2 an activation that has not begun: %s', (_, view, decision) => {
  expect(decideStart({ ...fresh, ...view }, false)).toEqual(decision);
});

test.each(begun)('X3 an activation that has begun: %s', (_, view, decision) => {
  expect(decideStart({ ...fresh, ...view }, true)).toEqual(decision);
});

test('E3 what costs something is asked for only where it decides', () => {
  const asked: string[] = [];
  const view = {
    ...fresh,
    passesCondition: () => asked.push('condition') > 0,
    offer: (what: string) => void asked.push(what),
  };
  decideStart({ ...view, isOverLimit: true }, false);
  expect(asked).toEqual([]);
  decideStart({ ...view, isSupplied: true }, false);
  expect(asked).toEqual(['condition']);
  decideStart({ ...view, isEffect: true, ...earlierWith({ hasIntent: true }) }, true);
  expect(asked).toEqual(['condition', 'announced']);
  decideStart(view, true);
  expect(asked).toEqual(['condition', 'announced']);
});

test('P6 what the condition throws is not taken for an answer', () => {
  const fault = new Error('no such channel');
  const passesCondition = (): boolean => {
    throw fault;
  };
  expect(() => decideStart({ ...fresh, passesCondition }, false)).toThrow(fault);
});
