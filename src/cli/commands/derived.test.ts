/** A command that is made of its operation (D26): what it takes, and what it prints. */
import { expect, test } from 'vitest';
import { openFolder } from '../../../test/cli/cairn.ts';

test('D26 a command without words of its own takes the fields of its operation, and prints what that gives by its schema', () => {
  const folder = openFolder();
  folder.write('ask.yaml', 'name: ask\nblocks:\n  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }\n');
  folder.cairn('run', 'ask.yaml', '--run-id', 'r');
  const { out, code } = folder.cairn('inspect', 'r');
  expect([code, out]).toEqual([0, expect.stringMatching(/^run id +r\ngraph id +ask\nstatus +paused\nseq +2\n/)]);
  expect(out).toMatch(/\ncreated at +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n/);
  expect(out).toMatch(/\nprogress wave +0\n/);
  expect(out).toMatch(/\nwaits\nWAIT ID .*PROMPT.*\nw_\S+ .*Go\?/);
  expect(folder.json('inspect', 'r')).toMatchObject({ runId: 'r', status: 'paused', progress: { waveCount: 1 } });
  const list = folder.cairn('checkpoints', '--limit', '2').out;
  expect(list).toMatch(/^cursor +\S+\n\ncheckpoints\nCHECKPOINT ID .*\n.* r .*\n.* r /);
  expect(folder.cairn('inspect', '--help').out).toContain('Tell where a run stands. Nothing is advanced by it.');
  expect(folder.cairn('checkpoints', '--limt', '2')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--limit') as string,
  });
});
