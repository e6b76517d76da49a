/** The command line as a process: what a person's mistakes get. */
import { expect, test, vi } from 'vitest';
import { openFolder, releaseGraph } from '../../test/cli/cairn.ts';

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
    'Correct the file and run the command again.',
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
    'cairn: cannot read empty.ts: it exports no compiled graph [GRAPH_PARSE]',
    'Correct the file and run the command again.',
  ],
  [
    ['run', releaseGraph, '--input-file', 'input.json'],
    2,
    /^cairn: the input does not fit at input\.json: .* \[INPUT_INVALID\]$/,
    /schema/,
  ],
  [['run', releaseGraph, '--run-id', 'x'.repeat(10_000)], 2, /\[ID_INVALID\]$/, /shorter/],
  [
    ['log', 'r'],
    3,
    'cairn: no run r [RUN_NOT_FOUND]',
    'List the runs with: cairn ls. One that ended may have been removed since.',
  ],
  [
    ['answer', 'r', 'yes'],
    3,
    'cairn: no run r [RUN_NOT_FOUND]',
    'List the runs with: cairn ls. One that ended may have been removed since.',
  ],
  [
    ['resume', '../../etc'],
    3,
    'cairn: no run ../../etc [RUN_NOT_FOUND]',
    'List the runs with: cairn ls. One that ended may have been removed since.',
  ],
  [['prune'], 2, 'cairn: RUN is missing [USAGE_INVALID]', 'Name a run, or prune all of them with --all.'],
  [['ls', '--store', 'postgres://here'], 2, /stores of kind postgres are not known/, 'Correct the option named.'],
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
      hint: 'List the runs with: cairn ls. One that ended may have been removed since.',
      retry: 'no',
      data: { runId: 'r' },
    },
  });
  expect(code).toBe(3);
});

test('O3 reading makes no store', () => {
  const empty = openFolder();
  expect(empty.cairn('ls').err).toBe('No runs here.\n');
  expect(empty.cairn('doctor').out).toMatch(/not there yet/);
  expect(empty.lines('.cairn/cairn.db')).toEqual([]);
});
