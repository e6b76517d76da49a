import { expect, test } from 'vitest';
import { postMortem } from '../operations/runs/post-mortem.ts';
import { printWithoutLarge } from './large-json.ts';

test('D54 JSON of a run is printed without its large values, each with the command that prints it, unless all is asked for', () => {
  const printed: unknown[] = [];
  const session = {
    printJson: (value: unknown) => void printed.push(value),
    commandLine: (...words: readonly string[]) => ['cairn', ...words].join(' '),
  };
  const value = 'x'.repeat(70_000);
  const visit = { kind: 'visit', runId: 'r', seq: 3, path: ['a'], value, changes: [] };
  for (const whole of [false, true]) printWithoutLarge(session, { entries: [visit] }, { operation: postMortem, whole });
  expect(printed).toMatchObject([
    { entries: [{ value: { omitted: { bytes: 70_000, command: 'cairn state r@3 outputs.a' } } }] },
    { entries: [{ value }] },
  ]);
});
