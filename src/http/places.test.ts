/** Places for callers: how many, whose they are, and that each is given back once. */
import { expect, test } from 'vitest';
import { Places } from './places.ts';

const take = (places: Places, caller: string) => places.take(caller, 2, 3, 'streams');

test('a place that is given back twice is one place', () => {
  const places = new Places();
  const back = take(places, 'ann');
  take(places, 'ann');
  back();
  back();
  take(places, 'ann');
  expect(() => take(places, 'ann')).toThrow('there are 2 streams of yours already');
  take(places, 'bob');
  expect(() => take(places, 'bob')).toThrow('there are 3 streams already');
});

test('who has places left is told of all, not of his own', () => {
  const places = new Places();
  const backs = [take(places, 'ann'), take(places, 'bob'), take(places, 'bob')];
  expect(() => take(places, 'ann')).toThrow(/^there are 3 streams already$/u);
  for (const back of backs) back();
  const alike = new Places();
  for (const caller of ['ann', 'bob']) alike.take(caller, 2, 2, 'streams');
  expect(() => alike.take('ann', 2, 2, 'streams')).toThrow(/^there are 2 streams already$/u);
});
