/** What becomes of a due time while a run of its schedule goes on (W7.8). */
import { expect, test } from 'vitest';
import { decideOverlap, type Overlap, type WantedRun } from './overlap.ts';

const wanted = (runId: string, overlap: Overlap, isAsked = false): WantedRun => ({
  runId,
  at: Number(runId),
  overlap,
  ...(isAsked && { isAsked: true }),
});

/** `start | wait | skip`, and `!` if what goes on is cancelled. */
function decided(isBusy: boolean, ...runs: readonly WantedRun[]): string {
  const { start, wait, skip, cancels } = decideOverlap(runs, isBusy);
  const ids = (list: readonly WantedRun[]): string => list.map(({ runId }) => runId).join(' ');
  return `${ids(start)}|${ids(wait)}|${ids(skip)}${cancels ? '!' : ''}`;
}

test.each([
  ['skip', false, '1||2'],
  ['skip', true, '||1 2'],
  ['queue', false, '1|2|'],
  ['queue', true, '|1|2'],
  ['cancel-previous', true, '|2|1!'],
  ['allow', true, '1 2||'],
] as const)('W7.8 of two times under %s, while a run goes on: %s', (overlap, isBusy, expected) => {
  expect(decided(isBusy, wanted('1', overlap), wanted('2', overlap))).toBe(expected);
});

test('W7.8 what a person asks for waits as often as it was asked for, and leaves the time of the schedule its place', () => {
  expect(decided(true, wanted('1', 'queue', true), wanted('2', 'queue', true), wanted('3', 'queue'))).toBe('|1 2 3|');
  expect(decided(false, wanted('1', 'queue', true), wanted('2', 'queue', true), wanted('3', 'queue'))).toBe('1|2 3|');
  expect(decided(true, wanted('1', 'allow', true), wanted('2', 'skip'))).toBe('1||2');
});
