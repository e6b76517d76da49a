/** The command line as a process over a store in memory, which is gone when the command ends. */
import { expect, test, vi } from 'vitest';
import { openFolder } from '../../test/cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const asking = `digraph Q { start [shape=Mdiamond] exit [shape=Msquare]
  g [shape=hexagon, label="ok?"] start -> g g -> exit [label="[Y] Yes"] g -> exit [label="[N] No"] }`;
const failing = `digraph F { start [shape=Mdiamond] exit [shape=Msquare]
  f [shape=parallelogram, tool_command="false"] start -> f -> exit }`;
const gone = 'The run is gone with this command: its store is in memory. To keep runs, name a file: --store PATH\n';

test('S1 a run that pauses or fails in a store in memory is told to be gone, and no command to go on with it', () => {
  const folder = openFolder();
  folder.write('q.dot', asking);
  folder.write('f.dot', failing);
  const paused = folder.cairn('run', 'q.dot', '--run-id', 'q', '--store', 'memory:');
  expect([paused.code, paused.out]).toEqual([0, expect.stringMatching(/^paused q@\d+, 1 open\n\ng\n {2}ok\?\n/)]);
  expect(paused.out.endsWith(`\n\n${gone}`)).toBe(true);
  const failed = folder.cairn('run', 'f.dot', '--run-id', 'f', '--store', 'memory:');
  expect([failed.code, failed.err]).toEqual([3, expect.stringContaining('[NODE_FAILED]')]);
  expect(failed.err.endsWith(gone)).toBe(true);
  for (const { out, err } of [paused, failed]) expect(out + err).not.toMatch(/resume|answer q|memory:\n/);
  // So is one of a configuration; a file keeps it.
  folder.write('cairn.config.json', '{ "store": "memory:" }');
  expect(folder.cairn('run', 'q.dot', '--run-id', 'q').out).toContain(gone);
  expect(folder.cairn('run', 'q.dot', '--run-id', 'q', '--store', 'runs.db').out).toMatch(
    / resume q --file q\.dot --store runs\.db\n$/,
  );
});

test('S1 a run in a store in memory is not left to another process', () => {
  const folder = openFolder();
  folder.write('q.dot', asking);
  const { code, out, err } = folder.cairn('run', 'q.dot', '--detach', '--store', 'memory:');
  expect([code, out, err]).toEqual([2, '', expect.stringMatching(/memory.*\[USAGE_INVALID\]\n.*--store PATH\n$/s)]);
});
