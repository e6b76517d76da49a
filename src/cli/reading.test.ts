/** The command line as a process: going through what runs have left. */
import { spawnSync } from 'node:child_process';
import { expect, test, vi } from 'vitest';
import { main, openFolder, releaseGraph } from '../../test/cli/cairn.ts';
import { sample } from '../../test/support/scale.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const folder = openFolder();
folder.cairn('run', releaseGraph, '--run-id', 'r', '--input', 'topic=cairns');
folder.cairn('answer', 'r', 'yes', '--resume');

test('H1 log, show, state and diff read a history, in 80 columns', () => {
  const log = folder.cairn('log', 'r').out;
  expect(log).toMatch(/^r release completed\nSEQ +AGE +BYTES +WHAT HAPPENED\n/);
  expect(log).toMatch(/ publish completed in \d+ ms; ended: completed\n/);
  expect(log).toMatch(/ 0 +\d+ s +\d+ {2}started\n$/);
  const show = folder.cairn('show', 'r@head~1').out;
  expect(show).toMatch(/^checkpoint [0-9a-f]{16}\.\d+\n {2}run +r@\d+\n/);
  expect(show).toMatch(/\nWhat happened:\n/);
  expect(folder.cairn('show', 'r@0').out).toContain('What it recorded:\n  input: {"topic":"cairns"}\n');
  const answered = folder.cairn('show', 'r').out;
  expect(answered).toContain('  artifacts.notice: "published: yes"\n');
  expect(answered).not.toContain('frame.');
  expect(show).toMatch(/\nNODE +STATUS +VISITS +ATTEMPT +STEPS\nread +completed +1 +1/);
  expect(folder.cairn('state', 'r', 'scratch.title').out).toBe('Notes on cairns\n');
  expect(folder.json('state', 'r', 'outputs.read.lines.-1')).toBe('\u001b[2Jsecond');
  expect(folder.cairn('diff', 'r@0', 'r').out).toMatch(/\n {2}status: running → completed\n/);
  for (const text of [log, show]) for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});

test('H1 show says of a node whose question is open that it waits, also once the run has ended', () => {
  const log = folder.cairn('log', 'r', '--json').out.trimEnd().split('\n').slice(0, -1);
  const entries = log.map((line) => JSON.parse(line) as { seq: number; change: readonly { kind: string }[] });
  const paused = entries.find(({ change }) => change.some(({ kind }) => kind === 'pause'))?.seq;
  expect(folder.cairn('show', `r@${paused}`).out).toMatch(/\napprove +waiting +1 +1 +1 open\n/);
  expect(folder.cairn('show', 'r').out).toMatch(/\napprove +completed +1 +1\D/);
});

test('H1 show names the title and the labels of the run', () => {
  const own = openFolder();
  own.write(
    'refund.yaml',
    'name: refund\ntitle: "Refund of ${inputs.order}"\ninputs: { order: {} }\nblocks: [{ id: a, type: EchoBlock, inputs: { message: x } }]\n',
  );
  own.cairn('run', 'refund.yaml', '--run-id', 'titled', '--input', 'order=o1', '--label', 'tier=gold');
  expect(own.cairn('show', 'titled').out).toMatch(/\n {2}title +Refund of o1\n {2}labels +tier=gold\n/u);
  expect(own.json('show', 'titled')).toMatchObject({ title: 'Refund of o1', labels: { tier: 'gold' } });
});

test('H1 rows of a list are not cut in a pipe, but where COLUMNS says how wide they may be', () => {
  const id = 'r'.repeat(90);
  folder.cairn('fork', 'r@1', '--run-id', id);
  expect(folder.cairn('ls').out).toMatch(/\n└ r+… /);
  expect(folder.shell('ls; env -u COLUMNS node "$0" ls').out).toContain(`\n└ ${id} `);
  folder.cairn('rm', id, '--yes');
});

test('P6 control characters of values are shown, not sent', () => {
  const { out } = folder.cairn('state', 'r');
  expect(out).toContain(String.raw`\u001b[2Jsecond`);
  expect(folder.cairn('state', 'r', 'outputs.read.lines.1').out).toBe('\\x1b[2Jsecond\n');
});

test('H1 --json is one document, and a line for each checkpoint of a log with a last one that tells of the run', () => {
  const lines = folder.cairn('log', 'r', '--json').out.trimEnd().split('\n');
  const end = JSON.parse(lines.pop() ?? '') as object;
  expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(
    lines.map((_, index) => lines.length - 1 - index),
  );
  expect(end).toEqual({
    end: {
      runId: 'r',
      graphId: 'release',
      status: 'completed',
      head: lines.length - 1,
      hasMore: false,
      checkpoints: lines.length,
    },
  });
  expect(folder.json('ls')).toMatchObject({
    runs: [{ runId: 'r', graphId: 'release', status: 'completed' }],
    hasMore: false,
  });
  expect(folder.json('show', 'r@0')).toMatchObject({ runId: 'r', seq: 0, change: [{ kind: 'start' }] });
  expect(folder.json('doctor')).toMatchObject({
    findings: expect.arrayContaining([expect.objectContaining({ name: 'store', verdict: 'ok' })]),
  });
  expect(folder.json('verify', 'r')).toMatchObject({ isValid: true });
});

