/**
 * What doors let through: expressions over masked values, and escapes on terminals. The oracles know nothing of our code: two runs that
 * differ in a secret alone must be told alike, and what JSON means must be what `JSON.parse` says, without a sign that moves a cursor.
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { forTerminal, jsonText } from '../../src/operations/format/terminal.ts';
import { bisectRun } from '../../src/operations/checkpoints/bisect-run.ts';
import { perform } from '../../src/operations/contract/perform.ts';
import type { HistoryContext } from '../../src/operations/contract/operation.ts';
import { scale } from '../support/scale.ts';
import { createBench, edges, graphOf, node, runToRest } from '../engine-kit.ts';

const secretKey = fc.constantFrom('password', 'api_key', 'accessToken', 'Authorization');
const secret = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme-ascii' });
const quoted = (text: string): string => JSON.stringify(text);

/** Conditions that look at a secret, at its place and around it. */
const questions: readonly ((place: string, piece: string) => string)[] = [
  (place, piece) => `${place}.startsWith(${quoted(piece)})`,
  (place, piece) => `${place} == ${quoted(piece)}`,
  (place, piece) => `${place} < ${quoted(piece)}`,
  (place, piece) => `${place}.contains(${quoted(piece)})`,
  (place) => `${place}.size() > 5`,
  (place, piece) => `input.exists(key, key != "plain" && string(input[key]).contains(${quoted(piece)}))`,
  (place, piece) => `outputs.token == ${quoted(piece)}`,
  (place, piece) => `scratch.kept.secret.startsWith(${quoted(piece)})`,
];

test('H a condition that a door takes tells nothing of what the door masks', { timeout: 1_200_000 }, async () => {
  const graph = graphOf(
    'g',
    [node('token', 'pure', ({ state }) => Object.values(state.input as object)[0])],
    edges('> token', 'token >'),
  );
  const asked = async (key: string, value: string, when: string): Promise<unknown> => {
    const bench = createBench();
    await runToRest(bench.engine, graph, { [key]: value, plain: 'seen' }, 'r');
    const context = { store: bench.store, blobs: bench.options.blobs, tenant: 'default' } as unknown as HistoryContext;
    const told = await perform(bisectRun, context, { checkpoint: 'r', when }).catch((error: Error) => error.message);
    return typeof told === 'string' ? told : [told.found?.seq, told.unanswered];
  };
  await fc.assert(
    fc.asyncProperty(secretKey, secret, secret, fc.nat(questions.length - 1), async (key, one, other, nth) => {
      const when = (questions[nth] as (typeof questions)[number])(`input.${key}`, one.slice(0, 3));
      expect(await asked(key, one, when)).toEqual(await asked(key, other, when));
    }),
    { numRuns: scale(60, 3_000) },
  );
  expect(await asked('password', 'x', 'input.plain == "seen"')).toEqual([0, undefined]);
});

/** Controls, and signs that turn the direction of writing or end a line: by their numbers in Unicode, whatever our code says. */
const moves = (text: string): boolean =>
  Array.from(text).some((sign) => {
    const code = sign.codePointAt(0) as number;
    const isControl = (code < 32 && code !== 9 && code !== 10) || (code >= 127 && code < 160);
    const isBidi = code === 0x61c || (code >= 0x200e && code <= 0x200f) || (code >= 0x202a && code <= 0x202e);
    return isControl || isBidi || (code >= 0x2066 && code <= 0x2069) || code === 0x2028 || code === 0x2029;
  });

const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u001b[2J', '\u009b31m', '\u202e', '\u2028', '\u001b]0;x\u0007', '\r', '\u001b[8m', '\u2066'),
    ),
  )
  .map((parts) => parts.join(''));

test('escapes: JSON for a terminal means the same, and no sign in it moves a cursor or turns a line', () => {
  fc.assert(
    fc.property(fc.jsonValue(), hostile, (value, text) => {
      const written = jsonText({ value, text, [text]: 1 });
      expect(moves(written)).toBe(false);
      expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify({ value, text, [text]: 1 })));
    }),
    { numRuns: scale(100, 20_000) },
  );
});

test('escapes: whatever a text holds, a terminal gets our own colours and nothing else that moves', () => {
  fc.assert(
    fc.property(hostile, hostile, (before, text) => {
      const shown = forTerminal(`${before}\u001b[31m${text}\u001b[39m`);
      expect(shown).toContain('\u001b[31m');
      // oxlint-disable-next-line no-control-regex
      expect(moves(shown.replace(/\u001b\[(?:1|2|22|31|32|33|39)m/gu, ''))).toBe(false);
    }),
    { numRuns: scale(100, 20_000) },
  );
});
