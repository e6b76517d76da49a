/** What a server keeps to: the protocol on its output, its grants, its secrets (M1, M15, M16 of docs/spec/mcp.md). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { within } from '../support/awaited.ts';
import { builtDoors } from '../support/built-package.ts';
import { connectStdio, createWorkspace, ended, serveHere, serverCommand, type Connection } from './mcp-kit.ts';

const planted = 'swordfish-4711-planted';

const workspace = createWorkspace({
  loud: `
name: loud
blocks:
  - { id: say, type: Shell, inputs: { command: "echo out; echo err >&2" } }
outputs: { said: "\${trim(say.stdout)}" }
`,
  secretive: `
name: secretive
secrets: [CAIRN_TEST_SECRET]
blocks:
  - id: leak
    type: Shell
    inputs:
      command: 'echo "the word is $WORD"; [ -n "$WORD" ]'
      env: { WORD: "\${secrets.CAIRN_TEST_SECRET}" }
  - id: ask
    type: GetInput
    depends_on: [leak]
    inputs: { prompt: "It said: \${leak.stdout}. Go on?" }
  - id: fails
    type: Shell
    depends_on: [ask]
    inputs:
      command: 'echo "still $WORD" >&2; exit 1'
      env: { WORD: "\${secrets.CAIRN_TEST_SECRET}" }
outputs: { said: "\${leak.stdout}" }
`,
  keyed: `
name: keyed
inputs: { password: { type: str }, login: { type: dict } }
blocks:
  - { id: use, type: Shell, effect: read, inputs: { command: 'echo \${#password}', env: { password: "\${inputs.password}" } } }
  - { id: ask, type: Prompt, depends_on: [use], inputs: { prompt: "Its length is \${trim(use.stdout)}. Go on?" } }
outputs: { access_token: "\${inputs.login.apiKey}", body: '{"Api-Key": "\${inputs.password}"}' }
`,
});
writeFileSync(join(workspace.folder, 'cairn.config.mjs'), "console.log('config was loaded');\nexport default {};\n");

afterAll(() => workspace.remove());

/** Speaks to a server process line by line, and keeps all that it writes. */
function speak(env: Readonly<Record<string, string>> = {}) {
  const [command = '', ...args] = serverCommand(workspace);
  const child = spawn(command, args, { cwd: workspace.folder, env: { ...process.env, ...env } });
  const lines: string[] = [];
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  /** Waits for lines, not for time: until one of them makes `look` find something. */
  const hears = async <T>(what: string, look: () => T | undefined): Promise<T> => {
    for (let found = look(); ; found = look()) {
      if (found !== undefined) return found;
      await within(`${what}; it wrote ${errors}`, once(output, 'line'));
    }
  };
  const answerTo = (id: number): unknown =>
    lines.map((line) => JSON.parse(line) as { readonly id?: number }).find((message) => message.id === id);
  let last = 0;
  return {
    child,
    lines,
    errors: () => errors,
    hears,
    send: async (method: string, params: object): Promise<unknown> => {
      const id = (last += 1);
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      return hears(`the server answers ${method}`, () => answerTo(id));
    },
  };
}

const opening = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

