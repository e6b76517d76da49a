/** Sandboxes of Docker: what the engine is told, with a program in its place, and with the engine where one answers. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { until } from '../../test/support/awaited.ts';
import { AgentGraph } from '../dialects/code/agent-graph.ts';
import '../index.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { END, START } from '../graph/graph.ts';
import type { SandboxCommand } from '../ports/sandboxes.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { docker, SandboxSession, type SandboxOptions } from './index.ts';

const place = mkdtempSync(join(tmpdir(), 'cairn-docker-'));
chmodSync(place, 0o755);
afterAll(() => rmSync(place, { recursive: true, force: true }));

const [program, log, state] = [join(place, 'docker.sh'), join(place, 'log'), join(place, 'state')];
// Stands for the command line of Docker: notes its arguments, and runs the command in the folder that would be mounted.
writeFileSync(
  program,
  `#!/bin/sh
printf '%s\\n' "$*" >> ${log}
state=$(cat ${state} 2>/dev/null)
case "$1" in
  version) [ "$state" = down ] && { echo 'Cannot connect to the Docker daemon' >&2; exit 1; }; echo 27 ;;
  image) [ "$5" = gone ] && { echo 'No such image: gone' >&2; exit 1; }; echo id ;;
  rm) touch ${place}/removed-"$3" ;;
  run)
    [ "$state" = refused ] && { echo 'docker: Error response from daemon: no space left.' >&2; exit 125; }
    shift
    while [ "$1" != image ]; do
      case "$1" in
        --mount=*) dir=\${1#*src=}; cd "\${dir%,dst=*}" ;;
        --env=*) export "\${1#--env=}" ;;
        --cidfile=*) echo id > "\${1#--cidfile=}" ;;
      esac
      shift
    done
    shift
    exec "$@" ;;
esac
`,
  { mode: 0o755 },
);
const become = (value: string): void => writeFileSync(state, value);
const sandboxes = docker({ image: 'image', program, place });
const limits = { processes: 8, memoryBytes: 1 << 28, diskBytes: 1 << 20 };
const request = { key: 'k', network: false, limits };
const quiet = (): SandboxCommand => ({ signal: new AbortController().signal, key: 'key-1', onOutput: () => undefined });

test('SB6 a command is a container of its own, with no network, no capabilities, bounds, and a folder', async () => {
  const box = await sandboxes.create(request);
  await box.write('in.txt', Buffer.from('in'));
  const script = 'cat in.txt; echo "$CAIRN_IDEMPOTENCY_KEY" > out.txt; exit 3';
  let said = '';
  const end = await box.exec(['sh', '-c', script], {
    ...quiet(),
    onOutput: (_, bytes) => (said += Buffer.from(bytes).toString()),
  });
  expect([end.exitCode, said, Buffer.from(await box.read('out.txt')).toString()]).toEqual([3, 'in', 'key-1\n']);
  const run =
    readFileSync(log, 'utf8')
      .split('\n')
      .find((line) => line.startsWith('run ')) ?? '';
  for (const flag of [
    '--rm',
    '--network=none',
    '--read-only',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    '--pids-limit=8',
    '--memory=268435456',
    '--memory-swap=268435456',
    '--pull=never',
    '--entrypoint=',
    `--mount=type=bind,src=${box.folder},dst=/box`,
    `--user=${process.getuid?.() === 0 ? '65534:65534' : `${process.getuid?.()}:${process.getgid?.()}`}`,
  ])
    expect(run.split(' ')).toContain(flag);
  await box.close();
  expect(existsSync(box.folder ?? '')).toBe(false);
  const open = await sandboxes.create({ ...request, network: true });
  await open.exec(['true'], quiet());
  await open.close();
  expect(readFileSync(log, 'utf8')).toContain('--network=bridge');
});

test('SB1 a command may end with the code and the words of an engine that made no container', async () => {
  const box = await sandboxes.create(request);
  const end = await box.exec(['sh', '-c', 'echo "docker: Error response from daemon: no" >&2; exit 125'], quiet());
  expect(end).toMatchObject({ exitCode: 125 });
  await box.close();
});

test('SB6 a command that is called off has its container removed', async () => {
  const box = await sandboxes.create(request);
  const controller = new AbortController();
  const ended = box.exec(['sh', '-c', 'touch begun; sleep 60'], { ...quiet(), signal: controller.signal });
  await until('the command', () => existsSync(join(box.folder ?? '', 'begun')) || undefined);
  controller.abort();
  await ended.catch(() => undefined);
  expect(readdirSync(place).some((name) => name.startsWith('removed-cairn-'))).toBe(true);
  await box.close();
});

test('SB1 without the program, an engine that answers, the image, or a container, nothing runs, and it is said why', async () => {
  const reasonOf = (made: Promise<unknown>): Promise<unknown> =>
    made.then(
      () => 'made',
      (error: unknown) => [(error as { code: unknown }).code, (error as Error).message],
    );
  const telling = (text: string): unknown => ['SANDBOX_UNAVAILABLE', expect.stringContaining(text)];
  const none = docker({ image: 'image', program: join(place, 'nowhere') });
  expect(await reasonOf(none.create(request))).toEqual(telling('is not installed'));
  expect(await reasonOf(docker({ image: 'gone', program, place }).create(request))).toEqual(
    telling('the image gone is not there (pull it first): No such image: gone'),
  );
  const own = docker({ image: 'image', program, place });
  become('down');
  expect(await reasonOf(own.create(request))).toEqual(telling('no engine answers: Cannot connect'));
  become('refused');
  // What failed is asked again: the engine answers now, and has no room.
  const box = await own.create(request);
  expect(await reasonOf(box.exec(['true'], quiet()))).toEqual(telling('no space left'));
  become('');
  await box.close();
  expect(() => docker({ image: '--privileged' })).toThrow('image must be named');
});

/** Runs some commands in one session, with a question between the attempts. */
const graphOf = (options: Partial<SandboxOptions>, after: readonly string[], said: unknown[]) =>
  new AgentGraph({}, { id: 'g' })
    .addNode(
      'a',
      async (ctx: NodeContext) => {
        const session = new SandboxSession(ctx, { sandboxes, ...options });
        try {
          const large = await session.exec(['sh', '-c', 'echo small > small.txt; head -c 5000 /dev/zero > large.bin']);
          await session.write('later.txt', 'later');
          const next = await session.exec(['sh', '-c', 'wc -c < large.bin; cat later.txt']);
          said.push([large.isUnrecorded, next.stdout, next.isUnrecorded]);
          await ctx.ask({ prompt: 'Go on?' });
          return (await session.exec(after)).stdout;
        } finally {
          await session.close();
        }
      },
      { effectClass: 'read' },
    )
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ store: createMemoryStore() });

