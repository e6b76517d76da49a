/** What of an answer is left out, and what stands in its place. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { standing } from '../contract/output-shapes.ts';
import { showCheckpoint } from '../checkpoints/show-checkpoint.ts';
import { omitLargeValues } from './omit-large.ts';
import { postMortem } from './post-mortem.ts';

const large = 'x'.repeat(70_000);
const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

const answer = (state: object, more: object = {}): object => ({
  runId: 'r',
  status: 'completed',
  seq: 3,
  state,
  ...more,
});
const omittedAt = (path: string, text: string, base = '') => ({
  omitted: {
    sha256: sha256Of(text),
    bytes: text.length,
    href: `${base}/v1/checkpoints/r%403/file?path=${encodeURIComponent(path)}`,
  },
});

test('what is small stays as it is', () => {
  const whole = answer({ scratch: { a: [1, { b: 'c' }] }, outputs: {} }, { outputs: undefined });
  expect(omitLargeValues(whole, standing)).toEqual(whole);
});

test('a large value is left out alone, wherever it stands', () => {
  const state = { scratch: { 'a.b': [{ big: large, small: 1 }] }, input: large, outputs: {} };
  expect(omitLargeValues(answer(state), standing, { base: '/cairn' })).toEqual(
    answer({
      scratch: { 'a.b': [{ big: omittedAt('scratch.a\\.b.0.big', large, '/cairn'), small: 1 }] },
      input: omittedAt('input', large, '/cairn'),
      outputs: {},
    }),
  );
});

test('what is large by its many parts is left out as a whole', () => {
  const many = Array.from({ length: 10_000 }, (_, index) => `item ${index}`);
  expect(omitLargeValues(answer({ scratch: { many, one: 1 }, outputs: {} }), standing)).toEqual(
    answer({ scratch: { many: omittedAt('scratch.many', JSON.stringify(many)), one: 1 }, outputs: {} }),
  );
});

test('of a state with very many values whole parts are left out', () => {
  const scratch = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`v${index}`, 'x'.repeat(10_000)]));
  expect(omitLargeValues(answer({ scratch, outputs: { a: 1 } }), standing)).toEqual(
    answer({ scratch: omittedAt('scratch', JSON.stringify(scratch)), outputs: { a: 1 } }),
  );
});

test('outputs of a run are left out by where they stand in its state; what stands nowhere stays', () => {
  const state = { scratch: {}, outputs: { returns: { big: large } } };
  const path = 'outputs.returns.big';
  expect(omitLargeValues(answer(state, { outputs: { big: large } }), standing)).toEqual(
    answer(
      { scratch: {}, outputs: { returns: { big: omittedAt(path, large) } } },
      { outputs: { big: omittedAt(path, large) } },
    ),
  );
  const elsewhere = answer({ scratch: {}, outputs: {} }, { outputs: { big: large } });
  expect(omitLargeValues(elsewhere, standing)).toEqual(elsewhere);
});

test('of what a checkpoint changed, large values are left out by where they stand there and in the one before', () => {
  const values = [
    { path: ['scratch', 'big'], before: large, after: `${large}y` },
    { path: ['scratch', 'small'], after: 1 },
    { path: ['child', 'run', 'scratch', 'big'], after: large },
  ];
  const shown = { runId: 'r', seq: 3, recorded: { values, steps: [] } };
  const before = {
    omitted: { ...omittedAt('scratch.big', large).omitted, href: '/v1/checkpoints/r%402/file?path=scratch.big' },
  };
  expect(omitLargeValues(shown, showCheckpoint.outputSchema)).toEqual({
    ...shown,
    recorded: {
      values: [
        { path: ['scratch', 'big'], before, after: omittedAt('scratch.big', `${large}y`) },
        values[1],
        values[2],
      ],
      steps: [],
    },
  });
});

test('of a story, large values of visits are left out, but those of child runs and what was appended', () => {
  const visit = (path: readonly string[]): object => ({
    kind: 'visit',
    runId: 'r',
    seq: 3,
    path,
    value: { text: large },
    changes: [
      { path: ['scratch', 'big'], after: large },
      { path: ['scratch', 'list'], after: large, isAppended: true },
    ],
  });
  const story = { runId: 'fork', seq: 9, entries: [visit(['a.b']), visit(['a', 'child', 'b'])] };
  expect(omitLargeValues(story, postMortem.outputSchema)).toEqual({
    ...story,
    entries: [
      {
        ...visit(['a.b']),
        value: { text: omittedAt('outputs.a\\.b.text', large) },
        changes: [
          { path: ['scratch', 'big'], after: omittedAt('scratch.big', large) },
          { path: ['scratch', 'list'], after: large, isAppended: true },
        ],
      },
      story.entries[1],
    ],
  });
});

test('at a command line the command that prints a value is named too; of a value that is in no state neither is', () => {
  const command = (checkpoint: string, path: string): string => `cairn state ${checkpoint} ${path}`;
  expect(omitLargeValues(answer({ scratch: { 'a b': large }, outputs: {} }), standing, { command })).toMatchObject({
    state: { scratch: { 'a b': { omitted: { command: 'cairn state r@3 scratch.a b', bytes: 70_000 } } } },
  });
  const change = { path: ['scratch', 'big'], before: 1, after: large, isPassing: true };
  const visit = { kind: 'visit', runId: 'r', seq: 3, path: ['a'], value: large, isPassing: true, changes: [change] };
  const gone = { omitted: { sha256: sha256Of(large), bytes: large.length } };
  expect(omitLargeValues({ entries: [visit] }, postMortem.outputSchema, { command })).toEqual({
    entries: [{ ...visit, value: gone, changes: [{ ...change, after: gone }] }],
  });
});