describe('standard output', () => {
  test('M1 it carries the protocol and nothing else, whatever modules and blocks print', async () => {
    const { child, lines, send, errors } = speak();
    await send('initialize', opening);
    const answer = await send('tools/call', { name: 'execute_workflow', arguments: { workflow: 'loud' } });
    expect(answer).toMatchObject({ result: { structuredContent: { status: 'success', outputs: { said: 'out' } } } });
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    expect(errors()).toContain('config was loaded');
    child.stdin.end();
    await ended(child);
    expect(child.exitCode).toBe(0);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
  });

  test('M1 what is no protocol is answered with an error, and no end of the server', async () => {
    const { child, send, lines, hears } = speak();
    child.stdin.write('hello?\n{"jsonrpc":"2.0"}\n[]\n\n{"jsonrpc":"2.0","id":77,"method":3}\n{"id":"x"');
    child.stdin.write(',"method":"ping"}\n');
    await hears('the server answers five times', () => (lines.length >= 5 ? lines : undefined));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { jsonrpc: '2.0', id: null, error: { code: -32_700, message: expect.stringContaining('no JSON') as string } },
      { jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'this is no JSON-RPC 2.0 message' } },
      { jsonrpc: '2.0', id: null, error: { code: -32_600, message: 'batches are not part of the protocol' } },
      { jsonrpc: '2.0', id: 77, error: { code: -32_600, message: 'this is no JSON-RPC 2.0 message' } },
      { jsonrpc: '2.0', id: 'x', error: { code: -32_600, message: 'this is no JSON-RPC 2.0 message' } },
    ]);
    await send('initialize', opening);
    expect(await send('tools/list', {})).toMatchObject({ result: { tools: expect.any(Array) as unknown[] } });
    expect(await send('tools/call', { name: 'nothing' })).toMatchObject({ error: { code: -32_602 } });
    child.kill('SIGTERM');
    await ended(child);
  });

  test('M1 a message that is too large ends the server, which says why', async () => {
    const { child, send, errors } = speak();
    await send('initialize', opening);
    child.stdin.on('error', () => undefined);
    child.stdin.write('x'.repeat(11 * 1024 * 1024));
    await ended(child);
    expect(child.exitCode).toBe(0);
    expect(errors()).toMatch(/maximum size|buffer/i);
  });

  test('M1 without the SDK the server says what to install', async () => {
    const program = `
      import { registerHooks } from 'node:module';
      registerHooks({ resolve(name, context, next) {
        if (!name.startsWith('@modelcontextprotocol/')) return next(name, context);
        throw Object.assign(new Error('no such package'), { code: 'ERR_MODULE_NOT_FOUND' });
      } });
      const { startMcpServer } = await import(${JSON.stringify(pathToFileURL(builtDoors['cairn-workflows/mcp'] ?? '').href)});
      await startMcpServer({ cwd: '.', storeUrl: 'memory:' }).catch(({ code, hint }) => console.log(code, hint));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: workspace.folder });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += String(chunk)));
    await ended(child);
    expect(output.trim()).toBe('CONFIG_MISSING_PEER Install it: npm install @modelcontextprotocol/server');
  });
});

describe('secrets', () => {
  test('M16 a planted secret is in no answer, no error, no resource, no file of the store and no log', async () => {
    const connection = await connectStdio(workspace, {}, [], { CAIRN_TEST_SECRET: planted });
    const { client, call } = connection;
    const said: unknown[] = [];
    const paused = await call('execute_workflow', { workflow: 'secretive' });
    expect(paused).toMatchObject({ status: 'paused', prompt: expect.stringContaining('the word is') as string });
    const { checkpoint_id: id, run_id: run } = paused;
    const failed = await call('resume_workflow', { checkpoint_id: id, llm_response: 'yes' });
    expect(failed).toMatchObject({ status: 'failure', failed_blocks: ['fails'] });
    said.push(
      paused,
      failed,
      await call('get_run', { run_id: run }),
      await call('get_checkpoint_info', { checkpoint_id: id }),
    );
    said.push(await call('diff_checkpoints', { a: `${String(run)}@0`, b: run }));
    for (const { uri } of (await client.listResources()).resources) said.push(await client.readResource({ uri }));
    expect(JSON.stringify(said)).not.toContain(planted);
    expect(connection.errors()).not.toContain(planted);
    await client.close();
    const kept = readdirSync(workspace.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    expect(kept.length).toBeGreaterThan(2);
    expect(kept.filter((path) => readFileSync(path).includes(planted))).toEqual([]);
  });
});

describe('masks', () => {
  test('M16 C2.1 values under names of secrets are shown by no tool and no resource, while the run computes with them; a mask that comes back is refused', async () => {
    const { client, call } = await (await serveHere(workspace)).connect();
    const inputs = { password: planted, login: { apiKey: `${planted}-2` } };
    const paused = await call('execute_workflow', { workflow: 'keyed', inputs, run_id: 'keyed' });
    expect(paused).toMatchObject({ status: 'paused', prompt: `Its length is ${planted.length}. Go on?` });
    const { checkpoint_id: id } = paused;
    const marked = { checkpoint_id: id, set: { 'input.login': { apiKey: '[redacted]' } } };
    expect(await call('fork_checkpoint', marked)).toMatchObject({ isError: true, code: 'VALUE_MASKED' });
    expect(await call('resume_workflow', { checkpoint_id: id, llm_response: '[redacted]' })).toMatchObject({
      code: 'VALUE_MASKED',
    });
    const done = await call('resume_workflow', { checkpoint_id: id, llm_response: 'yes' });
    expect(done).toMatchObject({
      status: 'success',
      outputs: { access_token: '[redacted]', body: '{"Api-Key": "[redacted]"}' },
    });
    const said: unknown[] = [
      paused,
      done,
      await call('get_run', { run_id: 'keyed' }),
      await call('list_questions', {}),
    ];
    said.push(
      await call('get_checkpoint_info', { checkpoint_id: id }),
      await call('preview_resume', { checkpoint_id: id }),
    );
    said.push(await call('diff_checkpoints', { a: 'keyed@0', b: 'keyed' }));
    for (const { uri } of (await client.listResources()).resources) said.push(await client.readResource({ uri }));
    expect(JSON.stringify(said)).toContain('[redacted]');
    expect(JSON.stringify(said)).not.toContain(planted);
  });
});

describe('permissions', () => {
  const shell =
    'name: x\nblocks:\n  - { id: run, type: Shell, inputs: { command: "echo hi" } }\noutputs: { said: "${trim(run.stdout)}" }\n';
  const inputs = 'inputs:\n  path: { type: str }\n';
  const file = `name: y\n${inputs}blocks:\n  - { id: make, type: CreateFile, inputs: { path: "\${path}", content: x } }\n`;
  const { folder } = workspace;
  let none: Connection;
  let inlineOnly: Connection;
  let granted: Connection;
  beforeAll(async () => {
    none = await (await serveHere(workspace)).connect();
    inlineOnly = await (await serveHere(workspace, { allow: ['inline'] })).connect();
    granted = await (await serveHere(workspace, { allow: [`inline,shell`, `fs=${join(folder, 'free')}`] })).connect();
  });

  test('M15 workflows given as texts are refused unless they are granted', async () => {
    const refused = await none.call('execute_inline_workflow', { workflow_yaml: shell });
    expect(refused).toMatchObject({
      isError: true,
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('inline') as string,
    });
    expect(await none.call('list_runs', { graph: 'x' })).toMatchObject({ runs: [] });
  });

  test('M15 a block outside the grants is refused at load, by name; one inside runs', async () => {
    const refused = await inlineOnly.call('execute_inline_workflow', { workflow_yaml: shell });
    expect(refused).toMatchObject({ isError: true, status: 'failure' });
    expect(JSON.stringify(refused)).toMatch(/run.*Shell|Shell.*run/s);
    expect(await granted.call('execute_inline_workflow', { workflow_yaml: shell })).toMatchObject({
      status: 'success',
      outputs: { said: 'hi' },
    });
  });

  test('M15 what a block reaches for only when it runs is held to the grants then', async () => {
    const run = (path: string) => granted.call('execute_inline_workflow', { workflow_yaml: file, inputs: { path } });
    expect(await run(join(folder, 'free', 'a.txt'))).toMatchObject({ status: 'success' });
    const refused = await run(join(folder, 'workflows', 'loud.yaml'));
    expect(refused).toMatchObject({ status: 'failure', failed_blocks: ['make'] });
    expect(readFileSync(join(folder, 'workflows', 'loud.yaml'), 'utf8')).toContain('name: loud');
    expect(readdirSync(join(folder, 'free'))).toEqual(['a.txt']);
  });

  test('M15 a pipeline given as a text is told nothing of files that it may not read, by a check or a run, by a path or over a link', async () => {
    const outside = join(folder, 'workflows', 'outside.dot');
    writeFileSync(outside, `${planted} is no pipeline`);
    mkdirSync(join(folder, 'free'), { recursive: true });
    symlinkSync(outside, join(folder, 'free', 'link.dot'));
    writeFileSync(join(folder, 'free', 'own.dot'), 'digraph own { s [shape=Mdiamond]; e [shape=Msquare]; s -> e }');
    const text = (path: string): string =>
      `digraph p { s [shape=Mdiamond]; e [shape=Msquare]; a [shape=house, stack.child_dotfile="${path}"]; s -> a -> e }`;
    for (const path of [
      outside,
      join(folder, 'free', 'link.dot'),
      join(folder, 'free', '..', 'workflows', 'outside.dot'),
    ])
      for (const connection of [none, inlineOnly, granted]) {
        const checked = await connection.call('validate_workflow', { workflow_yaml: text(path) });
        expect(checked['valid']).toBe(false);
        const converted = await connection.call('convert_workflow', { text: text(path), to: 'yaml' });
        expect(converted).toMatchObject({ isError: true, code: 'GRAPH_INVALID' });
        const ran = await connection.call('execute_inline_workflow', { workflow_yaml: text(path) });
        expect(ran['status']).toBe('failure');
        expect(JSON.stringify([checked, converted, ran])).not.toContain(planted);
      }
    const own = { workflow_yaml: text(join(folder, 'free', 'own.dot')) };
    expect(await granted.call('validate_workflow', own)).toMatchObject({ valid: true });
    expect(await granted.call('execute_inline_workflow', own)).toMatchObject({ status: 'success' });
    const converted = await granted.call('convert_workflow', { text: own.workflow_yaml, to: 'yaml' });
    expect(converted).toMatchObject({ notes: expect.arrayContaining([expect.objectContaining({ code: 'NAME' })]) });
  });

  test('M15 workflows of the folders are the operator’s own, and run with everything', async () => {
    expect(await none.call('execute_workflow', { workflow: 'loud' })).toMatchObject({ status: 'success' });
  });
});
