/** Real processes. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { CairnError } from '../errors.ts';
import type { NodeFailure } from '../graph/contracts/node-contract.ts';
import { createFakeContext, type FakeContextOptions } from '../testing/node-suite/fake-context.ts';
import { secret, shellNode } from './builders.ts';
import type { ShellNodeConfig, ShellOutput } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-shell-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = async (config: ShellNodeConfig, options: FakeContextOptions = {}): Promise<ShellOutput> =>
  (await shellNode(config).implementation.run(createFakeContext(options))) as ShellOutput;
const failureOf = (config: ShellNodeConfig, options: FakeContextOptions = {}): Promise<NodeFailure> =>
  run(config, options).then(
    () => Promise.reject(new Error('completed')),
    (error: unknown) => error as NodeFailure,
  );

/** Values that a shell would act on if it ever read them as its own text. */
const hostile: readonly string[] = [
  `$(touch ${folder}/owned)`,
  `\`touch ${folder}/owned\``,
  `; touch ${folder}/owned #`,
  `' ; touch ${folder}/owned ; '`,
  `" ; touch ${folder}/owned ; "`,
  `\n touch ${folder}/owned \n`,
  `&& touch ${folder}/owned`,
  `| tee ${folder}/owned`,
  `> ${folder}/owned`,
  '$HOME ${PATH} $0 $1 $@ $$ $?',
  '* ? [a-z] ~ {a,b} !! \\ \\\\ %s %n',
  '--help',
  '-e',
  '-',
  '--',
  '',
  ' ',
  '\t\r\n',
  'é€🪨\u202e',
  '\u0001\u001b[31m\u007f',
  "$'\\x41'",
  '() { :; }; touch owned',
];

test('E7 a value can never become shell syntax: as an argument of a program', async () => {
  const script = 'process.stdout.write(JSON.stringify(process.argv.slice(1)))';
  const output = await run(
    {
      command: [process.execPath, '-e', script, '--', ({ state }) => state.input as string],
      args: ({ state }) => state.scratch['all'] as string[],
    },
    { state: { input: hostile[0], scratch: { all: hostile } } },
  );
  expect(JSON.parse(output.stdout)).toEqual([hostile[0], ...hostile]);
  expect(existsSync(join(folder, 'owned'))).toBe(false);
});

test('E7 a value can never become shell syntax: as an argument and in the environment of a script', async () => {
  for (const value of hostile) {
    const { stdout } = await run(
      {
        command: 'printf "%s|%s|%s" "$1" "$VALUE" "$#"',
        args: [({ state }) => state.input as string],
        env: { VALUE: ({ state }) => state.input as string },
      },
      { state: { input: value } },
    );
    expect(stdout).toBe(`${value}|${value}|1`);
  }
  expect(existsSync(join(folder, 'owned'))).toBe(false);
});

test('P6 what cannot be an argument is refused before anything is started', async () => {
  const command = ['touch', join(folder, 'started')] as const;
  const bad: readonly Partial<ShellNodeConfig>[] = [
    { args: ['a\0b'] },
    { args: [{} as never] },
    { args: [undefined as never] },
    { args: [secret('TOKEN') as never] },
    { args: (() => 'text') as never },
    { env: { A: 'a\0b' } },
    { env: { A: () => ({}) as never } },
    { cwd: 'a\0b' },
    { input: () => 5 as never },
  ];
  for (const config of bad)
    expect(await failureOf({ command, ...config })).toMatchObject({ code: 'ARGUMENT_INVALID', applied: 'no' });
  expect(existsSync(join(folder, 'started'))).toBe(false);
});

test('P6 a command or an environment that comes from the state is refused when the graph is written', () => {
  expect(() => shellNode({ command: ((state: { input: string }) => state.input) as never })).toThrow(CairnError);
  expect(() => shellNode({ command: [((state: { input: string }) => state.input) as never] })).toThrow(CairnError);
  expect(() => shellNode({ command: [] as never })).toThrow(CairnError);
  expect(() => shellNode({ command: 'env', env: (() => ({})) as never })).toThrow(CairnError);
  expect(() => shellNode({ command: 'env', env: { 'A=B': 'x' } })).toThrow(/A=B/);
});

test('X1 a program sees PATH, HOME, LANG, what is named and the idempotency key, and nothing else', async () => {
  process.env['CAIRN_TEST_LEAK'] = 'leak';
  const { stdout } = await run(
    { command: ['/usr/bin/env'], env: { NAMED: 'v', COUNT: 3, FLAG: true, NONE: () => undefined } },
    { idempotencyKey: 'key-of-this' },
  );
  delete process.env['CAIRN_TEST_LEAK'];
  const names = stdout
    .trim()
    .split('\n')
    .map((line) => line.split('=')[0]);
  const expected = ['PATH', 'HOME', 'LANG'].filter((name) => process.env[name] !== undefined);
  expect(new Set(names)).toEqual(new Set([...expected, 'NAMED', 'COUNT', 'FLAG', 'CAIRN_IDEMPOTENCY_KEY']));
  expect(stdout).toContain('CAIRN_IDEMPOTENCY_KEY=key-of-this');
});

