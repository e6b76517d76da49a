/** The checker of previews itself: what is false is found, what is true is not. */
import { expect, test } from 'vitest';
import type { PreviewRow } from '../../src/engine/api.ts';
import { findPreviewFaults } from './find-preview-faults.ts';
import { placeOf, type Visit } from './visits.ts';

const row = (node: string, prediction: PreviewRow['prediction'], visit = 1, because?: string): PreviewRow => ({
  node: [node],
  visit,
  effect: 'pure',
  prediction,
  ...(because === undefined ? {} : { because }),
});

let order = 0;
const done = (node: string, fate: Visit['fate'], visit = 1, more: Partial<Visit> = {}): Visit => {
  const begunAt = (order += 1);
  return {
    node,
    visit,
    fate,
    from: undefined,
    begunAt,
    endedAt: begunAt,
    restedAt: undefined,
    hasAsked: false,
    ...more,
  };
};

/** The kinds of faults of rows beside what happened; `known` are places that an ancestor told of. */
function kindsOf(
  rows: readonly PreviewRow[],
  visits: readonly Visit[],
  known: readonly string[] = [],
  isFailed = false,
): readonly string[] {
  const own = new Map(visits.map((visit) => [placeOf(visit.node, visit.visit), visit]));
  return findPreviewFaults(rows, {
    visits: { own, known: new Set(known), hasAnswers: visits.length > 1 },
    isFailed,
    resting: new Set(),
  }).map(({ kind }) => kind);
}

test.each<[string, readonly PreviewRow[], readonly Visit[], readonly string[]]>([
  ['restored', [row('a', 'restored', 2)], [], []],
  ['set by the fork', [row('a', 'restored', 1, 'set by the fork')], [done('a', 'set')], []],
  ['taken over', [row('a', 'replayed', 1, 'r@2')], [done('a', 'taken over', 1, { from: 'r@2' })], ['a#1']],
  ['runs', [row('a', 'runs')], [done('a', 'ran')], []],
  ['runs again', [row('a', 'runs again')], [done('a', 'ran')], ['a#1']],
  ['asks', [row('a', 'asks')], [done('a', 'ran', 1, { hasAsked: true })], []],
  [
    'asks about a budget, as others do',
    [row('a', 'asks', 1, 'the budget of the run is spent'), row('b', 'asks')],
    [done('a', 'ran'), done('b', 'ran', 1, { hasAsked: true })],
    [],
  ],
  ['unknown, and never', [row('a', 'runs'), row('b', 'unknown', 1, 'a')], [done('a', 'ran')], []],
  [
    'unknown, and several visits',
    [row('a', 'runs'), row('b', 'unknown', 1, 'a')],
    [done('a', 'ran'), done('b', 'ran'), done('b', 'taken over', 2)],
    [],
  ],
  ['skipped', [row('a', 'runs')], [done('a', 'ended')], []],
  ['fails', [row('a', 'fails', 1, 'RUN_LIMIT')], [done('a', 'ran')], []],
  ['decided by a person', [row('a', 'restored', 1, 'decided by person')], [done('a', 'ran')], ['a#1']],
  [
    'unknown, and done when the node that had the place waited',
    [row('a', 'runs'), { ...row('c', 'unknown', 1, 'a'), isQueued: true }],
    [done('c', 'ran'), done('a', 'ran', 1, { begunAt: -2, restedAt: -1 })],
    [],
  ],
])('X5 the checker finds no fault in what is true: %s', (_, rows, visits, known) => {
  expect(kindsOf(rows, visits, known)).toEqual([]);
});

test.each<[string, readonly PreviewRow[], readonly Visit[], readonly string[]]>([
  ['runs, and nothing came of it', [row('a', 'runs')], [], []],
  ['in doubt, and nothing came of it', [row('a', 'in doubt')], [], []],
  ['replayed, and nothing came of it', [row('a', 'replayed', 1, 'r@2')], [], []],
  ['replayed, and ran', [row('a', 'replayed', 1, 'r@2')], [done('a', 'ran')], []],
  [
    'replayed from another place than told',
    [row('a', 'replayed', 1, 'r@2')],
    [done('a', 'taken over', 1, { from: 'r@3' })],
    [],
  ],
  ['runs again, and taken over', [row('a', 'runs again')], [done('a', 'taken over')], ['a#1']],
  ['runs again, and was never begun', [row('a', 'runs again')], [done('a', 'ran')], ['a#2']],
  ['runs, and was begun before', [row('a', 'runs')], [done('a', 'ran')], ['a#1']],
  ['asks, and asked nothing', [row('a', 'asks')], [done('a', 'ran')], []],
  ['restored, and ran', [row('a', 'restored')], [done('a', 'ran')], []],
  [
    'reused, and ran',
    [row('a', 'reused', 1, 'r@2'), row('a', 'reused', 2, 'r@5')],
    [done('a', 'taken over', 1, { from: 'r@2' }), done('a', 'ran', 2)],
    [],
  ],
  ['a visit is told twice', [row('a', 'runs'), row('a', 'runs')], [done('a', 'ran')], []],
  ['a visit is not told', [row('a', 'restored')], [done('a', 'ran', 2)], []],
  ['a later visit of a node that runs is not told', [row('a', 'runs')], [done('a', 'ran'), done('a', 'ran', 2)], []],
  [
    'unknown, and done before the node that decides it',
    [row('a', 'runs'), row('b', 'unknown', 1, 'a')],
    [done('b', 'ran'), done('a', 'ran')],
    [],
  ],
  [
    'unknown, and done before the node that decides it',
    [row('a', 'runs'), row('b', 'unknown', 1, 'a')],
    [done('b', 'ran'), done('a', 'ran', 1, { begunAt: -2, restedAt: -1 })],
    [],
  ],
  [
    'unknown because of a node that is not to run',
    [row('a', 'restored'), row('b', 'unknown', 1, 'a')],
    [done('b', 'ended')],
    [],
  ],
])('X5 the checker finds: %s', (kind, rows, visits, known) => {
  expect(kindsOf(rows, visits, known)).toEqual([kind]);
});

test('X5 of a failed run the checker asks only of what came', () => {
  expect(kindsOf([row('a', 'runs'), row('b', 'replayed', 1, 'r@2')], [done('a', 'ran')], [], true)).toEqual([]);
  expect(kindsOf([row('a', 'replayed', 1, 'r@2')], [done('a', 'ran')], [], true)).toEqual(['replayed, and ran']);
});
