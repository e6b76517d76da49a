import { expect, test } from 'vitest';
import { storyPage } from '../../app/draw/story-page.ts';
import { FileRef } from '../../graph/file-ref.ts';
import type { PostMortem } from '../../operations/runs/post-mortem.ts';
import { formatStory } from './story-text.ts';

const at = (seq: number): { runId: string; seq: number; at: number } => ({ runId: 'r', seq, at: 1_000 * seq });
const hash = 'K_0U9D0X_HzqJOCReoh5tL';
const failure = { code: 'TOOL_FAILED', message: 'no such city' };

const story: PostMortem = {
  runId: 'r',
  graphId: 'trip',
  status: 'completed',
  seq: 9,
  startedAt: 0,
  endedAt: 9_000,
  entries: [
    { kind: 'start', ...at(0) },
    {
      kind: 'visit',
      ...at(8),
      path: ['adviser'],
      visit: 1,
      status: 'completed',
      attempts: 1,
      retries: [],
      steps: [
        { ...at(1), step: `model ${hash}`, status: 'done' },
        { ...at(2), step: `tool weather ${hash}`, status: 'done' },
        { ...at(3), step: `tool weather ${hash} 2`, status: 'done' },
        { ...at(4), step: `tool mail ${hash}`, status: 'failed', error: failure },
        { ...at(5), step: 'model MzqJOCReoh5tLK_0U9D0X_', status: 'done' },
      ],
      questions: [],
      changes: [],
      edges: [],
    },
  ],
  failures: {},
};

test('N13 of the steps of a node those are counted that do the same, and failed ones are told one by one', () => {
  const lines = formatStory(story, { width: 80, paint: (_tone, text) => text });
  expect(lines.slice(2)).toEqual([
    '',
    '@0    the run was started',
    '@8    adviser completed',
    '      steps: model ×2, tool weather ×2',
    '      tool mail K_0U9D0X… failed: no such city [TOOL_FAILED]',
  ]);
});

test('N13 of a long text that was replaced the beginning is shown, so that what came after it can be read', () => {
  const [start, visit] = story.entries;
  const changes = [{ path: ['scratch', 'answer'], before: 'x'.repeat(100), after: 'a better one' }];
  const changed = { ...story, entries: [start, { ...visit, steps: [], changes }] } as PostMortem;
  const lines = formatStory(changed, { width: 80, paint: (_tone, text) => text });
  expect(lines[5]).toBe(`      scratch.answer: "${'x'.repeat(22)}… → "a better one"`);
});

test('N13 of a large value its size is told and how it is read, and what was deleted is gone', () => {
  const [start, visit] = story.entries;
  const file = new FileRef({ hash: 'a'.repeat(64), name: 'log.txt', type: 'text/plain', sizeBytes: 2_048 });
  const changes = [
    { path: ['scratch', 'big'], afterBytes: 3 * 1024 * 1024 },
    { path: ['scratch', 'was'], beforeBytes: 300 * 1024, after: 'small' },
    { path: ['scratch', 'old'], before: 1, isDeleted: true },
    { path: ['scratch', 'file'], after: { '~large': file, isJson: false, head: 'a', tail: 'z', characters: 2_048 } },
  ];
  const changed = { ...story, entries: [start, { ...visit, steps: [], changes }] } as PostMortem;
  expect(formatStory(changed, { width: 80, paint: (_tone, text) => text }).slice(5)).toEqual([
    '      scratch.big: large, 3.0 MiB: cairn state r@8 scratch.big',
    '      scratch.was: large, 300.0 KiB → "small"',
    '      scratch.old: 1 → gone',
    '      scratch.file: large, 2.0 KiB, kept as log.txt',
  ]);
  const page = storyPage(changed);
  for (const text of ['large, 3.0 MiB: cairn state r@8 scratch.big', 'large, 300.0 KiB', '>gone<', 'kept as log.txt'])
    expect(page).toContain(text);
});
