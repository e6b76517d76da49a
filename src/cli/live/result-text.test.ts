/** Where a run stands, as it is printed for people and for programs. */
import { expect, test } from 'vitest';
import { CairnError } from '../../errors.ts';
import type { RunStanding } from '../../operations/contract/operation.ts';
import type { Session } from '../session.ts';
import { plain } from '../text/tone.ts';
import { printStanding } from './follow.ts';

const words = 'the command exited with 2: it cannot find the module that nine other files of the application ask for';

test('H1 why a run failed is broken between words in a terminal, and left whole for programs, which search for it', () => {
  const error = new CairnError('NODE_FAILED', { node: 'build', reason: words });
  const standing = {
    runId: 'r',
    status: 'failed',
    seq: 5,
    waits: [],
    failed: ['build'],
    error,
  } as unknown as RunStanding;
  const noted = (isTerminal: boolean): readonly string[] => {
    const lines: string[] = [];
    const screen = {
      isTerminal,
      width: 40,
      paint: plain,
      print: () => {},
      note: (...more: string[]) => lines.push(...more),
    };
    const session = { screen, commandLine: () => 'cairn resume r', isJson: false } as unknown as Session;
    expect(printStanding(session, standing, { now: 0, isStored: true })).toBe(3);
    return lines;
  };
  const whole = noted(false);
  expect(whole).toContain(`node build failed: ${words} [NODE_FAILED]`);
  const broken = noted(true);
  expect(Math.max(...broken.map(({ length }) => length))).toBeLessThanOrEqual(40);
  expect(broken.join(' ')).toBe(whole.join(' '));
});
