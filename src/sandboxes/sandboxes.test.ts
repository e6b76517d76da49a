/** Sandboxes of bubblewrap: what a command cannot reach, and the folder as a part of the history. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agent } from '../agents/agent.ts';
import { createMemoryBlobs } from '../blobs/memory-blobs.ts';
import { AgentGraph } from '../dialects/code/agent-graph.ts';
import '../index.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { END, START } from '../graph/graph.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { escaped, escapeLimits, escapesOf } from '../../test/sandboxes/escapes.ts';
import { sample } from '../../test/support/scale.ts';
import type { CrashPoint } from '../testing/crash-kit/process-life.ts';
import { crashEverywhere } from '../testing/crash-kit/crash-everywhere.ts';
import { bubblewrap, sandboxNode, SandboxSession, sandboxTools, type SandboxOutput } from './index.ts';

const place = mkdtempSync(join(tmpdir(), 'cairn-sandboxes-'));
// Commands run as another user, who must be able to come to their folder.
chmodSync(place, 0o755);
const sandboxes = bubblewrap({ place });
const sh = (script: string): readonly string[] => ['/bin/sh', '-c', script];
const isThere = await sandboxes
  .create({ key: 'k', network: false, limits: { processes: 8, memoryBytes: 1 << 28, diskBytes: 1 << 20 } })
  .then(async (box) => box.close().then(() => true))
  .catch((error: unknown) => (error as Error).message);
afterAll(() => rmSync(place, { recursive: true, force: true }));

describe.skipIf(isThere !== true)(`bubblewrap${isThere === true ? '' : ` is not tested: ${isThere}`}`, () => {
  const secret = `secret-${process.pid}`;
  let port = 0;
  const server = createServer((socket) => socket.end('reached'));
  beforeAll(async () => {
    writeFileSync(join(place, 'secret.txt'), secret, { mode: 0o644 });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as { port: number }).port;
  });
  afterAll(() => void server.close());

  /** Runs one script in a sandbox of its own. */
  const runScript = async (script: string, limits = {}): Promise<SandboxOutput> => {
    const run = async (ctx: NodeContext): Promise<SandboxOutput> => {
      const session = new SandboxSession(ctx, { sandboxes, limits, timeoutMs: 20_000 });
      try {
        return await session.exec(sh(script));
      } finally {
        await session.close();
      }
    };
    const graph = new AgentGraph({}).addNode('a', run, { effectClass: 'read' }).addEdge(START, 'a').addEdge('a', END);
    const { state, error } = await graph.compile().invoke({});
    if (error !== undefined) throw error;
    return state.outputs['a'] as SandboxOutput;
  };

  test('SB3 thirty ways out, and none of them leads there', async () => {
    const through: string[] = [];
    for (const [name, script] of Object.entries(escapesOf({ place, port }))) {
      const { stdout } = await runScript(script, escapeLimits);
      through.push(...escaped(name, stdout, secret));
    }
    expect(through).toEqual([]);
  }, 120_000);

  test('SB3 a command that fills its folder is killed, and says so', async () => {
    const script = 'for i in $(seq 200); do head -c 1000000 /dev/zero > f$i; sleep 0.01; done';
    await expect(runScript(script, { diskBytes: 8_000_000 })).resolves.toMatchObject({
      exceeded: 'disk',
      exitCode: null,
    });
  });

  const python = (code: string): string => `python3 - <<'P'\nimport ctypes, os, time\n${code}\nP`;

  test('SB3 what a command hides from a listing of its folder counts: removed files that are open, deep folders', async () => {
    const limits = { diskBytes: 8_000_000 };
    const fill = (name: string): string =>
      `f = open(${name}, "wb")\nfiles.append(f)\nfor i in range(4): f.write(b"x" * 1000000)\nf.flush()`;
    const removed = `files = []\nfor k in range(4):\n  ${fill('"x%d" % k').replaceAll('\n', '\n  ')}\n  os.unlink("x%d" % k)\ntime.sleep(15)`;
    await expect(runScript(python(removed), limits)).resolves.toMatchObject({ exceeded: 'disk' });
    const deep = `files = []\nfor i in range(40): os.mkdir("d" * 200); os.chdir("d" * 200)\nfor k in range(4):\n  ${fill('"x%d" % k').replaceAll('\n', '\n  ')}\ntime.sleep(15)`;
    await expect(runScript(python(deep), limits)).rejects.toMatchObject({ data: { code: 'SANDBOX_NAME_INVALID' } });
    expect(readdirSync(place)).toEqual(['secret.txt']);
  });

  test('SB3 a folder that is swapped for a link while it is measured is not followed', async () => {
    const swap = `os.mkdir("d"); os.symlink("/usr", "l"); c = ctypes.CDLL(None); end = time.time() + 1.5
while time.time() < end: c.syscall(316, -100, b"d", -100, b"l", 2)
print("swapped")`;
    const { stdout, exceeded } = await runScript(python(swap), { diskBytes: 8_000_000 });
    expect([stdout, exceeded]).toEqual(['swapped\n', undefined]);
  });

  test('SB2 a file whose name every object inherits is recorded like any other', async () => {
    const run = async (ctx: NodeContext): Promise<readonly unknown[]> => {
      const session = new SandboxSession(ctx, { sandboxes });
      await session.exec(sh('echo a > __proto__; echo b > constructor; mkdir d; echo c > d/__proto__'));
      // A new folder, made from the record.
      await session.close();
      const { stdout } = await session.exec(sh('cat __proto__ constructor d/__proto__'));
      await session.close();
      return [stdout, Object.keys(session.files)];
    };
    const made = new AgentGraph({}).addNode('a', run, { effectClass: 'read' }).addEdge(START, 'a').addEdge('a', END);
    const { state, error } = await made.compile().invoke({});
    expect([error, state.outputs['a']]).toEqual([
      undefined,
      ['a\nb\nc\n', ['__proto__', 'constructor', 'd/__proto__']],
    ]);
  });

  test('SB1 a command that prints what the enclosure prints when it fails has begun, and is not run again unasked', async () => {
    for (const line of ['bwrap: no', 'sh: 1: x: not found', 'setpriv: no']) {
      const node = sandboxNode({
        sandboxes,
        network: true,
        approval: 'never',
        commands: [sh(`echo "${line}" >&2; exit 1`)],
      });
      const app = new AgentGraph({}).addNode('a', node).addEdge(START, 'a').addEdge('a', END).compile();
      const { error } = await app.invoke({});
      expect([error?.message, error?.data?.['code']]).toEqual([
        expect.stringContaining(`exited with 1: ${line}`),
        'EXIT_CODE',
      ]);
    }
    await expect(
      new AgentGraph({})
        .addNode('a', sandboxNode({ sandboxes, commands: [['/usr/bin/no-such-program']] }))
        .addEdge(START, 'a')
        .addEdge('a', END)
        .compile()
        .invoke({}),
    ).resolves.toMatchObject({ error: { message: expect.stringContaining('no-such-program') as string } });
  });

  test('SB3 a background process does not outlive its command', async () => {
    const { stdout } = await runScript('(sleep 5; echo late > late.txt) & echo begun');
    expect(stdout).toBe('begun\n');
  });

  const steps = (log: string[]) => async (ctx: NodeContext) => {
    const session = new SandboxSession(ctx, { sandboxes });
    try {
      await session.write('in/a.txt', 'a');
      await session.exec(sh('cat in/a.txt > b.txt; mkdir -m 750 d; ln -s b.txt l; chmod 600 b.txt; echo one >> log'));
      const way = await ctx.ask({ prompt: 'Which way?', choices: ['left', 'right'] });
      await session.exec(sh(`echo ${way} >> log; rm in/a.txt; echo ${way} > ${way}.txt`));
      log.push((await session.exec(sh('find . | sort | tr "\\n" " "; cat log l; stat -c %a b.txt d'))).stdout);
      return Object.keys(session.files);
    } finally {
      await session.close();
    }
  };
  const graph = (log: string[]) =>
    new AgentGraph({}, { id: 'g' })
      .addNode('work', steps(log), { effectClass: 'read' })
      .addEdge(START, 'work')
      .addEdge('work', END);

  test('SB2 a fork in the middle has a folder of its own, as if it alone had run', async () => {
    const log: string[] = [];
    const compiled = graph(log).compile({ store: createMemoryStore() });
    const paused = await compiled.invoke({}, { runId: 'r' });
    const fork = await compiled.fork(paused);
    const left = await compiled.resume('r', { answers: { work: 'left' } });
    const right = await compiled.resume(fork.runId, { answers: { work: 'right' } });
    const logOf = (way: string): string => {
      const paths = ['.', './b.txt', './d', './in', './l', './log', `./${way}.txt`].toSorted();
      return `${paths.join(' ')} one\n${way}\na600\n750\n`;
    };
    expect(log).toEqual([logOf('left'), logOf('right')]);
    expect([left.state.outputs.work, right.state.outputs.work]).toEqual([
      ['b.txt', 'left.txt', 'log'],
      ['b.txt', 'log', 'right.txt'],
    ]);
  });

  test('SB4 a node runs commands on files, and gives the files', async () => {
    const node = sandboxNode({
      sandboxes,
      files: { 'run.py': 'import sys\nopen("out.txt", "w").write(sys.stdin.read().upper())' },
      commands: [['python3', 'run.py']],
      input: 'hello',
    });
    const compiled = new AgentGraph({}, { id: 'n' })
      .addNode('box', node)
      .addEdge(START, 'box')
      .addEdge('box', END)
      .compile();
    const { state, status } = await compiled.invoke({});
    expect([status, state.outputs.box?.exitCode]).toEqual(['completed', 0]);
    const file = state.outputs.box?.files['out.txt'];
    expect(Buffer.from(await compiled.engine.files.get(file as never)).toString()).toBe('HELLO');
    const bad = new AgentGraph({}, { id: 'n' }).addNode(
      'box',
      sandboxNode({ sandboxes, commands: [sh('echo no >&2; exit 3')] }),
    );
    const failed = await bad.addEdge(START, 'box').addEdge('box', END).compile().invoke({});
    expect(failed.error?.message).toContain('exited with 3: no');
  });

  test('SB4 tools of an agent share a folder, over a restart', async () => {
    const calls = [
      { tool: 'write_file', input: { path: 'a.txt', content: 'one' } },
      { tool: 'exec', input: { command: sh('cat a.txt; echo two > b.txt') } },
      { tool: 'read_file', input: { path: 'b.txt' } },
      { tool: 'read_file', input: { path: '../secret.txt' } },
    ];
    const models = createScriptedModels([...calls.map((call) => ({ calls: [call] })), 'Done.']);
    const node = agent({ model: 'm', prompt: 'Go.', tools: sandboxTools({ sandboxes }) });
    const compiled = new AgentGraph({}).addNode('a', node).addEdge(START, 'a').addEdge('a', END).compile({ models });
    const done = await compiled.invoke({});
    expect(done.status).toBe('completed');
    const sent = JSON.stringify(models.requests.at(-1)?.messages);
    expect(sent).toContain('"stdout":"one"');
    expect(sent).toContain('two');
    expect(sent).toContain('there is no file ../secret.txt');
  });

  test('SB5 with the network on, a person is asked before each command, and it is external', async () => {
    const node = sandboxNode({ sandboxes, network: true, commands: [['/bin/true']] });
    const compiled = new AgentGraph({}, { id: 'n' })
      .addNode('box', node)
      .addEdge(START, 'box')
      .addEdge('box', END)
      .compile();
    const paused = await compiled.invoke({}, { runId: 'r' });
    expect(paused.waits[0]).toMatchObject({
      isApproval: true,
      prompt: 'Run this command with the network on?\n/bin/true',
    });
    const done = await compiled.resume('r', { answers: { box: 'approve' } });
    expect([done.status, done.error]).toEqual(['completed', undefined]);
  });

  test('SB2 a sandbox leaves nothing behind', () => {
    expect(readdirSync(place)).toEqual(['secret.txt']);
    const groups = existsSync('/sys/fs/cgroup/pids')
      ? execFileSync('ls', ['/sys/fs/cgroup/pids'], { encoding: 'utf8' })
      : '';
    expect(groups).not.toContain(`cairn-box-${process.pid}-`);
  });

  // Last, since a killed process leaves its folder for the next one to remove.
  test('SB2 killed at every point, the folder is as it should be', async () => {
    const open = (now: () => number) => ({ store: createMemoryStore({ now }), blobs: createMemoryBlobs(now) });
    const choose = (points: readonly CrashPoint[]) => sample(points, 12, ({ kind }) => kind).map((point) => [point]);
    const result = await crashEverywhere(
      { graph: () => graph([]).toGraph(), input: {}, answer: () => 'left' },
      { open, choose },
    );
    expect([result.faults, result.trials > 5]).toEqual([[], true]);
  }, 300_000);
});

