/** A command that is made of its operation (D26): what it takes, and what it prints. */
import { expect, test } from 'vitest';
import { openFolder } from '../../../test/cli/cairn.ts';

test('D26 a command without words of its own takes the fields of its operation, and prints what that gives by its schema', () => {
  const folder = openFolder();
  folder.write('ask.yaml', 'name: ask\nblocks:\n  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }\n');
  folder.cairn('run', 'ask.yaml', '--run-id', 'r');
  const list = folder.cairn('checkpoints', '--limit', '2').out;
  expect(list).toMatch(/^CHECKPOINT ID .*\n.* r .*\n.* r /);
  expect(folder.json('checkpoints', '--limit', '2')).toMatchObject({ checkpoints: [{ runId: 'r' }, { runId: 'r' }] });
  expect(folder.cairn('checkpoints', '--help').out).toContain('List the checkpoints of all runs, newest first.');
  expect(folder.cairn('checkpoints', '--limt', '2')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--limit') as string,
  });
});
