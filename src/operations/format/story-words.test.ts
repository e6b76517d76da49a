import { expect, test } from 'vitest';
import { storyPage } from '../../app/draw/story-page.ts';
import { formatStory } from '../../cli/text/story-text.ts';
import type { PostMortem } from '../../history/explain/story.ts';
import { storySummary } from './story-summary.ts';
import { storyWords } from './story-words.ts';

const at = (seq: number): { runId: string; seq: number; at: number } => ({ runId: 'r', seq, at: 1_000 * seq });

const story: PostMortem = {
  runId: 'r',
  graphId: 'release',
  status: 'failed',
  seq: 9,
  startedAt: 0,
  endedAt: 9_000,
  forkedFrom: { runId: 'q', seq: 4 },
  entries: [
    { kind: 'start', ...at(0), by: 'ann' },
    {
      kind: 'visit',
      ...at(1),
      path: ['build'],
      visit: 1,
      status: 'failed',
      attempts: 1,
      error: { code: 'NODE_FAILED', message: 'no compiler' },
      retries: [],
      steps: [],
      questions: [],
      changes: [],
      edges: [{ to: 'check', fired: true, because: '' }],
    },
    {
      kind: 'visit',
      ...at(7),
      path: ['check'],
      visit: 2,
      status: 'completed',
      attempts: 2,
      value: { outcome: 'fail', failure_reason: 'a test is red' },
      retries: [{ ...at(2), attempt: 1, error: { code: 'TOOL_FAILED', message: 'no disk' } }],
      steps: [
        { ...at(3), step: 'tool look', status: 'done' },
        { ...at(4), step: 'tool test', status: 'done' },
        { ...at(5), step: 'tool mail', status: 'failed', error: { code: 'TOOL_FAILED', message: 'no such address' } },
      ],
      questions: [{ ...at(5), kind: 'question', name: 'go', prompt: 'Go on?', closedAt: at(6), by: 'ben', answer: 1 }],
      changes: [
        { path: ['scratch', 'outcome'], after: 'fail' },
        { path: ['scratch', 'found'], before: 1, after: 2 },
      ],
      edges: [{ to: '__end__', label: 'no', fired: true, because: 'the condition holds', condition: 'outcome=fail' }],
    },
  ],
  failures: { check: { code: 'STAGE_FAILED', message: 'a test is red' } },
  result: { status: 'fail', gates: { check: 'failed' } },
};

test('P14 a terminal and a page tell the same: all words of a story stand in both', () => {
  const words = storyWords(story);
  const summary = storySummary(story, words);
  const told = [
    summary.outcome,
    ...words.facts,
    ...[...summary.failures, ...summary.failedOnTheWay].map(({ text }) => text),
    ...summary.gates.map(([gate]) => gate),
    ...words.entries.flatMap((entry) =>
      entry.kind === 'event'
        ? [entry.text]
        : [
            entry.outcome,
            ...entry.facts,
            ...entry.notes.map(({ text }) => text),
            ...entry.edges.flatMap(({ why }) => why),
          ],
    ),
  ];
  expect(told).toEqual([
    'fail',
    '9.0 s',
    'forked from q@4',
    'check failed: a test is red [STAGE_FAILED]',
    'build: no compiler [NODE_FAILED] → check',
    'check',
    'the run was started by ann',
    'failed',
    'no compiler [NODE_FAILED]',
    'fail',
    'visit 2',
    '2 attempts',
    'attempt 1 failed: no disk [TOOL_FAILED], tried again',
    'steps: tool look, tool test',
    'tool mail failed: no such address [TOOL_FAILED]',
    'asked Go on?: answered 1 by ben after 1.0 s',
    'a test is red',
  ]);
  const text = formatStory(story, { width: 200, paint: (_tone, part) => part }).join('\n');
  const page = storyPage(story).replaceAll('&gt;', '>');
  for (const part of told) {
    expect(text).toContain(part);
    expect(page).toContain(part);
  }
});

test('P14 what an engine notes of a stage for itself is no change of the story', () => {
  const visit = storyWords(story).entries.at(-1);
  expect(visit?.kind === 'visit' && visit.changes.map(({ path }) => path)).toEqual([['scratch', 'found']]);
});