test('SB5 a person who says that a command in doubt happened may leave out, or tell, what it printed', async () => {
  const lines: string[] = [];
  const exec = (argv: readonly string[]): Promise<never> => {
    lines.push(argv.join(' '));
    return Promise.reject(new Error('the connection is gone'));
  };
  const box = { id: 'b', exec, write: async () => {}, read: async () => new Uint8Array() };
  const elsewhere = { name: 'elsewhere', isolates: false, create: async () => ({ ...box, close: async () => {} }) };
  const node = sandboxNode({ sandboxes: elsewhere, approval: 'never', commands: [['ring', 'bell']] });
  const app = new AgentGraph({}, { id: 'n' }).addNode('box', node).addEdge(START, 'box').addEdge('box', END).compile();
  const answered = async (runId: string, answer: unknown): Promise<unknown> => {
    await app.invoke({}, { runId });
    const { waits } = await app.resume(runId);
    expect(waits[0]).toMatchObject({ kind: 'doubt' });
    return (await app.resume(runId, { answers: { box: answer } })).state.outputs.box;
  };
  const notice = 'A person said that this command happened. What it changed in the folder is not there.';
  const output = { exitCode: 0, signal: null, stdout: '', stderr: '', notice, files: {} };
  expect(await answered('r', 'happened')).toEqual(output);
  expect(await answered('s', { decision: 'happened', output: 'ding' })).toEqual({ ...output, stdout: 'ding' });
  await app.invoke({}, { runId: 't' });
  await app.resume('t');
  const wrong = app.resume('t', { answers: { box: { decision: 'happened', output: { exitCode: 'none' } } } });
  await expect(wrong).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  expect(lines).toEqual(['ring bell', 'ring bell', 'ring bell']);
});

test('SB1 where no sandbox can be made nothing runs, and it is said why', async () => {
  const path = process.env['PATH'];
  process.env['PATH'] = '/nowhere';
  try {
    const none = bubblewrap({ place });
    const made = none.create({
      key: 'k',
      network: false,
      limits: { processes: 8, memoryBytes: 1 << 28, diskBytes: 1 << 20 },
    });
    await expect(made).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
  } finally {
    process.env['PATH'] = path;
  }
});
