/** `cairn worker` as a process: what it takes up, what it says of itself, how it stops. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { hearingGraph, holdingGraph, openFolder, releaseGraph, type Folder } from '../../test/cli/cairn.ts';
import { until, within } from '../../test/support/awaited.ts';
import { readSamples } from '../../test/support/prometheus-text.ts';
import { isOfSlowMachine } from '../../test/support/slow-machine.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

interface StartedWorker {
  readonly child: ChildProcess;
  readonly out: () => string;
  /** The code it ends with. */
  readonly ended: Promise<unknown>;
}

function startWorker(folder: Folder, ...args: readonly string[]): StartedWorker {
  const child = folder.start('worker', ...args);
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (out += String(data)));
  return { child, out: () => out, ended: once(child, 'close').then(([code, signal]: unknown[]) => code ?? signal) };
}

const says = ({ out }: StartedWorker, text: string): Promise<boolean> =>
  until(`the worker says ${text}`, () => out().includes(text), 20);

/** What it logged of runs and of itself: a line of JSON each. */
const eventsOf = ({ out }: StartedWorker): readonly { readonly event: string }[] =>
  out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly event: string })
    .filter((line) => !isOfSlowMachine(line));

const healthOf = (
  folder: Folder,
): { status: string; runs: string[]; pid: number; at: string; lastError?: { code: string; runId?: string } } =>
  JSON.parse(readFileSync(join(folder.path, 'health.json'), 'utf8')) as never;

test('W5 a worker takes up answered runs, says in its file whom it holds, and ends with 0 when it is asked to', async () => {
  const folder = openFolder();
  folder.cairn('run', releaseGraph, '--run-id', 'r1', '--input', `folder=${folder.path}`);
  const worker = startWorker(folder, '--health-file', 'health.json');
  await says(worker, 'Working on sqlite:');
  expect(healthOf(folder)).toMatchObject({ status: 'working', pid: worker.child.pid, runs: [] });
  expect(statSync(join(folder.path, 'health.json')).mode & 0o777).toBe(0o600);
  expect(folder.cairn('answer', 'r1', 'yes').code).toBe(0);
  await says(worker, '"completed"');
  expect(eventsOf(worker)).toMatchObject([
    { level: 30, event: 'working', msg: expect.stringContaining('Working on sqlite:') as string },
    { level: 30, event: 'taken', run: 'r1', graph: 'release', msg: 'taken', time: expect.any(Number) as number },
    { event: 'completed', run: 'r1', worker: expect.any(String) as string },
  ]);
  expect(folder.lines('published.txt')).toEqual(['yes']);
  worker.child.kill('SIGTERM');
  expect(await within('the worker ends', worker.ended)).toBe(0);
  expect(healthOf(folder)).toMatchObject({ status: 'stopped', runs: [] });
});

/** A run that a worker of the folder will hold until the file `hold` is gone. */
function askForHeld(folder: Folder, runId: string): void {
  folder.write('hold', '');
  expect(folder.cairn('run', holdingGraph, '--run-id', runId, '--input', `folder=${folder.path}`).code).toBe(0);
  expect(folder.cairn('answer', runId, 'yes').code).toBe(0);
}

test('W5 asked to end, a worker takes nothing more and lets what it holds come to rest', async () => {
  const folder = openFolder();
  askForHeld(folder, 'held');
  const worker = startWorker(folder, '--health-file', 'health.json');
  await folder.until('working.txt');
  await until('the file names the run', () => healthOf(folder).runs.includes('held'), 10);
  expect(healthOf(folder)).toMatchObject({ status: 'working', runs: ['held'] });
  worker.child.kill('SIGTERM');
  await until('it drains', () => healthOf(folder).status === 'draining' || undefined, 10);
  expect(folder.cairn('run', holdingGraph, '--run-id', 'late', '--input', `folder=${folder.path}`).code).toBe(0);
  expect(folder.cairn('answer', 'late', 'yes').code).toBe(0);
  rmSync(join(folder.path, 'hold'));
  expect(await within('the worker ends', worker.ended)).toBe(0);
  expect(eventsOf(worker).slice(-2)).toMatchObject([
    { event: 'draining', runs: ['held'] },
    { event: 'completed', run: 'held' },
  ]);
  expect(folder.cairn('ls', '--status', 'answered').out).toContain('late');
});

