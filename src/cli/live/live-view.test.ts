import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { OpenQuestion } from '../../operations/waits/find-wait.ts';
import type { WatchedEvent } from '../../operations/contract/operation.ts';
import { formatRow, openLiveView, Progress } from './live-view.ts';
import type { Screen } from '../screen.ts';
import { plain } from '../text/tone.ts';
import { widthOf } from '../text/width.ts';

const character = fc.constantFrom(
  ...'ab 日é😀—\u0301\u001b\u0007\u009b\u202e\n\r\t\ud800'.split(''),
  '😀',
  '\u001b[2J',
);

const live = (type: 'started' | 'waiting' | 'retrying', node: string, detail?: unknown): WatchedEvent => ({
  type,
  runId: 'r',
  after: 0,
  node: [node],
  detail,
});
const checkpoint = (seq: number, at: number, ...change: object[]): WatchedEvent =>
  ({ type: 'checkpoint', runId: 'r', seq, checkpointId: `k.${seq}`, at, change }) as WatchedEvent;

test('H1 progress follows each node from its start to how it settled, in the order they began', () => {
  const progress = new Progress();
  progress.take(live('started', 'b'), 1_000);
  progress.take(live('retrying', 'b', { attempt: 2, retryAt: 3_000 }), 1_100);
  progress.take(
    checkpoint(1, 1_100, { kind: 'retry', node: ['b'], attempt: 1, error: { code: 'X', message: 'away' } }),
    1_100,
  );
  progress.take(checkpoint(2, 1_200, { kind: 'settle', node: ['a'], durationMs: 400 }), 1_200);
  progress.take(live('waiting', 'c', { wait: { kind: 'signal', name: 'go' } }), 1_300);
  progress.take(checkpoint(3, 1_300, { kind: 'wait', node: ['c'], wait: 'w' }), 1_300);
  expect(progress.rows).toEqual([
    { node: 'a', state: 'completed', attempt: 1, visit: 1, since: 800, durationMs: 400 },
    { node: 'b', state: 'retrying', attempt: 1, visit: 1, since: 1_000, startedAt: 1_000, until: 3_000, note: 'away' },
    { node: 'c', state: 'waiting', attempt: 1, visit: 1, since: 1_300, note: 'signal go' },
  ]);
  progress.take(
    checkpoint(4, 3_500, {
      kind: 'settle',
      node: ['b'],
      status: 'failed',
      attempt: 2,
      durationMs: 20,
      error: { code: 'X', message: 'gone' },
    }),
    3_500,
  );
  expect(progress.rows[1]).toMatchObject({ state: 'failed', attempt: 2, durationMs: 20, note: 'X: gone' });
  expect(progress.rows[1]).not.toHaveProperty('until');
});

test('H1 a node that completed without quite succeeding is not shown as one that did, until it begins again', () => {
  const progress = new Progress();
  const rowsOf = (): readonly string[] => progress.rows.map((row) => formatRow(row, 4, { width: 60, paint: plain }, 0));
  progress.take(checkpoint(1, 1_000, { kind: 'settle', node: ['test'], verdict: 'fail', durationMs: 400 }), 1_000);
  progress.take(checkpoint(2, 1_100, { kind: 'settle', node: ['vote'], verdict: 'partial_success' }), 1_100);
  progress.take(checkpoint(3, 1_200, { kind: 'replay', node: ['fork'], verdict: 'skipped' }), 1_200);
  expect(rowsOf()).toEqual(['  ✗ test  fail       400 ms', '  ! vote  partial success', '  ! fork  skipped']);
  progress.take(live('started', 'test'), 1_300);
  progress.take(checkpoint(4, 1_400, { kind: 'settle', node: ['test'], visit: 2 }), 1_400);
  expect(rowsOf()[0]).toBe('  ✓ test  completed  visit 2');
});

test('H1 attempts are counted anew in each visit, whether its begin or only its end is seen', () => {
  const progress = new Progress();
  const at = (): readonly unknown[] => progress.rows.map(({ visit, attempt }) => [visit, attempt]);
  progress.take(live('started', 'a'), 1_000);
  progress.take(live('retrying', 'a', { attempt: 2 }), 1_100);
  progress.take(checkpoint(1, 1_200, { kind: 'settle', node: ['a'], attempt: 2 }), 1_200);
  expect(at()).toEqual([[1, 2]]);
  progress.take(live('started', 'a'), 1_300);
  expect(at()).toEqual([[1, 1]]);
  progress.take(checkpoint(2, 1_300, { kind: 'intent', node: ['a'], step: 'work', visit: 2, attempt: 1 }), 1_300);
  progress.take(live('retrying', 'a', { attempt: 3 }), 1_400);
  progress.take(checkpoint(3, 1_500, { kind: 'settle', node: ['a'], visit: 2 }), 1_500);
  expect(at()).toEqual([[2, 3]]);
  progress.take(checkpoint(4, 1_600, { kind: 'settle', node: ['a'], visit: 3 }), 1_600);
  expect(at()).toEqual([[3, 1]]);
});

test('H1 no line of the view is wider than the screen', () => {
  const row = fc.record({
    node: fc.string({ unit: character, maxLength: 60 }),
    state: fc.constantFrom<'running' | 'waiting' | 'retrying' | 'failed'>('running', 'waiting', 'retrying', 'failed'),
    attempt: fc.integer({ min: 1, max: 99 }),
    visit: fc.integer({ min: 1, max: 999 }),
    verdict: fc.constantFrom('fail', 'partial_success', 'x'.repeat(40)),
    since: fc.constant(0),
    startedAt: fc.constant(0),
    until: fc.integer({ min: 0, max: 10 ** 9 }),
    note: fc.string({ unit: character, maxLength: 200 }),
  });
  fc.assert(
    fc.property(row, fc.integer({ min: 40, max: 200 }), (row, width) => {
      expect(widthOf(formatRow(row, Math.floor(width / 3), { width, paint: plain }, 5_000))).toBeLessThanOrEqual(width);
    }),
  );
});

test('H1 elsewhere than in a terminal, what a node waits for is said once, at the latest when the run is at rest', () => {
  const lines: string[] = [];
  const screen = {
    isTerminal: false,
    rowWidth: 80,
    paint: plain,
    note: (...more: string[]) => void lines.push(...more),
  };
  const view = openLiveView(screen as unknown as Screen);
  const open = (node: string): OpenQuestion =>
    ({ runId: 'r', waitId: `w_${node}`, node: [node], kind: 'question', name: 'question' }) as unknown as OpenQuestion;
  for (const node of ['told', 'untold']) view.watch(checkpoint(1, 1_000, { kind: 'wait', node: [node], wait: 'w' }));
  view.watch(live('waiting', 'told', { wait: open('told') }));
  expect(lines).toEqual(['  ? told      waiting    waits for an answer']);
  view.stop([open('told'), open('untold')]);
  expect(lines.slice(1)).toEqual(['  ? untold    waiting    waits for an answer']);
});
