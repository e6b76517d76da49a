import { expect, test } from 'vitest';
import type { VisitPast } from './visit-past.ts';
import { scopePast } from './scoped-past.ts';

test('P1 a part of a function sees the calls under its prefix, by their names without it, and passes over no others', () => {
  const recorded = ['a one', 'ab two', 'a three'];
  const passed: string[] = [];
  const closed: string[] = [];
  const whole: VisitPast = {
    isFork: true,
    steps: () => recorded.map((name) => ({ name, status: 'done', output: name.length })),
    kindOf: (name) => (name === 'a one' ? 'step' : undefined),
    isRecorded: (name) => recorded.includes(name),
    isAllMade: () => false,
    answeredBy: () => undefined,
    answerTo: (name) => ({ value: name }),
    isAsked: (name, identity) => name === identity,
    isOfOtherCode: (name) => name === 'a one',
    childOf: () => undefined,
    names: () => new Set(recorded),
    passOver: (isPassed) => void passed.push(...recorded.filter(isPassed)),
    pass: (names) => void passed.push(...names),
    close: (names) => void closed.push(...names),
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
  past.pass(['four']);
  past.close(['five']);
  expect([passed, closed]).toEqual([['a three', 'a four'], ['a five']]);
  expect(past.isAsked('one', 'a one')).toBe(true);
  expect([past.answerTo('one'), past.isOfOtherCode('one'), past.isOfOtherCode('three')]).toEqual([
    { value: 'a one' },
    true,
    false,
  ]);
});
