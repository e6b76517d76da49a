/** Real processes. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { variableNames } from '../../graph/command-variables.ts';
import type { FileOutput, Inputs } from '../../graph/contracts/node-type.ts';
import type { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { createBlockContext, failBlock, runBlock, type BlockOptions } from '../../../test/support/run-block.ts';
import { shellBlock } from './shell.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-shell-block-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const command = (script: string, env: Readonly<Record<string, string | SecretReference>> = {}): Inputs => ({
  command: { script, env },
  working_dir: folder,
});
const run = (script: string, more: Inputs = {}, options: BlockOptions = {}): Promise<Inputs> =>
  runBlock(shellBlock, { ...command(script), ...more }, options);
const fail = (script: string, more: Inputs = {}, options: BlockOptions = {}): Promise<NodeFailure> =>
  failBlock(shellBlock, { ...command(script), ...more }, options);
const fileOutput = (name: string, more: Partial<FileOutput> = {}): FileOutput => ({
  name,
  type: 'str',
  path: name,
  isRequired: true,
  isUnsafe: false,
  ...more,
});

test('B4 the output has the exit code, both streams as they were, and whether it succeeded', async () => {
  expect(await run('echo out; echo err >&2')).toEqual({
    exit_code: 0,
    stdout: 'out\n',
    stderr: 'err\n',
    success: true,
  });
});

test('B4 a value in a command is data', async () => {
  const value = `"; touch ${folder}/owned; '$(touch ${folder}/owned)'`;
  const output = await runBlock(shellBlock, command('printf %s "$CAIRN_V1"', { CAIRN_V1: value }));
  expect(output['stdout']).toBe(value);
  expect(existsSync(join(folder, 'owned'))).toBe(false);
});

test('B4 a command that is plain text is refused: its values could be syntax', async () => {
  const failure = await failBlock(shellBlock, { command: `touch ${folder}/owned` });
  expect([failure.code, failure.applied, existsSync(join(folder, 'owned'))]).toEqual(['INPUT_INVALID', 'no', false]);
});

test('B5 another exit code fails the block, and what it said is kept', async () => {
  expect(await fail('echo partly; echo why >&2; exit 3')).toMatchObject({
    code: 'EXIT_CODE',
    applied: 'ended',
    message: 'the command exited with 3: why',
    data: { exit_code: 3, stdout: 'partly\n', stderr: 'why\n', success: false },
  });
});

test('B5 with continue-on-error it completes', async () => {
  for (const yes of [true, 'true'])
    expect(await run('exit 3', { 'continue-on-error': yes })).toMatchObject({ exit_code: 3, success: false });
});

test('B5 a command that a signal ended has 128 and its number', async () => {
  expect(await run('kill -9 $$', { 'continue-on-error': true })).toMatchObject({ exit_code: 137, success: false });
});

test('B6 the environment is PATH, HOME, LANG, what is named, and the key; stdin is empty', async () => {
  const env = { N: 5, FLAG: true, LIST: [1, { a: 'b' }], NONE: null };
  const output = await run('cat; env', { env }, { idempotencyKey: 'key-7' });
  const lines = String(output['stdout']).trim().split('\n');
  const allowed = /^(PATH|HOME|LANG|PWD|OLDPWD|SHLVL|_|N|FLAG|LIST|CAIRN_IDEMPOTENCY_KEY)=/;
  expect(lines.filter((line) => !allowed.test(line))).toEqual([]);
  expect(lines).toEqual(
    expect.arrayContaining(['N=5', 'FLAG=true', 'LIST=[1,{"a":"b"}]', 'CAIRN_IDEMPOTENCY_KEY=key-7']),
  );
});

test('B6 names that cannot be set are refused', () => {
  for (const name of ['A=B', '', 'CAIRN_V1', 'CAIRN_IDEMPOTENCY_KEY', variableNames('a CAIRN_V1 CAIRN_V_')(12)])
    expect(shellBlock.check?.({ env: { [name]: 'x' } })).toMatchObject([{ input: 'env' }]);
});

test('B6 secrets reach the command only: streams, events, file outputs and failures show their names', async () => {
  const secret = new SecretReference(['Bearer ', { secret: 'API' }]);
  const inputs = {
    ...command('echo "$CAIRN_V1 $TOKEN" | tee said >&2; printf "%s" "$TOKEN" | wc -c; exit 1', { CAIRN_V1: secret }),
    env: { TOKEN: secret },
  };
  const ctx = createBlockContext(inputs, { secrets: { API: 's3cret-value' }, fileOutputs: [fileOutput('said')] });
  const failure = await Promise.resolve(shellBlock.run(ctx)).catch((error: unknown) => error as NodeFailure);
  const told = JSON.stringify([(failure as NodeFailure).message, (failure as NodeFailure).data, ctx.record.events]);
  expect(told).toContain('Bearer [secret:API]');
  expect(told).toContain('19');
  expect(told).not.toContain('s3cret-value');
});

test('B6 a working directory is made', async () => {
  const made = join(folder, 'made', 'deep');
  expect(await run('pwd', { working_dir: made })).toMatchObject({ stdout: `${made}\n` });
});

test('B6 without capture_output what it says is shown as it comes, and not kept', async () => {
  const inputs = { ...command('echo out; echo err >&2'), capture_output: false };
  const ctx = createBlockContext(inputs);
  expect(await shellBlock.run(ctx)).toEqual({ exit_code: 0, stdout: '', stderr: '', success: true });
  expect(ctx.record.events).toContainEqual({ kind: 'output', stream: 'stdout', text: 'out\n' });
});

test('B7 file outputs become fields, parsed by their types', async () => {
  const script = `echo ' text ' > s; echo 5.0 > n; echo Yes > b; echo '[1]' > l; echo '{"a":1}' > d`;
  const types = { s: 'str', n: 'num', b: 'bool', l: 'list', d: 'dict' } as const;
  const fileOutputs = Object.entries(types).map(([name, type]) => fileOutput(name, { type }));
  expect(await run(script, {}, { fileOutputs })).toMatchObject({ s: 'text', n: 5, b: true, l: [1], d: { a: 1 } });
});

test('B7 they are read whatever the exit code is, and kept in the failure', async () => {
  expect(await fail('echo 7 > n; exit 2', {}, { fileOutputs: [fileOutput('n', { type: 'num' })] })).toMatchObject({
    code: 'EXIT_CODE',
    data: { exit_code: 2, n: 7 },
  });
});

test('B7 one that is missing fails the block if it is required, and never replaces what the command did', async () => {
  const fileOutputs = [fileOutput('absent'), fileOutput('there')];
  expect(await fail('echo out; echo x > there', {}, { fileOutputs })).toMatchObject({
    code: 'FILE_OUTPUT_INVALID',
    data: { exit_code: 0, stdout: 'out\n', there: 'x', output_faults: { absent: expect.stringContaining('ENOENT') } },
  });
  const optional = await run('true', {}, { fileOutputs: [fileOutput('absent', { isRequired: false })] });
  expect(optional).not.toHaveProperty('absent');
});

test.for<[string, Partial<FileOutput>, string]>([
  ['an absolute path', { path: '/etc/hostname' }, 'outside'],
  ['a way up', { path: '../up' }, 'outside'],
  ['a link', { path: 'link' }, 'symbolic link'],
  ['a file behind a linked folder', { path: 'linked/file' }, 'symbolic link'],
  ['a folder', { path: 'sub' }, 'is no file'],
  ['a pipe', { path: 'pipe' }, 'is no file'],
  ['a file over 10 MiB', { path: 'large' }, 'over the limit'],
  ['what is no number', { path: 'word', type: 'num' }, 'no num'],
  ['what is no flag', { path: 'word', type: 'bool' }, 'no bool'],
  ['an object for a list', { path: 'object', type: 'list' }, 'no list'],
  ['broken JSON', { path: 'word', type: 'dict' }, 'no dict'],
])('B7 refused as a file output: %s', async ([, more, reason]) => {
  const place = mkdtempSync(join(folder, 'work-'));
  const outside = mkdtempSync(join(folder, 'outside-'));
  writeFileSync(join(outside, 'file'), 'theirs');
  symlinkSync(join(outside, 'file'), join(place, 'link'));
  symlinkSync(outside, join(place, 'linked'));
  mkdirSync(join(place, 'sub'));
  writeFileSync(join(place, 'word'), 'word');
  writeFileSync(join(place, 'object'), '{}');
  writeFileSync(join(place, 'large'), Buffer.alloc(10 * 1024 * 1024 + 1));
  const failure = await fail('mkfifo pipe', { working_dir: place }, { fileOutputs: [fileOutput('o', more)] });
  expect(failure.code).toBe('FILE_OUTPUT_INVALID');
  expect(failure.message).toContain(reason);
});

test('B7 an unsafe one may lie anywhere', async () => {
  const outside = join(folder, 'anywhere');
  const fileOutputs = [fileOutput('o', { path: outside, isUnsafe: true })];
  expect(await run(`echo x > ${outside}`, {}, { fileOutputs })).toMatchObject({ o: 'x' });
});

test('B7 one cannot take the name of a field, and the command is not started then', async () => {
  const started = join(folder, 'started');
  const failure = await fail(`touch ${started}`, {}, { fileOutputs: [fileOutput('stdout')] });
  expect([failure.applied, existsSync(started)]).toEqual(['no', false]);
});

test('G9 shell: false is refused by name, numbers and flags are taken as text too', () => {
  expect(shellBlock.check?.({ shell: false })).toMatchObject([{ input: 'shell' }]);
  expect(shellBlock.check?.({ timeout: '90', capture_output: 'false', shell: true })).toEqual([]);
  expect(shellBlock.check?.({ timeout: '0' })).toMatchObject([{ input: 'timeout' }]);
  expect(shellBlock.check?.({ capture_output: 'maybe' })).toMatchObject([{ input: 'capture_output' }]);
  expect([{}, { timeout: 5 }, { timeout: '7' }, { timeout: 'x' }].map((l) => shellBlock.timeoutMs?.(l))).toEqual([
    120_000,
    5_000,
    7_000,
    undefined,
  ]);
});