test('SB2.1 a command that changes more than is recorded is taken as it ended, and its folder lasts as long as the attempt', async () => {
  const said: unknown[] = [];
  const graph = graphOf({ maxChangedBytes: 1_000 }, ['cat', 'small.txt'], said);
  const paused = await graph.invoke({});
  expect([paused.status, said]).toEqual(['paused', [[true, '5000\nlater', true]]]);
  const done = await graph.resume(paused.runId, { answers: { a: 'yes' } });
  expect(done.status).toBe('failed');
  expect(done.error?.message).toContain('the folder of the sandbox is not there any more');
});

test('SB1 nothing is written or read through links that a command made, whether its folder is recorded or not', async () => {
  const outside = join(place, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'f'), 'before');
  const links = `ln -s ${outside} out; mkdir -p in/d; ln -s in here; ln -s ${outside}/f f; ln -s ${outside}/new new; mkfifo pipe`;
  const box = await sandboxes.create(request);
  await box.exec(['sh', '-c', links], quiet());
  for (const path of ['out/f', 'out/new', 'here/../../out/f', '../escaped', 'here/d/../../../x'])
    await expect(box.write(path, Buffer.from('after'))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  for (const [path, code] of [
    ['out/f', 'PERMISSION_DENIED'],
    ['f', 'PATH_REFUSED'],
    ['pipe', 'NOT_A_FILE'],
  ] as const)
    await expect(box.read(path)).rejects.toMatchObject({ code });
  for (const path of ['f', 'new', 'pipe', 'here/d/e', 'in/new/g']) await box.write(path, Buffer.from('own'));
  expect(Buffer.from(await box.read('in/d/e')).toString()).toBe('own');
  await box.close();
  const end: unknown[] = [];
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('a', async (ctx: NodeContext) => {
      const session = new SandboxSession(ctx, { sandboxes, maxChangedBytes: 1_000 });
      try {
        await session.exec(['sh', '-c', `${links}; head -c 5000 /dev/zero > large.bin`]);
        end.push(await session.write('out/pwned', 'x').catch(({ code }: { code: string }) => code));
        await session.write('f', 'y');
        end.push((await session.exec(['sh', '-c', 'cat f; test -L f'])).stdout);
      } finally {
        await session.close();
      }
    })
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ store: createMemoryStore() });
  expect((await graph.invoke({})).status).toBe('completed');
  expect(end).toEqual(['PERMISSION_DENIED', 'y']);
  expect([readdirSync(outside), readFileSync(join(outside, 'f'), 'utf8')]).toEqual([['f'], 'before']);
});

test('SB2.1 what is within the bound is there after a question, too', async () => {
  const said: unknown[] = [];
  const graph = graphOf({ maxChangedBytes: 5_100 }, ['cat', 'small.txt', 'later.txt'], said);
  const paused = await graph.invoke({});
  const done = await graph.resume(paused.runId, { answers: { a: 'yes' } });
  expect([done.status, done.state.outputs['a']]).toEqual(['completed', 'small\nlater']);
});

const image = 'busybox';
const { status, stderr } = spawnSync('docker', ['image', 'inspect', image], { encoding: 'utf8', timeout: 20_000 });
const why =
  status === 0 ? '' : `: no engine answers here, or it has no image ${image} (${(stderr ?? '').trim().slice(0, 80)})`;

describe.skipIf(status !== 0)(`with the engine${why}`, () => {
  test('SB6 a command reaches no network, is not root, and changes its folder alone', async () => {
    const box = await docker({ image, place }).create(request);
    let said = '';
    const script = 'id -u; touch /x; echo in > f; wget -T 2 http://1.1.1.1 && echo through; true';
    await box.exec(['sh', '-c', script], {
      ...quiet(),
      onOutput: (_, bytes) => (said += Buffer.from(bytes).toString()),
    });
    expect(said).not.toMatch(/^0$|through/mu);
    expect(Buffer.from(await box.read('f')).toString()).toBe('in\n');
    await box.close();
    expect(execFileSync('docker', ['ps', '--all', '--format', '{{.Names}}'], { encoding: 'utf8' })).not.toContain(
      'cairn-',
    );
  });
});
