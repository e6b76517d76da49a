/** `cancel`, `resume` and `rm` with a filter in place of a run (D51). */
import { expect, test } from 'vitest';
import { openFolder } from '../../test/cli/cairn.ts';

test('D51 the filters of ls stand in place of a run, a dry run shows what it would be, and what is removed is confirmed', () => {
  const folder = openFolder();
  folder.write('ask.yaml', 'name: ask\nblocks:\n  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }\n');
  for (const id of ['a', 'b']) folder.cairn('run', 'ask.yaml', '--run-id', id, '--label', `for=${id}`);
  expect(folder.cairn('cancel', '--status', 'paused', '--dry-run').out).toBe(
    'cancel: 2 runs\n  b  paused  ask\n  a  paused  ask\n',
  );
  expect(folder.cairn('cancel', 'a', '--status', 'paused').err).toContain('Give a run, or a filter.');
  expect(folder.cairn('cancel').err).toContain('there is no filter');
  expect(folder.cairn('cancel', '--label', 'for=a').out).toMatch(/^cancel: 1 of 1 run \(cairn:bulk:/u);
  expect(folder.cairn('rm', '--label', 'for=a').err).toContain('Look at it with --dry-run, then say --yes.');
  expect(folder.cairn('rm', '--label', 'for=a', '--yes')).toMatchObject({ code: 0 });
  expect(folder.cairn('cancel', 'b')).toMatchObject({ code: 0 });
  expect(folder.cairn('resume', '--status', 'cancelled')).toMatchObject({
    code: 3,
    out: expect.stringContaining('1 could not be changed') as string,
  });
});

test('D51 failed runs are listed by what they failed by', () => {
  const folder = openFolder();
  folder.write('fail.yaml', 'name: fail\nblocks:\n  - { id: breaks, type: Shell, inputs: { command: exit 3 } }\n');
  for (const id of ['a', 'b']) folder.cairn('run', 'fail.yaml', '--run-id', id);
  const groups = folder.cairn('ls', '--group', 'error').out;
  expect(groups).toMatch(/RUNS +ERROR +MESSAGE +NEWEST\n +2 +(\w+) .* b\n/u);
  const [, code = ''] = /\n +2 +(\w+) /u.exec(groups) ?? [];
  expect(folder.cairn('ls', '--error', code).out).toMatch(/b .*failed[\s\S]*a .*failed/u);
  expect(folder.cairn('ls', '--error', 'NODE_EXITED').out).not.toContain('failed');
});