test('O3.2.4 a worker answers probes at its port, and is not ready once it is asked to end', async () => {
  const folder = openFolder();
  askForHeld(folder, 'held');
  const worker = startWorker(folder, '--health-port', '0');
  await folder.until('working.txt');
  const said = /Probes and metrics are answered at (http:[^\s"]+)/;
  await until('it names its port', () => said.test(worker.out()), 20);
  const [, url = ''] = said.exec(worker.out()) ?? [];
  const statusOf = async (path: string): Promise<number> => (await fetch(url + path)).status;
  expect([await statusOf('/livez'), await statusOf('/readyz'), await statusOf('/')]).toEqual([200, 200, 404]);
  const metrics = await fetch(`${url}/metrics`);
  expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const samples = readSamples(await metrics.text());
  expect(samples.get('cairn_claims_total{graph="holding"}')).toBe(1);
  expect(samples.get('cairn_runs_held')).toBe(1);
  // What is open in the store is told by a server alone.
  expect([...samples.keys()].filter((name) => name.startsWith('cairn_runs_open'))).toEqual([]);
  worker.child.kill('SIGTERM');
  await until('it is not ready', async () => (await statusOf('/readyz')) === 503, 20);
  expect(await statusOf('/livez')).toBe(200);
  rmSync(join(folder.path, 'hold'));
  expect(await within('the worker ends', worker.ended)).toBe(0);
});

test('W5 what takes longer than the grace is handed back: its claim is free at once, and it is done by another', async () => {
  const folder = openFolder();
  askForHeld(folder, 'held');
  const worker = startWorker(folder, '--grace', '0');
  await folder.until('working.txt');
  worker.child.kill('SIGTERM');
  expect(await within('the worker ends', worker.ended)).toBe(0);
  expect(eventsOf(worker).at(-1)).toMatchObject({ event: 'handed-back', run: 'held' });
  rmSync(join(folder.path, 'hold'));
  expect(folder.cairn('resume', 'held').out).toMatch(/^completed held@/);
  expect(folder.lines('working.txt')).toHaveLength(2);
});

test('W5 a second signal ends a worker at once', async () => {
  const folder = openFolder();
  askForHeld(folder, 'held');
  const worker = startWorker(folder, '--health-file', 'health.json');
  await folder.until('working.txt');
  worker.child.kill('SIGTERM');
  await until('it drains', () => healthOf(folder).status === 'draining' || undefined, 10);
  worker.child.kill('SIGTERM');
  expect(await within('the worker ends', worker.ended)).toBe(143);
  rmSync(join(folder.path, 'hold'));
});

test('W5 a worker serves the graphs and queues that it is told, and names in its file what it could not advance', async () => {
  const folder = openFolder();
  folder.cairn('run', releaseGraph, '--run-id', 'r1', '--input', `folder=${folder.path}`);
  const moved = join(folder.path, 'moved.ts');
  folder.write('moved.ts', `export { graph } from ${JSON.stringify(holdingGraph)};\n`);
  folder.cairn('run', moved, '--run-id', 'lost', '--input', `folder=${folder.path}`);
  for (const runId of ['r1', 'lost']) expect(folder.cairn('answer', runId, 'yes').code).toBe(0);
  rmSync(moved);
  const idle = startWorker(folder, '--queues', 'other');
  const worker = startWorker(folder, '--graphs', 'holding', '--health-file', 'health.json');
  await says(idle, 'Working on sqlite:');
  await folder.until('health.json');
  await until('the fault is told', () => healthOf(folder).lastError?.runId === 'lost' || undefined, 20);
  expect(eventsOf(worker)).toContainEqual(expect.objectContaining({ level: 50, event: 'stopped', run: 'lost' }));
  expect(folder.cairn('ls', '--status', 'answered').out).toMatch(/r1/);
  for (const each of [idle, worker]) each.child.kill('SIGTERM');
  for (const each of [idle, worker]) expect(await within('the worker ends', each.ended)).toBe(0);
  expect(idle.out()).not.toContain('"taken"');
});

test('W5 a health file that cannot be written, and no place for a run, are told before anything is taken up', () => {
  const folder = openFolder();
  const refused = folder.cairn('worker', '--health-file', 'none/health.json');
  expect([refused.code, refused.err]).toEqual([2, expect.stringMatching(/health-file.*its folder is not there/)]);
  expect(folder.cairn('worker', '--concurrency', '0').code).toBe(2);
});

test('W5 a signal is sent by a command, to a run that waits for it or does not yet; a repeated one is the same; one that is over refuses it', async () => {
  const folder = openFolder();
  expect(folder.cairn('run', hearingGraph, '--run-id', 'h').out).toMatch(/^paused h@/);
  const sent = folder.cairn('signal', 'h', 'paid', '40', '--id', 'bank-1');
  expect([sent.code, sent.out]).toEqual([0, expect.stringMatching(/^sent paid to h\nGo on: .* resume h\n$/)]);
  expect(folder.json('signal', 'h', 'paid', '40', '--id', 'bank-1')).toEqual({
    runId: 'h',
    name: 'paid',
    status: 'paused',
  });
  expect(folder.cairn('resume', 'h').out).toMatch(/^paused h@/);
  expect(folder.cairn('signal', 'h', 'shipped').code).toBe(0);
  expect(folder.json('resume', 'h')).toMatchObject({ status: 'completed', state: { outputs: { hear: [40, null] } } });
  const late = folder.cairn('signal', 'h', 'paid', '41');
  expect([late.code, late.err]).toEqual([3, expect.stringContaining('[RUN_FINISHED]')]);
  expect(folder.cairn('signal', 'nobody', 'paid').err).toContain('[RUN_NOT_FOUND]');
});

test('W5 inbox shows what asks, and below it which runs wait for signals and times, and until when', () => {
  const folder = openFolder();
  expect(folder.cairn('inbox').err).toMatch(/^Nothing is open: there is no .*cairn\.db\n$/);
  folder.cairn('run', hearingGraph, '--run-id', 'h');
  folder.write('late.yaml', 'name: late\nblocks:\n  - { id: say, type: EchoBlock, inputs: { message: hi } }\n');
  folder.cairn('schedule', 'add', 'late.yaml', '--cron', '0 0 1 1 *');
  folder.cairn('resume', 'cairn:schedule:late');
  folder.cairn('run', releaseGraph, '--run-id', 'r1', '--input', `folder=${folder.path}`);
  const { out } = folder.cairn('inbox');
  expect(out).toMatch(/^approve · release, [^\n]+\n {2}Publish these notes\?\n.*\n\nRUN +NODE +WAITS FOR +UNTIL\n/s);
  expect(out).toMatch(/\ncairn:schedule:late +schedule +signal schedule +\d{4}-01-01 [\d:]+ \(in [^)]+\)\n/);
  expect(out).toMatch(/\nh +hear +signal paid *\n/);
  expect(folder.json('inbox')).toMatchObject({
    waits: [{ runId: 'r1', kind: 'question' }],
    waiting: [
      { runId: 'cairn:schedule:late', kind: 'signal', name: 'schedule' },
      { runId: 'h', kind: 'signal', name: 'paid' },
    ],
    hasMore: false,
  });
  expect(folder.json('inbox', 'h')).toMatchObject({ waits: [], waiting: [{ runId: 'h' }] });
});

/** Two people are asked in parallel branches, each by a pipeline of its own run within. */
const panel = `digraph Panel {
  start [shape=Mdiamond] exit [shape=Msquare]
  par [shape=component] j [shape=tripleoctagon]
  a [shape=hexagon, label="a?"] b [shape=hexagon, label="b?"]
  start -> par  par -> a  par -> b
  a -> j [label="[Y] Yes"]  a -> j [label="[N] No"]
  b -> j [label="[Y] Yes"]  b -> j [label="[N] No"]
  j -> exit
}
`;

test('W4.5 inbox leaves out what is answered, also in branches, and names a run that only needs a resume', () => {
  const folder = openFolder();
  folder.write('panel.dot', panel);
  expect(folder.cairn('run', 'panel.dot', '--run-id', 'p').out).toMatch(/^paused p@\d+, 2 open\n/);
  expect(folder.cairn('answer', 'p', 'a', 'y').code).toBe(0);
  const one = folder.cairn('inbox').out;
  expect(one).toMatch(/^par\/b\/b · Panel/);
  expect(one).not.toMatch(/par\/a|answered/);
  expect(folder.cairn('answer', 'p', 'b', 'n').code).toBe(0);
  const inbox = folder.cairn('inbox');
  expect([inbox.code, inbox.out]).toEqual([0, expect.stringMatching(/^Panel is answered; go on: \S.* resume p\n$/)]);
  expect(folder.json('inbox', 'p')).toEqual({
    waits: [],
    waiting: [],
    hasMore: false,
    answered: [{ runId: 'p', graphId: 'Panel' }],
  });
  expect(folder.cairn('show', 'p').out).toMatch(/\nOpen:\n {2}\S+: question \S+, answered\n/);
  const again = folder.cairn('answer', 'p', 'b', 'y');
  expect([again.code, again.err]).toEqual([3, expect.stringContaining('[WAIT_CLOSED]')]);
  expect(folder.cairn('resume', 'p').code).toBe(0);
  expect(folder.cairn('inbox').err).toMatch(/^Nothing is open\.\n$/);
  expect(folder.cairn('show', 'p').out).not.toContain(', answered');
});

test('W4.5 an effect in doubt that is decided is not listed, nor counted by the doctor', async () => {
  const folder = openFolder();
  folder.write(
    'one.dot',
    'digraph D { start [shape=Mdiamond] exit [shape=Msquare] w [shape=parallelogram, tool_command="touch began; sleep 60"] start -> w -> exit }',
  );
  const child = folder.start('run', 'one.dot', '--run-id', 'd');
  await folder.until('began');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(folder.cairn('resume', 'd').out).toMatch(/^paused d@\d+, 1 open\n/);
  const doubts = () =>
    (folder.json('doctor') as { findings: readonly { name: string; detail: string }[] }).findings.find(
      ({ name }) => name === 'runs in doubt',
    )?.detail;
  expect(doubts()).toBe('1: d');
  expect(folder.json('inbox')).toMatchObject({ waits: [{ kind: 'doubt' }], answered: [] });
  expect(folder.cairn('inbox').out).toMatch(/happened \(what it\s+gave\s+is\s+empty\s+then\)/);
  expect(folder.cairn('answer', 'd', 'happened').out).toContain(
    'answered w: "happened"; what it gave is recorded as empty\n',
  );
  expect(folder.json('inbox')).toMatchObject({ waits: [], answered: [{ runId: 'd' }] });
  expect(doubts()).toBe('none');
});
