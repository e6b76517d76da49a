/** The command line as a process: what a person's mistakes get. */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { spawnSync } from 'node:child_process';
import { environment, main, openFolder, releaseGraph } from '../../test/cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const folder = openFolder();
folder.write('broken.ts', 'export const graph = 1;\nconst = 2;\n');
folder.write('empty.ts', 'export {};\n');
folder.write('junk.db', 'this is no database, whatever its name says\n');
folder.write('input.json', '{ not json');

test.each([
  [['nope'], 2, 'cairn: unknown command "nope" [USAGE_INVALID]', 'List the commands with: cairn --help'],
  [['resmue'], 2, 'cairn: unknown command "resmue" [USAGE_INVALID]', 'Did you mean resume?'],
  [['ls', '--stauts', 'failed'], 2, 'cairn: unknown option --stauts [USAGE_INVALID]', 'Did you mean --status?'],
  [['run'], 2, 'cairn: FILE is missing [USAGE_INVALID]', 'Run the command with --help.'],
  [
    ['run', 'nowhere.ts'],
    2,
    'cairn: cannot read nowhere.ts: there is no such file [GRAPH_PARSE]',
    'Name another file.',
  ],
  [
    ['run', 'broken.ts'],
    2,
    /^cairn: cannot read broken\.ts:2: SyntaxError: .* \[GRAPH_PARSE\]$/,
    'Correct the file and run the command again.',
  ],
  [
    ['run', 'empty.ts'],
    2,
    'cairn: cannot read empty.ts: it exports no graph, workflow or flow [GRAPH_PARSE]',
    'Correct the file and run the command again.',
  ],
  [
    ['run', releaseGraph, '--input-file', 'input.json'],
    2,
    /^cairn: the input does not fit at input\.json: .* \[INPUT_INVALID\]$/,
    /schema/,
  ],
  [
    ['run', releaseGraph, '--input-file', 'nowhere.json'],
    2,
    'cairn: cannot read nowhere.json: there is no such file [USAGE_INVALID]',
    'Name a file of JSON, or - for standard input.',
  ],
  [['run', releaseGraph, '--run-id', 'x'.repeat(10_000)], 2, /\[ID_INVALID\]$/, /shorter/],
  [['tag', 'r', ''], 2, 'cairn: tag  cannot be used: it is empty [ID_INVALID]', 'Use a name without @, ~ and dots.'],
  [['tag', 'r', 'x'.repeat(10_000)], 2, /longer than 200 characters/, 'Use a name without @, ~ and dots.'],
  [['run', releaseGraph, '--store', '.'], 2, /--store: \. is a folder; name a file in it/, 'Correct the option named.'],
  [
    ['log', 'r'],
    3,
    'cairn: no run r [RUN_NOT_FOUND]',
    'List the runs with: cairn ls. One that ended may have been removed since; whether its row was lost, cairn verify tells.',
  ],
  [
    ['answer', 'r', 'yes'],
    3,
    'cairn: no run r [RUN_NOT_FOUND]',
    'List the runs with: cairn ls. One that ended may have been removed since; whether its row was lost, cairn verify tells.',
  ],
  [
    ['resume', '../../etc'],
    3,
    'cairn: no run ../../etc [RUN_NOT_FOUND]',
    'List the runs with: cairn ls. One that ended may have been removed since; whether its row was lost, cairn verify tells.',
  ],
  [['run', 'nowhere.yaml'], 2, /^cairn: cannot read nowhere\.yaml: there is no such file /, 'Name another file.'],
  [
    ['import', 'nowhere.jsonl'],
    2,
    'cairn: cannot read nowhere.jsonl: there is no such file [USAGE_INVALID]',
    'Name another file.',
  ],
  [['prune'], 2, 'cairn: RUN is missing [USAGE_INVALID]', 'Name a run, or prune all of them with --all.'],
  [['ls', '--store', 'mysql://here/there'], 2, /stores of kind mysql are not known/, 'Correct the option named.'],
  [['ls', '--store', 'junk.db'], 5, /^cairn: the store .*junk\.db is damaged: .* \[STORE_CORRUPT\]$/, /cairn doctor/],
])('P6 mistake %# gets one line and the way out', (args, code, line, hint) => {
  const reply = folder.cairn(...args);
  const [first = '', second = '', ...rest] = reply.err.split('\n');
  expect(first).toMatch(line);
  expect(second).toMatch(hint);
  expect(rest).toEqual(['']);
  expect(first.length).toBeLessThan(600);
  expect([reply.code, reply.out]).toEqual([code, '']);
});

