/** The command line as a process: what scripts rely on, the exit codes that are not those of an error on the way in. */
import { once } from 'node:events';
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openFolder, releaseGraph, type Folder } from '../../test/cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const pair = `name: pair
blocks:
  - { id: color, type: AskChoice, inputs: { question: "Which color?", choices: [red, green] } }
  - { id: size, type: GetInput, inputs: { prompt: "How large?", validation_pattern: "^[0-9]+$" } }
outputs: { said: "\${color.choice} \${size.input_value}" }
`;

/** A folder with a run `r` of two questions. */
function askTwo(): Folder {
  const folder = openFolder();
  folder.write('pair.yaml', pair);
  expect(folder.cairn('run', 'pair.yaml', '--run-id', 'r').code).toBe(0);
  return folder;
}

test('H1 cairn alone explains itself and is a mistake of use; asked for, the same text is none', () => {
  const folder = openFolder();
  const bare = folder.cairn();
  expect([bare.code, bare.err]).toEqual([2, '']);
  expect(bare.out).toMatch(/^cairn COMMAND \[options\]\n/);
  for (const asked of [['--help'], ['help']]) expect(folder.cairn(...asked)).toEqual({ ...bare, code: 0 });
});

test('E7 a run that is cancelled while it is followed ends with the code of RUN_CANCELLED, and so does each try to go on', async () => {
  const folder = openFolder();
  const args = ['run', releaseGraph, '--run-id', 'c', '--input', 'waitMs=60000', '--input', `folder=${folder.path}`];
  const child = folder.start(...args);
  let out = '';
  child.stdout?.on('data', (data) => (out += String(data)));
  await folder.until('drafting.txt');
  expect(folder.cairn('cancel', 'c').code).toBe(0);
  expect(await once(child, 'close')).toEqual([3, null]);
  expect(out).toMatch(/^cancelled c@\d+\n$/);
  for (const again of [args, ['resume', 'c'], ['cancel', 'c']]) {
    const { code, out: said } = folder.cairn(...again);
    expect([again[0], code, said]).toEqual([again[0], 3, expect.stringMatching(/^(cancelled c@\d+\n)?$/)]);
  }
  expect(folder.cairn('log', 'c').code).toBe(0);
});

test.each([[[]], [['--json']]])(
  'D7 of several answers all are taken or none, and the exit code says which %j',
  (json) => {
    const folder = askTwo();
    const refused = folder.cairn('answer', 'r', 'color=red', 'size=large', ...json);
    expect([refused.code, refused.out]).toEqual([2, '']);
    expect(refused.err).toMatch(
      /size: .*; none of the 2 was taken.*ANSWER_INVALID|ANSWER_INVALID.*none of the 2 was taken/s,
    );
    expect(folder.cairn('answer', 'r', 'color=green', ...json).code).toBe(0);
    // Of an answer that was given already, the first stands, and nothing else is taken with another.
    expect(folder.cairn('answer', 'r', 'size=12', 'color=red', ...json).code).toBe(3);
    expect(folder.cairn('answer', 'r', 'size=13', 'color=green', ...json).code).toBe(0);
    expect((folder.json('resume', 'r') as { outputs: object }).outputs).toEqual({ said: 'green 13' });
  },
);

test('W3.6 an answer without a name is for the one question that has none yet, though no resume took the other', () => {
  const folder = askTwo();
  expect(folder.cairn('answer', 'r', 'red').code).toBe(2);
  expect(folder.cairn('answer', 'r', 'color', 'red').code).toBe(0);
  expect(folder.json('answer', 'r', '12')).toMatchObject({ node: ['size'], value: '12' });
  expect((folder.json('resume', 'r') as { outputs: object }).outputs).toEqual({ said: 'red 12' });
});

test('D7 several answers and --resume go on with all of them; more than two words are all NAME=VALUE', () => {
  const folder = askTwo();
  expect(folder.cairn('answer', 'r', 'color=red', 'size=12', '14').err).toMatch(
    /each is QUESTION=VALUE \[USAGE_INVALID\]/,
  );
  const done = folder.cairn('answer', 'r', 'color=red', 'size=12', '--resume');
  expect([done.code, done.out]).toEqual([
    0,
    expect.stringMatching(/^answered color: "red"\nanswered size: .*\ncompleted r@\d+\n/),
  ]);
});

test.each([[[]], [['--json']]])(
  'C6 doctor ends with the code of the worst it finds; what only wants a look is none %j',
  async (json) => {
    const folder = openFolder();
    expect(folder.cairn('doctor', ...json).code).toBe(0);
    folder.cairn('run', releaseGraph, '--run-id', 'r');
    chmodSync(join(folder.path, '.cairn/cairn.db'), 0o644);
    const looked = folder.cairn('doctor', ...json);
    expect([looked.code, looked.out]).toEqual([0, expect.stringContaining('others may read')]);
    folder.write('junk.db', 'this is no database, whatever its name says\n');
    const damaged = folder.cairn('doctor', '--store', 'junk.db', ...json);
    expect([damaged.code, damaged.out]).toEqual([5, expect.stringContaining('is damaged')]);
  },
);

test('N8.2 E2 a run in a store that was typed is gone on with by the command that is printed, which names the file', () => {
  const folder = openFolder();
  const place = ['--store', 'other.db'];
  const paused = folder.cairn('run', releaseGraph, '--run-id', 's', '--input', `folder=${folder.path}`, ...place);
  expect(paused.out).toContain(`Then go on: cairn resume s --file ${releaseGraph} --store other.db\n`);
  folder.cairn('answer', 's', 'approve', 'yes', ...place);
  expect(folder.cairn('resume', 's', ...place).code).toBe(2);
  expect(folder.cairn('resume', 's', '--file', releaseGraph, ...place).code).toBe(0);
});

test.each([
  ['--store', 'other.db'],
  ['--config', 'other.json'],
])('E2 run --detach %s: the process that goes on with the run is pointed at the same store', async (option, value) => {
  const folder = openFolder();
  folder.write('other.json', JSON.stringify({ store: 'other.db' }));
  const place = [option, value];
  const started = folder.cairn(
    'run',
    releaseGraph,
    '--run-id',
    'd',
    '--detach',
    '--input',
    `folder=${folder.path}`,
    ...place,
  );
  expect([started.code, started.out]).toEqual([0, expect.stringContaining(`log d ${option} ${value}\n`)]);
  // Only the process that goes on drafts.
  await folder.until('drafting.txt');
  const statusOf = (): string | undefined =>
    (folder.json('ls', ...place) as { runs: { status: string }[] }).runs[0]?.status;
  await vi.waitUntil(() => statusOf() === 'paused', { timeout: 40_000, interval: 50 });
  expect(existsSync(join(folder.path, '.cairn/cairn.db'))).toBe(false);
});
