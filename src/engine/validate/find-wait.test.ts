import { expect, test } from 'vitest';
import { findWait, waitsNamed, type KnownWait } from './find-wait.ts';

const wait = (waitId: string, path: string, name = 'question', kind: KnownWait['kind'] = 'question'): KnownWait => ({
  waitId,
  kind,
  node: path.split('/'),
  name,
});

const waits = [
  wait('w_aaaa1', 'ask'),
  wait('w_aaab2', 'map/a/review', 'title'),
  wait('w_bbbb3', 'map/b/review', 'body'),
  wait('w_cccc4', 'title'),
  wait('w_dddd5', 'send', 'send', 'doubt'),
  wait('w_eeee6', 'nap', 'sleep', 'timer'),
  wait('w_ffff7', 'ask', 'go', 'signal'),
];
const idOf = (name: string | undefined, among = waits): string | undefined => findWait(among, 'r', name)?.waitId;

test.each([
  ['its id', 'w_bbbb3', 'w_bbbb3'],
  ['its node', 'ask', 'w_aaaa1'],
  ['the path of its node', 'map/b/review', 'w_bbbb3'],
  ['its name', 'body', 'w_bbbb3'],
  ['its node and its name', 'review/body', 'w_bbbb3'],
  ['the path of its node and its name', 'map/b/review/body', 'w_bbbb3'],
  ['its node before the name of another', 'title', 'w_cccc4'],
  ['the beginning of its id', 'w_aaab', 'w_aaab2'],
  ['the node of an effect in doubt', 'send', 'w_dddd5'],
  ['what is too short a beginning of an id', 'w_bb', undefined],
  ['what waits for a time', 'nap', undefined],
  ['what waits for a signal', 'go', undefined],
  ['nothing that is open', 'done', undefined],
  ['no text', '', undefined],
])('W3 a wait goes by %s: %s', (_, name, waitId) => {
  expect(idOf(name)).toBe(waitId);
});

test('W3 P6 where no question is open, that is what is said', () => {
  expect(() => findWait([], 'r1', undefined)).toThrow(/^run r1 has no open wait(\n| \[|$)/u);
});

test('W3 a name that fits several waits is refused with all of them; so is no name, unless one can be answered', () => {
  const refused = (name: string | undefined, among = waits): unknown => {
    try {
      return idOf(name, among);
    } catch (error) {
      return error;
    }
  };
  expect(refused('review')).toMatchObject({
    code: 'USAGE_INVALID',
    message: 'run r has several questions that fit review: map/a/review (w_aaab2), map/b/review (w_bbbb3)',
  });
  expect(refused('w_aaa')).toMatchObject({ code: 'USAGE_INVALID' });
  expect(refused(undefined)).toMatchObject({ code: 'USAGE_INVALID' });
  expect(refused(undefined, waits.slice(4))).toBe('w_dddd5');
  expect(refused(undefined, waits.slice(5))).toMatchObject({ code: 'WAIT_NOT_FOUND' });
  expect(waitsNamed(waits, 'review').map(({ waitId }) => waitId)).toEqual(['w_aaab2', 'w_bbbb3']);
});

test('W3.6 of several that fit, the one without an answer is meant; where all have one, none is', () => {
  const among = waits.map((one) => (one.waitId === 'w_aaab2' ? { ...one, isAnswered: true as const } : one));
  expect(idOf('review', among)).toBe('w_bbbb3');
  expect(idOf('map/a/review', among)).toBe('w_aaab2');
  expect(idOf(undefined, among.slice(1, 3))).toBe('w_bbbb3');
  const all = among.map((one) => ({ ...one, isAnswered: true as const }));
  expect(() => idOf('review', all)).toThrow(/several questions that fit review/u);
});