test('P6 with --json a fault is JSON, and CAIRN_DEBUG=1 shows the stack', () => {
  const { err, code } = folder.cairn('log', 'r', '--json');
  expect(JSON.parse(err)).toEqual({
    error: {
      code: 'RUN_NOT_FOUND',
      message: 'no run r',
      hint: 'List the runs with: cairn ls. One that ended may have been removed since; whether its row was lost, cairn verify tells.',
      retry: 'no',
      data: { runId: 'r' },
    },
  });
  expect(code).toBe(3);
  const debugged = (...args: readonly string[]): string =>
    spawnSync('node', [main, 'log', 'r', ...args], {
      cwd: folder.path,
      env: { ...environment(), CAIRN_DEBUG: '1' },
      encoding: 'utf8',
    }).stderr;
  expect(debugged()).toMatch(/no run r \[RUN_NOT_FOUND\]\n.*\nCairnError: no run r\n {4}at /u);
  expect(JSON.parse(debugged('--json'))).toMatchObject({
    error: { code: 'RUN_NOT_FOUND', stack: expect.stringContaining('\n    at ') as string },
  });
});

test('O3 reading makes no store, nor does what needs a run that is there: each says that the store is not there', () => {
  const empty = openFolder();
  for (const args of [
    ['resume', 'r'],
    ['answer', 'r', 'yes'],
    ['cancel', 'r'],
    ['rm', 'r'],
    ['fork', 'r', '--run'],
    ['log', 'r'],
    ['export', 'r', '-'],
  ]) {
    const { code, err } = empty.cairn(...args);
    expect([code, err]).toEqual([3, expect.stringMatching(/^cairn: no run r: there is no store .*cairn\.db \[RUN_/)]);
  }
  expect(empty.cairn('doctor').out).toMatch(/not there yet/);
  expect(empty.lines('.cairn/cairn.db')).toEqual([]);
});

test('O3 a list of a store that is not there says so, and it cannot be verified', () => {
  const empty = openFolder();
  for (const [args, words] of [
    [['ls'], 'No runs here'],
    [['inbox'], 'Nothing is open'],
    [['prune', '--all', '--dry-run'], 'No runs here'],
    [['cleanup', '--dry-run'], 'Nothing to clean up'],
    [['hold', '--all'], 'No run is there that could be held'],
    [['release', '--all'], 'No run is held'],
    [['schedule', 'list'], 'No schedules here'],
  ] as const) {
    const { code, err } = empty.cairn(...args, '--store', 'nowhere.db');
    expect([code, err]).toEqual([0, `${words}: there is no ${join(realpathSync(empty.path), 'nowhere.db')}\n`]);
  }
  const unverified = empty.cairn('verify');
  expect([unverified.code, unverified.err]).toEqual([
    6,
    expect.stringMatching(
      /cairn\.db cannot be reached: it is not there \[STORE_UNAVAILABLE\]\nName the store with --store/,
    ),
  ]);
  expect(empty.lines('nowhere.db')).toEqual([]);
});

const hasFullDevice = existsSync('/dev/full');

test.runIf(hasFullDevice)(
  'P6 output that cannot be written is told in one line, and no device is replaced by a file',
  () => {
    folder.cairn('run', releaseGraph, '--run-id', 'full', '--input', 'topic=x');
    for (const command of ['log full', 'ls', 'export full -', 'ls --json']) {
      const { err, code } = folder.shell(`${command} > /dev/full`);
      expect(err).toMatch(/^cairn: the output cannot be written: ENOSPC[^\n]*\n$/);
      expect(code).toBe(6);
    }
    expect(folder.cairn('export', 'full', 'nowhere/full.jsonl').err).toBe(
      'cairn: cannot write nowhere/full.jsonl: its folder is not there [USAGE_INVALID]\nName another file.\n',
    );
    const { err, code } = folder.cairn('export', 'full', '/dev/full');
    expect([err.split('\n')[0], code]).toEqual([expect.stringMatching(/cannot write \/dev\/full: ENOSPC/), 2]);
    expect(statSync('/dev/full').isCharacterDevice()).toBe(true);
    expect(folder.cairn('export', 'full', folder.path).err).toMatch(/: it is a folder \[USAGE_INVALID\]/);
  },
);