test('secrets reach the program only, and are masked in what it prints', async () => {
  const draft = shellNode({
    command: 'printf "%s" "$TOKEN" | wc -c; echo "plain $TOKEN"; printf "%s" "$TOKEN" | base64 >&2; exit 3',
    env: { TOKEN: secret('API', { prefix: 'Bearer ' }) },
  });
  const ctx = createFakeContext({ secrets: { API: 's3cret-value' } });
  const failure = await Promise.resolve(draft.implementation.run(ctx)).catch((error: unknown) => error as NodeFailure);
  const told = JSON.stringify([
    draft.config,
    (failure as NodeFailure).message,
    (failure as NodeFailure).data,
    ctx.record.events,
  ]);
  expect(told).toContain('plain Bearer [secret:API]');
  expect(told).toContain('19');
  expect(told).toContain('Bearer secret:API');
  expect(told).not.toContain('s3cret-value');
});

test('a missing secret fails the attempt before anything is started', async () => {
  const started = join(folder, 'without-secret');
  const failure = await failureOf({ command: ['touch', started], env: { TOKEN: secret('ABSENT') } });
  expect(failure).toMatchObject({ code: 'SECRET_MISSING', applied: 'no' });
  expect(existsSync(started)).toBe(false);
});

test('stdin is empty, or the input given', async () => {
  expect(await run({ command: ['cat'] })).toMatchObject({ stdout: '', exitCode: 0 });
  expect(
    await run({ command: ['cat'], input: ({ state }) => String(state.input) }, { state: { input: 'in\n' } }),
  ).toMatchObject({ stdout: 'in\n' });
  expect(await run({ command: ['wc', '-c'], input: new Uint8Array([0, 255, 0]) })).toMatchObject({
    stdout: expect.stringContaining('3'),
  });
  // A program that reads none of a large input closes the pipe under us.
  expect(await run({ command: ['true'], input: 'x'.repeat(4_000_000) })).toMatchObject({ exitCode: 0 });
});

test('the working directory is the one given', async () => {
  expect((await run({ command: ['pwd', '-P'], cwd: () => '/' })).stdout).toBe('/\n');
});

test('an exit code that is not ok fails the node, with the code, the output and the last line in its data', async () => {
  const failure = await failureOf({ command: ['sh', '-c', 'echo out; echo first >&2; echo last >&2; exit 7'] });
  expect(failure).toMatchObject({ code: 'EXIT_CODE', applied: 'ended', message: 'sh exited with 7: last' });
  expect(failure.data).toMatchObject({ exitCode: 7, signal: null, stdout: 'out\n', stderr: 'first\nlast\n' });
  expect(await run({ command: 'exit 7', okExitCodes: [0, 7] })).toMatchObject({ exitCode: 7 });
  expect(await failureOf({ command: 'exit 0', okExitCodes: [1] })).toMatchObject({ code: 'EXIT_CODE' });
  expect((await failureOf({ command: 'kill -9 $$' })).data).toMatchObject({ exitCode: null, signal: 'SIGKILL' });
});

test('X3 a program that could not be started certainly did nothing', async () => {
  const missing = await failureOf({ command: ['/no/such/program'] });
  expect(missing).toMatchObject({ code: 'SPAWN_FAILED', applied: 'no', data: { reason: 'ENOENT' } });
  expect(await failureOf({ command: ['true'], cwd: '/no/such/folder' })).toMatchObject({
    code: 'SPAWN_FAILED',
    applied: 'no',
  });
  writeFileSync(join(folder, 'not-executable'), 'x', { mode: 0o600 });
  expect(await failureOf({ command: [join(folder, 'not-executable')] })).toMatchObject({
    code: 'SPAWN_FAILED',
    data: { reason: 'EACCES' },
  });
  expect(await failureOf({ command: ['true', 'x'.repeat(3_000_000)] })).toMatchObject({
    code: 'SPAWN_FAILED',
    data: { reason: 'E2BIG' },
  });
});

test('E8 output is streamed while the program runs, and kept up to the limit', async () => {
  const ctx = createFakeContext();
  const draft = shellNode({
    command: 'printf é; head -c 300000 /dev/zero | tr "\\0" x; printf end; echo oops >&2',
    maxOutputBytes: 20,
  });
  const output = (await draft.implementation.run(ctx)) as ShellOutput;
  expect(output.stdout).toBe('éxxxxxxxx\n[299985 bytes left out]\nxxxxxxxend');
  expect(output).toMatchObject({ stderr: 'oops\n', truncated: true, omittedBytes: 299_985 });
  const texts = ctx.record.events as readonly { kind: string; stream: string; text: string }[];
  const streamed = texts
    .filter(({ stream }) => stream === 'stdout')
    .map(({ text }) => text)
    .join('');
  expect(streamed).toHaveLength(300_004);
});

