/** Sandboxes of E2B by its SDK, against a server that speaks its protocol and really runs the commands. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { startE2b } from '../../test/support/e2b-server.ts';
import { agent } from '../agents/agent.ts';
import { AgentGraph } from '../dialects/code/agent-graph.ts';
import '../index.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { END, START } from '../graph/graph.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { sampleCrashes } from '../../test/support/scale.ts';
import { crashEverywhere } from '../testing/crash-kit/crash-everywhere.ts';
import { e2b, sandboxNode, SandboxSession, sandboxTools, type E2bOptions, type SandboxOptions } from './index.ts';

const server = await startE2b();
afterAll(() => server.stop());
beforeEach(() => {
  server.asked.length = 0;
  server.fault = undefined;
  server.key = 'e2b_one';
});

const sh = (script: string): readonly string[] => ['/bin/sh', '-c', script];
const kind = (options: E2bOptions = {}): Pick<SandboxOptions, 'sandboxes' | 'network' | 'approval'> => ({
  sandboxes: e2b({
    connection: server.connection,
    apiKey: () => 'e2b_one',
    setup: [sh('echo ready > setup.txt')],
    ...options,
  }),
  network: true,
  approval: 'never',
});
/** What was asked of the server, without the command lines. */
const steps = (): readonly string[] => server.asked.map((one) => (one.startsWith('run') ? 'run' : one));
const lastId = (): string => server.ids().at(-1) ?? '';

/** Writes a file, sorts it, asks, and looks at both. */
const work =
  (options = kind()) =>
  async (ctx: NodeContext) => {
    const session = new SandboxSession(ctx, options);
    await session.write('in/data.txt', '1\n2\n');
    await session.exec(sh('sort -r in/data.txt > sorted.txt'));
    await ctx.ask({ prompt: 'Go on?' });
    await session.write('more.txt', 'more');
    const { stdout, notice } = await session.exec(sh('cat setup.txt more.txt in/data.txt; cat sorted.txt 2>/dev/null'));
    await session.close();
    return { stdout, notice };
  };
const graphOf = (run: (ctx: NodeContext) => unknown, store = createMemoryStore()) =>
  new AgentGraph({}, { id: 'boxes' })
    .addNode('a', run, { effectClass: 'read' })
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile({ store });

