import { expect, test } from 'vitest';
import type { VisitPast } from './contracts.ts';
import { scopePast } from './scoped-past.ts';

test('P1 a part of a function sees the calls under its prefix, by their names without it, and passes over no others', () => {
  const recorded = ['a one', 'ab two', 'a three'];
  const passed: string[] = [];
  const whole: VisitPast = {
    isFork: true,
    steps: () => recorded.map((name) => ({ name, status: 'done', output: name.length })),
    kindOf: (name) => (name === 'a one' ? 'step' : undefined),
    isRecorded: (name) => recorded.includes(name),
    isAllMade: () => false,
    answeredBy: () => undefined,
    names: () => new Set(recorded),
    passOver: (isPassed) => void passed.push(...recorded.filter(isPassed)),
  };
  const past = scopePast(whole, 'a ');
  expect(past.steps()).toEqual([
    { name: 'one', status: 'done', output: 5 },
    { name: 'three', status: 'done', output: 7 },
  ]);
  expect([...past.names()]).toEqual(['one', 'three']);
  expect([past.kindOf('one'), past.kindOf('three'), past.isRecorded('three'), past.isRecorded('two')]).toEqual([
    'step',
    undefined,
    true,
    false,
  ]);
  expect([past.isFork, past.isAllMade()]).toEqual([true, false]);
  past.passOver((name) => name !== 'one');
  expect(passed).toEqual(['a three']);
});
