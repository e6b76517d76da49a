/** `cairn schedule` and workers as processes. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { ChildProcess } from 'node:child_process';
import { expect, test, vi } from 'vitest';
import { openFolder, type Folder, type Reply } from '../../test/cli/cairn.ts';
import { until, within } from '../../test/support/awaited.ts';

// A lease of 30 s runs out in one of them.
vi.setConfig({ testTimeout: 120_000 });

const workflow = `name: report
inputs: { kind: { type: str, default: day } }
blocks:
  - { id: say, type: EchoBlock, inputs: { message: "\${inputs.kind}" } }
`;

interface Listed {
  readonly runs: readonly { readonly runId: string; readonly status: string }[];
}

/** Due times of runs that were started, in seconds since 1970. */
function startedSeconds(folder: Folder): readonly number[] {
  const runs = folder.jsonLines('ls', '--graph', 'report', '--all').rows as Listed['runs'];
  return runs
    .map(({ runId }) => /[.:](\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(runId))
    .map(
      (parts) =>
        Date.UTC(
          ...((parts ?? [])
            .slice(1)
            .map(Number)
            .map((part, index) => (index === 1 ? part - 1 : part)) as [number, number]),
        ) / 1000,
    )
    .toSorted((a, b) => a - b);
}

function startWorker(folder: Folder): { readonly child: ChildProcess; readonly out: () => string } {
  const child = folder.start('worker');
  let out = '';
  child.stdout?.on('data', (data) => (out += String(data)));
  return { child, out: () => out };
}

test('W7 two workers, one schedule, one of them killed while it meets a time: each due time is one run', async () => {
  const folder = openFolder();
  folder.write('report.yaml', workflow);
  expect(
    folder.cairn('schedule', 'add', 'report.yaml', '--cron', '* * * * * *', '--name', 'fast', '--overlap', 'allow')
      .code,
  ).toBe(0);
  const [first, second] = [startWorker(folder), startWorker(folder)];
  const holder = await until(
    'one of them has the schedule a second time',
    () => [first, second].find(({ out }) => out().split('"event":"taken","run":"cairn:schedule:fast"').length > 2),
    1,
  );
  const other = holder === first ? second : first;
  holder.child.kill('SIGKILL');
  const before = startedSeconds(folder).length;
  await until('the other goes on', () => startedSeconds(folder).length > before + 5, 500);
  other.child.kill('SIGTERM');
  expect(await within('the other ends', once(other.child, 'close'))).toEqual([0, null]);
  const seconds = startedSeconds(folder);
  const [from = 0] = seconds;
  expect(seconds).toEqual(seconds.map((_, index) => from + index));
});

test('W7 a schedule is added once, listed, changed by what is added again, which says what is different, and removed', () => {
  const folder = openFolder();
  folder.write('report.yaml', workflow);
  const add = (cron: string, ...more: readonly string[]) =>
    folder.cairn('schedule', 'add', 'report.yaml', '--cron', cron, '--input', 'kind=1.0', ...more);
  expect(add('0 2 * * *', '--timezone', 'Europe/Berlin').out).toBe('scheduled: report, run cairn:schedule:report\n');
  expect(add('0 2 * * *', '--timezone', 'Europe/Berlin').out).toBe('was there: report, run cairn:schedule:report\n');
  expect(add('0 3 * * *').out).toBe(
    'changed: report, run cairn:schedule:report:2\n  cron: 0 2 * * * → 0 3 * * *\n  timezone: Europe/Berlin → UTC\n',
  );
  expect(folder.json('schedule', 'list')).toEqual({
    schedules: [
      {
        name: 'report',
        runId: 'cairn:schedule:report:2',
        status: 'running',
        cron: '0 3 * * *',
        timezone: 'UTC',
        missed: 'last',
        input: { kind: '1.0' },
        started: [],
        file: 'report.yaml',
        nextAt: expect.any(Number) as number,
      },
    ],
  });
  // No worker has come to it yet.
  expect(folder.cairn('schedule', 'list').out).toMatch(
    /report +0 3 \* \* \* UTC +\d{4}-\d\d-\d\d 03:00:00 +report\.yaml/,
  );
  expect(folder.cairn('schedule', 'remove', 'report').out).toBe('ended report; what it started goes on\n');
  expect(folder.json('schedule', 'list')).toEqual({ schedules: [] });
  expect(folder.cairn('schedule', 'remove', 'report').err).toContain('[RUN_NOT_FOUND]');
});

test('W7.9 W7.10 W7.11 a schedule is paused, resumed, triggered and backfilled, by name, before a worker lives', async () => {
  const folder = openFolder();
  folder.write('report.yaml', workflow);
  const cairn = (...words: readonly string[]): string => folder.cairn('schedule', ...words).out;
  cairn('add', 'report.yaml', '--cron', '0 * * * *');
  expect(cairn('pause', 'report')).toBe('paused report\n');
  expect(cairn('list')).toMatch(/report +0 \* \* \* \* UTC +paused \d{4}-/u);
  expect(cairn('resume', 'report')).toBe('goes on: report\n');
  expect(cairn('list')).not.toContain('paused');
  const { starts } = folder.json('schedule', 'trigger', 'report') as { readonly starts: readonly string[] };
  expect(cairn('backfill', 'report', '--from', '5h', '--overlap', 'queue')).toMatch(/^report starts [56] runs\n/u);
  expect(folder.cairn('schedule', 'backfill', 'report').err).toContain('--from is missing');
  expect(folder.cairn('schedule', 'trigger', 'nobody').err).toContain('[RUN_NOT_FOUND]');
  const worker = startWorker(folder);
  const isDone = ({ runs }: Listed): boolean => runs.length >= 6 && runs.every(({ status }) => status === 'completed');
  const done = await until(
    'all have run',
    () => {
      const listed = { runs: folder.jsonLines('ls', '--graph', 'report', '--all').rows } as Listed;
      return isDone(listed) ? listed : undefined;
    },
    500,
  );
  expect(done.runs.map(({ runId }) => runId)).toContain(starts[0]);
  worker.child.kill('SIGTERM');
  await within('the worker ends', once(worker.child, 'close'));
});

test('WH1.1 W7.7 the webhooks of a schedule are told of the runs that it starts', async () => {
  const folder = openFolder();
  folder.write('report.yaml', workflow);
  const add = (...more: readonly string[]): Reply =>
    folder.cairn('schedule', 'add', 'report.yaml', '--cron', '@yearly', ...more);
  expect(add('--webhook', 'https://hooks.example.org/a completed').err).toContain('--webhook "https://');
  const delivered = Promise.withResolvers<{ readonly signature: unknown; readonly body: string }>();
  const receiver = createServer((request, response) => {
    void readText(request).then((body) => {
      delivered.resolve({ signature: request.headers['webhook-signature'], body });
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  try {
    await once(receiver, 'listening');
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const hooks = [`${url} completed secret:HOOK private`, 'https://hooks.example.org/b failed secret:HOOK'];
    expect(add(...hooks.flatMap((hook) => ['--webhook', hook])).code).toBe(0);
    expect(folder.json('schedule', 'list')).toMatchObject({ schedules: [{ webhooks: hooks }] });
    vi.stubEnv('HOOK', `whsec_${Buffer.alloc(32, 1).toString('base64')}`);
    const worker = startWorker(folder);
    const { starts } = folder.json('schedule', 'trigger', 'report') as { readonly starts: readonly string[] };
    const { signature, body } = await within('the receiver is told', delivered.promise);
    expect(signature).toMatch(/^v1,/u);
    expect(JSON.parse(body)).toMatchObject({ type: 'run.completed', data: { runId: starts[0] } });
    worker.child.kill('SIGTERM');
    await within('the worker ends', once(worker.child, 'close'));
  } finally {
    vi.unstubAllEnvs();
    receiver.close();
  }
});

test('G9 what can never be met is refused when a schedule is added', () => {
  const folder = openFolder();
  folder.write('report.yaml', workflow);
  const codeOf = (...args: readonly string[]): string | undefined =>
    /\[([A-Z_]+)\]/.exec(folder.cairn('schedule', ...args).err)?.[1];
  expect(codeOf('add', 'report.yaml')).toBe('USAGE_INVALID');
  expect(codeOf('add', 'report.yaml', '--cron', '0 25 * * *')).toBe('CONFIG_INVALID');
  expect(codeOf('add', 'report.yaml', '--cron', '0 2 * * *', '--timezone', 'Mars/Base')).toBe('CONFIG_INVALID');
  expect(codeOf('add', 'report.yaml', '--cron', '0 2 * * *', '--input', 'kin=1')).toBe('INPUT_INVALID');
  expect(codeOf('add', 'none.yaml', '--cron', '0 2 * * *')).toBe('GRAPH_PARSE');
  expect(codeOf('pause')).toBe('USAGE_INVALID');
});

test('W7.12 an end that leaves no time is refused, also where the schedule takes the place of another, and is told as a date; a list fits the screen', () => {
  const folder = openFolder();
  folder.write('report.yaml', workflow);
  const add = (...more: readonly string[]) =>
    folder.cairn('schedule', 'add', 'report.yaml', '--cron', '0 2 * * *', ...more);
  const refused = /bad configuration at endsAt: it is 2020-01-0\d.*, and the next time of "0 2 \* \* \*" is 20/;
  expect(add('--ends', '2020-01-02').err).toMatch(refused);
  expect(add().out).toContain('scheduled: report');
  expect(add('--ends', '2020-01-02').err).toMatch(refused);
  expect(folder.json('schedule', 'list')).toMatchObject({ schedules: [{ runId: 'cairn:schedule:report' }] });
  expect(add('--ends', '2096-02-30').err).toContain('ends is no time: "2096-02-30"');
  expect(add('--ends', '2096-02-29').out).toContain('  endsAt: default → 2096-02-29 00:00:00\n');
  expect(add('--timezone', 'America/Argentina/Buenos_Aires', '--name', 'long'.repeat(9)).code).toBe(0);
  const widths = folder
    .cairn('schedule', 'list')
    .out.split('\n')
    .map(({ length }) => length);
  expect(Math.max(...widths)).toBeLessThanOrEqual(80);
});