describe('E2B', () => {
  test('SB7 the next attempt, in another process, connects to the sandbox of the one before', async () => {
    const store = createMemoryStore();
    const { runId, status } = await graphOf(work(), store).invoke({});
    expect(status).toBe('paused');
    const id = lastId();
    const { state } = await graphOf(work(), store).resume(runId, { answers: { a: 'yes' } });
    expect(state.outputs.a).toEqual({ stdout: 'ready\nmore1\n2\n2\n1\n', notice: undefined });
    expect(steps()).toEqual([`create ${id}`, 'run', 'run', `connect ${id}`, 'run', `kill ${id}`]);
  });

  test('SB7 killed at every point, a run connects to its sandbox, and no command runs twice', async () => {
    const report = await crashEverywhere(
      { graph: () => graphOf(work()), input: {}, answer: () => 'yes' },
      { open: (now) => ({ store: createMemoryStore({ now }) }), choose: sampleCrashes(4) },
    );
    expect(report.faults).toEqual([]);
    expect(report.points).toBeGreaterThan(10);
  }, 300_000);

  test('SB7 one that has expired is replaced by a new one, set up again and with the files that were written, and that is told', async () => {
    const app = graphOf(work());
    const { runId } = await app.invoke({});
    const old = lastId();
    server.expire(old);
    const { state } = await app.resume(runId, { answers: { a: 'yes' } });
    expect(state.outputs.a).toEqual({
      stdout: 'ready\nmore1\n2\n',
      notice: expect.stringMatching(/had expired/) as string,
    });
    expect(steps()).toEqual([`create ${old}`, 'run', 'run', `create ${lastId()}`, 'run', 'run', `kill ${lastId()}`]);
  });

  test('SB7 a fork makes a sandbox of its own and says so; that of the original is not touched', async () => {
    const app = graphOf(work());
    const { runId } = await app.invoke({});
    const original = lastId();
    const fork = await app.fork(runId);
    const forked = await app.resume(fork.runId, { answers: { a: 'yes' } });
    expect(forked.state.outputs.a).toEqual({
      stdout: 'ready\nmore1\n2\n',
      notice: expect.stringMatching(/is a fork/) as string,
    });
    expect(lastId()).not.toBe(original);
    const { state } = await app.resume(runId, { answers: { a: 'yes' } });
    expect(state.outputs.a).toEqual({ stdout: 'ready\nmore1\n2\n2\n1\n', notice: undefined });
  });

  test('SB7 a server that fails is not taken for a sandbox that has expired', async () => {
    const app = graphOf(work());
    const { runId } = await app.invoke({});
    const made = server.ids().length;
    server.fault = 500;
    const failed = await app.resume(runId, { answers: { a: 'yes' } });
    expect([failed.status, failed.error?.cause, server.ids().length]).toMatchObject([
      'failed',
      { code: 'SANDBOX_UNAVAILABLE' },
      made,
    ]);
    server.fault = undefined;
    const { state } = await app.resume(runId);
    expect(state.outputs.a).toEqual({ stdout: 'ready\nmore1\n2\n2\n1\n', notice: undefined });
  });

  test('SB7 a sandbox that is gone before a command begins is replaced, and the command runs once', async () => {
    const run = async (ctx: NodeContext) => {
      const session = new SandboxSession(ctx, kind());
      await session.exec(sh('echo one > made.txt'));
      server.expire(lastId());
      const end = await session.exec(sh('ls'));
      await session.close();
      return [end.stdout, end.notice];
    };
    const { state } = await graphOf(run).invoke({});
    expect(state.outputs.a).toEqual(['setup.txt\n', expect.stringMatching(/had expired/)]);
    expect(server.asked.filter((one) => one.includes("'ls'"))).toHaveLength(1);
  });

  test('SB7 a key that is refused is read again, once', async () => {
    const keys = ['e2b_old', 'e2b_one', 'e2b_one'];
    const rotated = kind({ apiKey: () => keys.shift() });
    const run = (options: SandboxOptions) => async (ctx: NodeContext) =>
      (await new SandboxSession(ctx, options).exec(['echo', 'it’s', '$HOME', "'"])).stdout;
    const { state } = await graphOf(run(rotated)).invoke({});
    expect(state.outputs.a).toBe("it’s $HOME '\n");
    let reads = 0;
    const wrong = kind({ apiKey: () => `e2b_no${(reads += 1)}` });
    const { error } = await graphOf(run(wrong)).invoke({});
    expect([error?.cause, reads]).toMatchObject([{ code: 'SANDBOX_UNAVAILABLE', message: expect.stringMatching(/key is refused/) as string }, 3]); // prettier-ignore
    const { error: none } = await graphOf(run(kind({ apiKey: () => undefined }))).invoke({});
    expect(none?.cause).toMatchObject({
      code: 'SANDBOX_UNAVAILABLE',
      message: expect.stringMatching(/E2B_API_KEY/) as string,
    });
  });

  test('SB7 input, exit codes, modes and files are as elsewhere; a command past its time is killed', async () => {
    const run = async (ctx: NodeContext) => {
      const session = new SandboxSession(ctx, kind());
      await session.write('go.sh', '#!/bin/sh\ntr a-z A-Z; echo bad >&2; exit 3', { mode: 0o755 });
      const { exitCode, stdout, stderr } = await session.exec(['./go.sh'], { input: 'loud' });
      await session.exec(sh('printf abc > made.bin'));
      const made = new TextDecoder().decode(await session.read('made.bin'));
      const none = await session.read('none.bin').catch((error: unknown) => (error as { code: string }).code);
      const hurried = new SandboxSession(ctx, { ...kind(), timeoutMs: 1_500 });
      const slow = await hurried
        .exec(sh('echo $$ > pid; exec sleep 60'))
        .catch((error: unknown) => (error as { code: string }).code);
      return { exitCode, stdout, stderr, made, none, slow };
    };
    const { state } = await graphOf(run).invoke({});
    expect(state.outputs.a).toEqual({
      exitCode: 3,
      stdout: 'LOUD',
      stderr: 'bad\n',
      made: 'abc',
      none: 'ARGUMENT_INVALID',
      slow: 'NODE_TIMED_OUT',
    });
  });

  test('SB5 a person is asked before a command, unless that is off', async () => {
    const { approval: _, ...asks } = { ...kind(), network: false };
    const app = new AgentGraph({}, { id: 'node' })
      .addNode('a', sandboxNode({ ...asks, files: { 'a.txt': 'a' }, commands: [['cat', 'a.txt']] }))
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile({ store: createMemoryStore() });
    const { runId, status } = await app.invoke({});
    expect([status, server.asked]).toEqual(['paused', []]);
    const { state } = await app.resume(runId, { answers: { a: 'approve' } });
    expect(state.outputs.a).toMatchObject({ stdout: 'a', exitCode: 0 });
    expect(existsSync(join(server.folderOf(lastId())))).toBe(false);
  });

  test('SB7 a model is told that its sandbox is a new one', async () => {
    const told: string[] = [];
    const models = createScriptedModels(({ messages }) => {
      const results = messages.filter(({ role }) => role === 'tool');
      told.push(JSON.stringify(results.at(-1) ?? ''));
      if (results.length === 1) server.expire(lastId());
      return results.length === 2
        ? 'Done.'
        : { calls: [{ id: `c${results.length}`, tool: 'exec', input: { command: ['ls'] } }] };
    });
    const { status } = await new AgentGraph({}, { id: 'agent' })
      .addNode('a', agent({ model: 'm', prompt: 'Go.', tools: sandboxTools(kind()) }))
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile({ store: createMemoryStore(), models })
      .invoke({});
    expect([status, told[2]]).toEqual(['completed', expect.stringMatching(/had expired, so this is a new one/)]);
  });
});