test('text that arrives in the middle of a character is whole', async () => {
  const output = await run({ command: 'printf "\\303"; sleep 0.05; printf "\\251\\377"' });
  expect(output.stdout).toBe('é\ufffd');
});

/** Runs a script until it says that it is ready, then aborts it. */
async function abortWhenReady(command: string, killGraceMs?: number): Promise<unknown> {
  const abort = new AbortController();
  const emit = (event: unknown): void => {
    if ((event as { text: string }).text.includes('ready')) abort.abort(new Error('stop'));
  };
  const config = { command, args: [folder], ...(killGraceMs !== undefined && { killGraceMs }) };
  return failureOf(config, { signal: abort.signal, emit });
}

/** A process holds a pipe open until it dies; the pipe's end is the proof. No clock is asked. */
async function fifoOf(name: string): Promise<{ readonly path: string; readonly released: Promise<unknown> }> {
  const path = join(folder, name);
  await run({ command: ['mkfifo', path] });
  return { path, released: run({ command: ['cat', path] }) };
}

test('E7 an abort kills the whole process group: children and grandchildren', async () => {
  const fifo = await fifoOf('group');
  const script = `exec 3>"${fifo.path}"; (sleep 600 & sleep 600) & echo ready; sleep 600`;
  expect(await abortWhenReady(script)).toMatchObject({ message: 'stop' });
  await fifo.released;
});

test('E7 a program that ignores SIGTERM is killed after the grace period', async () => {
  const fifo = await fifoOf('stubborn');
  const script = `exec 3>"${fifo.path}"; trap "" TERM; echo ready; while :; do sleep 0.05; done`;
  expect(await abortWhenReady(script, 20)).toMatchObject({ message: 'stop' });
  await fifo.released;
});

test('E7 a program that cleans up on SIGTERM has the time to do so', async () => {
  const marker = join(folder, 'cleaned');
  await abortWhenReady(
    'trap "echo done > \\"$1/cleaned\\"; exit 0" TERM; echo ready; while :; do sleep 0.01; done',
    60_000,
  );
  expect(readFileSync(marker, 'utf8')).toBe('done\n');
});

test('E7 under a signal that is aborted already nothing is started', async () => {
  const path = join(folder, 'aborted');
  await failureOf({ command: ['touch', path] }, { signal: AbortSignal.abort(new Error('stop')) });
  expect(existsSync(path)).toBe(false);
});

test('E7 what a program leaves running in its group ends with it, and does not hold the node', async () => {
  const fifo = await fifoOf('background');
  expect(await run({ command: `exec 3>"${fifo.path}"; sleep 600 & echo started` })).toMatchObject({
    stdout: 'started\n',
    exitCode: 0,
  });
  await fifo.released;
});

test('E7 when the worker itself exits, the groups it started end with it', async () => {
  const fifo = await fifoOf('worker');
  const worker = `
    import { runProcess } from ${JSON.stringify(join(import.meta.dirname, 'shell/run-process.ts'))};
    const { signal } = new AbortController();
    const args = ['-c', 'exec 3>"$1"; echo ready; sleep 600', 'sh', ${JSON.stringify(fifo.path)}];
    await runProcess({ file: 'sh', args, env: { PATH: process.env.PATH }, signal, killGraceMs: 1000, onOutput: () => process.exit(5) });`;
  const program = join(folder, 'worker.mjs');
  writeFileSync(program, worker);
  expect(await failureOf({ command: [process.execPath, program] })).toMatchObject({ data: { exitCode: 5 } });
  await fifo.released;
});

test('E7 a descendant that left the group cannot hold the node by its output', async () => {
  const pipe = join(folder, 'descendant');
  await run({ command: ['mkfifo', pipe] });
  const script = 'setsid sh -c \'echo $$ >"$PIPE"; exec sleep 600\' & read pid <"$PIPE"; echo "$pid"';
  const { stdout, exitCode } = await run({ command: script, env: { PIPE: pipe }, killGraceMs: 20 });
  expect(exitCode).toBe(0);
  // It lives on: whoever leaves the group on purpose is not ours to kill. Here the test does.
  expect(process.kill(Number(stdout), 'SIGKILL')).toBe(true);
});

test('X a shell node is external unless it says otherwise, and its functions are code, not data', () => {
  const draft = shellNode(
    { command: ['git', 'log', ({ state }) => state.input as string], timeoutMs: 50, retry: { attempts: 2 } },
    { effectClass: 'read' },
  );
  expect(draft).toMatchObject({
    effect: 'read',
    timeoutMs: 50,
    retry: { attempts: 2 },
    config: { command: ['git', 'log', '(computed)'] },
  });
  expect(draft.implementation.codeText).toContain('state.input');
  expect(shellNode({ command: 'true' }).effect).toBe('external');
});