test('P14 a question of several lines is told in one, and a function without a name once, by its edge', () => {
  const visit = story.entries.at(-1);
  if (visit?.kind !== 'visit') throw new Error('the story begins otherwise');
  const told = storyWords({
    ...story,
    entries: [
      {
        ...visit,
        questions: [{ ...at(5), kind: 'question' as const, name: 'go', prompt: 'May it?\n{\n  "to": "ada"\n}' }],
        edges: [
          { to: 'pay', fired: true, because: 'its function said yes', condition: 'check -> pay' },
          { to: 'stop', fired: false, because: 'its function said no, or was not asked', condition: 'isBad' },
        ],
      },
    ],
  });
  const [words] = told.entries;
  if (words?.kind !== 'visit') throw new Error('no visit is told');
  expect(words.notes.find(({ kind }) => kind === 'asked')?.text).toBe(
    'asked May it? { "to": "ada" }: not needed any more',
  );
  expect(words.edges.map(({ why }) => why)).toEqual([
    ['its function said yes'],
    ['isBad', 'its function said no, or was not asked'],
  ]);
});

test('X3.5 that an effect happened without an output is told as an empty one', () => {
  const visit = story.entries.at(-1);
  if (visit?.kind !== 'visit') throw new Error('the story begins otherwise');
  const saidOf = (answer: unknown): string | undefined => {
    const doubt = { ...at(5), kind: 'doubt' as const, name: 'in doubt', prompt: 'Did it?', closedAt: at(6), answer };
    const [words] = storyWords({ ...story, entries: [{ ...visit, questions: [doubt] }] }).entries;
    return words?.kind === 'visit' ? words.notes.find(({ kind }) => kind === 'asked')?.text : undefined;
  };
  expect(saidOf('happened')).toBe('asked Did it?: answered "happened", and what it gave as empty after 1.0 s');
  expect(saidOf({ decision: 'happened' })).toContain('what it gave as empty');
  expect(saidOf({ decision: 'happened', output: 1 })).not.toContain('empty');
  expect(saidOf('run again')).not.toContain('empty');
});

test('N13 what a fork took over is its outcome: of a visit with several ways, the way was decided in the fork', () => {
  const visit = story.entries.at(-1);
  if (visit?.kind !== 'visit') throw new Error('the story ends otherwise');
  const notesOf = (edges: typeof visit.edges): readonly string[] => {
    const [words] = storyWords({
      ...story,
      entries: [{ ...visit, retries: [], steps: [], questions: [], edges, takenFrom: { runId: 'q', seq: 6 } }],
    }).entries;
    return words?.kind === 'visit' ? words.notes.slice(0, 1).map(({ text }) => text) : [];
  };
  const edge = { to: 'large', fired: false, because: 'check did not name it' };
  expect(notesOf([edge])).toEqual(['its outcome was taken over from q@6']);
  expect(notesOf([edge, { ...edge, to: 'small', fired: true }])).toEqual([
    'its outcome was taken over from q@6; where it goes on was decided anew',
  ]);
});

test('N13 what is asked while a visit has not ended is open, and stands in the summary; a diamond that passes a failure on is none', () => {
  const visit = story.entries.at(-1);
  if (visit?.kind !== 'visit') throw new Error('the story ends otherwise');
  const { attempts: _, value: __, ...begun } = visit;
  const question = { ...at(5), kind: 'question' as const, name: 'go', prompt: 'Go on?' };
  const told: PostMortem = {
    ...story,
    failures: {},
    entries: [
      { ...visit, path: ['passed'], type: 'conditional', value: { outcome: 'fail', failure_reason: 'a test is red' } },
      { ...begun, path: ['ask'], status: 'started', questions: [question] },
    ],
  };
  const words = storyWords(told);
  expect(words.entries.map((entry) => entry.kind === 'visit' && entry.outcome)).toEqual(['fail', 'waiting']);
  const { open, failedOnTheWay } = storySummary(told, words);
  expect(open).toEqual([{ text: 'ask asked Go on?: still open', visit: words.entries[1] }]);
  expect(failedOnTheWay).toEqual([]);
});

test("N13 a step that is all the work of a node is not named: its failed attempts are the node's, and its failure is told once", () => {
  const visit = story.entries.at(-1);
  if (visit?.kind !== 'visit') throw new Error('the story ends otherwise');
  const error = { code: 'EXIT_CODE', message: 'exited with 1' };
  const notesOf = (steps: readonly string[]): readonly string[] => {
    const [words] = storyWords({
      ...story,
      entries: [
        {
          ...visit,
          retries: [{ ...at(2), attempt: 1, step: steps[0] ?? '', error }],
          steps: steps.map((step) => ({ ...at(3), step, status: 'failed' })),
          questions: [],
        },
      ],
    }).entries;
    return words?.kind === 'visit' ? words.notes.map(({ text }) => text) : [];
  };
  expect(notesOf(['work'])).toEqual(['attempt 1 failed: exited with 1 [EXIT_CODE], tried again', 'a test is red']);
  expect(notesOf(['build', 'send'])).toEqual([
    'build: attempt 1 failed: exited with 1 [EXIT_CODE], tried again',
    'build failed',
    'send failed',
    'a test is red',
  ]);
});
