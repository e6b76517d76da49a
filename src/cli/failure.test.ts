import { expect, test } from 'vitest';
import { CairnError } from '../errors.ts';
import { reportFailure } from './report-failure.ts';
import type { Screen } from './screen.ts';
import { plain } from './text/tone.ts';

/** What an error looks like on a screen. */
function told(isTerminal: boolean, width: number): readonly string[] {
  const lines: string[] = [];
  const screen: Screen = {
    width,
    rowWidth: width,
    height: 24,
    isTerminal,
    canAsk: false,
    paint: plain,
    print: () => undefined,
    note: (...more) => void lines.push(...more),
  };
  const reason = 'its state needs a migration: reducer changed scratch.count; node removed ask';
  expect(reportFailure(new CairnError('RUN_GRAPH_CHANGED', { runId: 'r', reason }), screen, false)).toBe(3);
  return lines;
}

test('H1 in a terminal an error is broken between words, at whatever width; elsewhere it is one line', () => {
  const whole = told(false, 80);
  expect(whole).toHaveLength(2);
  for (const width of [40, 80, 200]) {
    const lines = told(true, width);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(lines.join(' ')).toBe(whole.join(' '));
  }
  expect(told(true, 80).length).toBeGreaterThan(2);
});