test('H1 a tag names a checkpoint, export and import carry a run to another store', () => {
  expect(folder.cairn('tag', 'r@1', 'early').out).toBe('r@1 is now r@early\n');
  expect((folder.json('show', 'r@early') as { tags: string[] }).tags).toEqual(['early']);
  expect(folder.cairn('tag', 'r', 'head').err).toMatch(/\[ID_INVALID\]/);
  expect(folder.cairn('export', 'r', 'r.jsonl').out).toMatch(/^exported r@\d+ to r\.jsonl\n$/);
  expect(folder.cairn('import', 'r.jsonl', '--move', '--store', 'sqlite:other.db').out).toMatch(/^imported r@\d+/);
  expect(folder.cairn('state', 'r', 'scratch.title', '--store', 'other.db').out).toBe('Notes on cairns\n');
  expect((folder.json('import', 'r.jsonl', '--run-id', 'copy') as { runId: string }).runId).toBe('copy');
  const kept = folder.cairn('show', 'r@early~').out;
  const dry = folder.cairn('prune', 'r', '--dry-run').out;
  expect(dry).toMatch(/^r {2}\d+ checkpoints? would be pruned: 0.*; the oldest kept is 1\n$/);
  expect(folder.cairn('show', 'r@early~').out).toBe(kept);
  expect(folder.cairn('prune', 'r', '--yes').out).toBe(dry.replace('would be pruned', 'pruned'));
  expect(folder.cairn('prune', 'r', '--yes').out).toBe('r  nothing to prune\n');
  expect(folder.cairn('show', 'r@0').err).toContain('[CHECKPOINT_PRUNED]');
  expect(folder.cairn('tag', 'r', 'early', '--remove').out).toBe('removed tag early of r\n');
});

test('P3 commands that only read load no engine', () => {
  const listener = `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module';
    import { writeSync } from 'node:fs';
    registerHooks({ load: (url, context, next) => (writeSync(2, 'loaded ' + url + '\\n'), next(url, context)) });
  `)}`;
  const source = new URL('main.ts', import.meta.url).pathname;
  const loadedBy = (...args: readonly string[]): readonly string[] => {
    const { stderr } = spawnSync(process.execPath, ['--import', listener, source, ...args], {
      cwd: folder.path,
      encoding: 'utf8',
    });
    return [...stderr.matchAll(/^loaded .*\/src\/(.*)$/gm)].map(([, file]) => file ?? '');
  };
  const reading = [['ls'], ['--version'], ['completion', 'runs'], ['log', 'r'], ['verify'], ['doctor']];
  for (const args of sample(reading, 2)) {
    const loaded = loadedBy(...args);
    expect([args, loaded.includes('cli/command-line.ts'), loaded.includes('engine/engine.ts')]).toEqual([
      args,
      true,
      false,
    ]);
  }
  expect(loadedBy('resume', 'r')).toContain('engine/engine.ts');
});

test('P6 a reader that goes away ends the command quietly', () => {
  const command = `for i in 1 2 3; do node "$MAIN" --help; done | head -1`;
  const { stdout, stderr } = spawnSync('sh', ['-c', command], {
    cwd: folder.path,
    encoding: 'utf8',
    env: { ...process.env, MAIN: main },
  });
  expect(stdout).toBe('cairn COMMAND [options]\n');
  expect(stderr).toBe('');
});

test('H1 the help has its commands in groups, those that run workflows first', () => {
  const { out } = folder.cairn('--help');
  const titles = [...out.matchAll(/^\n?([A-Z][a-z ,]+)\n {2}([a-z-]+)/gm)].map(([, title, first]) => [title, first]);
  expect(titles.slice(0, 2)).toEqual([
    ['Run workflows', 'run'],
    ['Walk a history, and change it', 'log'],
  ]);
  expect(titles.length).toBeGreaterThan(4);
});

test('H1 every command explains itself with an example', () => {
  const names = [...folder.cairn('--help').out.matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].map(([, name]) => name ?? '');
  expect(names).toEqual(
    'run ls inbox answer link resume cancel label signal signal-with-start schedule log show state diff blame bisect graph post-mortem audit preview check fork dataset experiment tag workflows plan lint fmt draw convert schema studio serve mcp worker workers limits doctor verify cleanup prune rm export import backup restore hold release identity migrate completion checkpoints stats'.split(
      ' ',
    ),
  );
  for (const name of ['run', 'ls', 'log', 'fork', 'schedule', 'mcp']) {
    const { out, code } = folder.cairn(name, '--help');
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^cairn ${name} .*\\[options\\]\\n[^]*\\nExamples:\\n {2}.*cairn ${name}`));
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  }
});

test('O2 workers says how many runs are ready for one, and writes nothing to a store that it only reads', () => {
  const own = openFolder();
  own.cairn('run', releaseGraph, '--run-id', 'done', '--input', 'topic=cairns');
  const listed = own.cairn('workers', '--json');
  expect([listed.code, listed.err]).toEqual([0, '']);
  expect(JSON.parse(listed.out)).toEqual({ workers: [], versions: [], backlog: { ready: 0 } });
});
