/** Real server processes, killed with SIGKILL and started again, over stdio and HTTP (M8, M9 of docs/spec/mcp.md). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../support/awaited.ts';
import { isProving } from '../support/scale.ts';
import {
  connectStdio,
  createWorkspace,
  ended,
  serveHttp,
  type ClientChoice,
  type Connection,
  type Workspace,
} from './mcp-kit.ts';

const approval = `
name: approval
blocks:
  - id: build
    type: Shell
    inputs: { command: "echo built >> ledger" }
  - id: confirm
    type: ConfirmOperation
    depends_on: [build]
    inputs: { message: "Release?", operation: release }
  - id: release
    type: Shell
    depends_on: [confirm]
    condition: "\${confirm.confirmed} == true"
    inputs: { command: "echo released >> ledger" }
outputs:
  approved: "\${confirm.confirmed}"
  released: "\${release.succeeded}"
`;

/** Its second block says that it has begun, and ends when it is let. */
const gated = `
name: gated
blocks:
  - id: build
    type: Shell
    inputs: { command: "echo built >> ledger" }
  - id: gate
    type: Shell
    idempotent: true
    depends_on: [build]
    inputs: { command: "touch begun; while [ ! -e open ]; do sleep 0.02; done; echo passed" }
  - id: last
    type: Shell
    depends_on: [gate]
    inputs: { command: "echo last >> ledger" }
outputs:
  gate: "\${trim(gate.stdout)}"
`;

/** Asks while its gate is at work. */
const both = `
name: both
blocks:
  - id: gate
    type: Shell
    idempotent: true
    inputs: { command: "touch begun; while [ ! -e open ]; do sleep 0.02; done" }
  - { id: ask, type: GetInput, inputs: { prompt: "Who?" } }
outputs: { who: "\${ask.input_value}" }
`;

/** Its gate is not safe to repeat. */
const unsafe = gated.replace('name: gated', 'name: unsafe').replace('    idempotent: true\n', '');

const workspaces: Workspace[] = [];
afterEach(async () => {
  for (const workspace of workspaces.splice(0)) await workspace.remove();
});

function create(): Workspace {
  const workspace = createWorkspace({ approval, gated, both, unsafe });
  workspaces.push(workspace);
  return workspace;
}

const ledgerOf = ({ folder }: Workspace): readonly string[] =>
  readFileSync(join(folder, 'ledger'), 'utf8').trim().split('\n');

async function begun({ folder }: Workspace): Promise<void> {
  await until('the run has begun', () => existsSync(join(folder, 'begun')), 20);
}

/** Connects to a server process, and says how to kill it. */
type Start = (
  workspace: Workspace,
  choice?: ClientChoice,
) => Promise<{ readonly connection: Connection; readonly kill: () => Promise<void> }>;

const overStdio: Start = async (workspace, choice) => {
  const connection = await connectStdio(workspace, choice);
  const kill = async (): Promise<void> => {
    process.kill(connection.pid, 'SIGKILL');
    await connection.closed;
  };
  return { connection, kill };
};

const overHttp: Start = async (workspace, choice) => {
  const server = await serveHttp(workspace);
  const connection = await server.connect(choice);
  const kill = async (): Promise<void> => {
    server.process.kill('SIGKILL');
    await ended(server.process);
  };
  return { connection, kill };
};

// In the gate an old client over stdio and a new one over HTTP; each pair in `npm run prove`.
for (const { transport, start, era, isInGate } of [
  { transport: 'stdio', start: overStdio, era: 'legacy' as const, isInGate: true },
  { transport: 'stdio', start: overStdio, era: 'modern' as const },
  { transport: 'HTTP', start: overHttp, era: 'legacy' as const },
  { transport: 'HTTP', start: overHttp, era: 'modern' as const, isInGate: true },
]) {
  const where = isInGate ? `over ${transport} (${era})` : `over ${transport} (${era}, in npm run prove)`;
  test.skipIf(!isInGate && !isProving)(
    `M8 ${where}: run, question, kill -9 of the server, restart, answer, result; and what was at work is resumed`,
    async () => {
      const workspace = create();
      const first = await start(workspace, { era });
      const paused = await first.connection.call('execute_workflow', { workflow: 'approval' });
      expect(paused).toMatchObject({ status: 'paused', questions: [{ block: 'confirm' }] });
      const running = await first.connection.call('execute_workflow', { workflow: 'gated', wait: false });
      expect(running).toMatchObject({ status: 'running', run_id: expect.any(String) as string });
      const { run_id: run } = running;
      await begun(workspace);
      expect(await first.connection.call('get_run', { run_id: run })).toMatchObject({ status: 'running' });
      await first.kill();

      const { connection } = await start(workspace, { era });
      expect(await connection.call('get_run', { run_id: paused['run_id'] })).toMatchObject({ status: 'paused' });
      const answered = await connection.call('resume_workflow', {
        checkpoint_id: paused['checkpoint_id'],
        llm_response: 'yes',
      });
      expect(answered).toMatchObject({ status: 'success', outputs: { approved: true, released: true } });
      expect(await connection.call('get_run', { run_id: run })).toMatchObject({
        status: 'stopped',
        progress: { completed: ['build'] },
      });
      writeFileSync(join(workspace.folder, 'open'), '');
      const done = await connection.call('resume_workflow', { checkpoint_id: run });
      expect(done).toMatchObject({ status: 'success', outputs: { gate: 'passed' } });
      expect(ledgerOf(workspace)).toEqual(['built', 'built', 'released', 'last']);
    },
  );
}

describe('an effect that was at work when the server died', () => {
  test('M8 is a question, which the next server takes the answer to', async () => {
    const workspace = create();
    const first = await overStdio(workspace);
    const { run_id: run } = await first.connection.call('execute_workflow', { workflow: 'unsafe', wait: false });
    await begun(workspace);
    await first.kill();
    writeFileSync(join(workspace.folder, 'open'), '');
    const connection = await connectStdio(workspace, {}, ['--answers', 'anyone']);
    const asked = await connection.call('resume_workflow', { checkpoint_id: run });
    expect(asked).toMatchObject({ status: 'paused', questions: [{ block: 'gate', kind: 'doubt' }] });
    const { checkpoint_id: id } = asked;
    const done = await connection.call('resume_workflow', { checkpoint_id: id, llm_response: 'run again' });
    expect(done).toMatchObject({ status: 'success', outputs: { gate: 'passed' } });
    expect(ledgerOf(workspace)).toEqual(['built', 'last']);
  });
});

describe('two servers on one store', () => {
  test('M9 the second is told who holds a run', async () => {
    const workspace = create();
    const one = await connectStdio(workspace);
    const two = await connectStdio(workspace);
    const { run_id: run } = await one.call('execute_workflow', { workflow: 'gated', wait: false });
    await begun(workspace);
    expect(await two.call('resume_workflow', { checkpoint_id: run })).toMatchObject({
      isError: true,
      code: 'CLAIM_TAKEN',
      error: expect.stringContaining('is held by') as string,
    });
    expect(await two.call('get_run', { run_id: run })).toMatchObject({
      status: 'running',
      claimed_by: expect.any(String) as string,
    });
    writeFileSync(join(workspace.folder, 'open'), '');
    await expect
      .poll(async () => (await two.call('get_run', { run_id: run }))['status'], { timeout: 20_000 })
      .toBe('completed');
  });

  test('M9 an answer that the second is given reaches the first, which goes on', async () => {
    const workspace = create();
    const one = await connectStdio(workspace);
    const two = await connectStdio(workspace);
    const { run_id: run } = await one.call('execute_workflow', { workflow: 'both', wait: false });
    await begun(workspace);
    expect(await two.call('resume_workflow', { checkpoint_id: run, llm_response: 'me' })).toMatchObject({
      status: 'running',
      message: expect.stringContaining('The answer is recorded') as string,
      held_by: expect.any(String) as string,
    });
    writeFileSync(join(workspace.folder, 'open'), '');
    await expect
      .poll(() => two.call('get_run', { run_id: run }), { timeout: 20_000 })
      .toMatchObject({ status: 'completed', outputs: { who: 'me' } });
  });

  test('M1 a server over HTTP ends in good order when asked to, whoever is connected', async () => {
    const server = await serveHttp(create());
    const { call } = await server.connect();
    await call('list_runs');
    server.process.kill('SIGTERM');
    await ended(server.process);
    expect(server.process.exitCode).toBe(143);
  });

  test('M9 a server that is asked to stop gives its runs back: the next one goes on at once', async () => {
    const workspace = create();
    const one = await connectStdio(workspace);
    const { run_id: run } = await one.call('execute_workflow', { workflow: 'gated', wait: false });
    await begun(workspace);
    process.kill(one.pid, 'SIGTERM');
    await one.closed;
    writeFileSync(join(workspace.folder, 'open'), '');
    const two = await connectStdio(workspace);
    expect(await two.call('get_run', { run_id: run })).toMatchObject({ status: 'stopped' });
    expect(await two.call('resume_workflow', { checkpoint_id: run })).toMatchObject({ status: 'success' });
    expect(ledgerOf(workspace)).toEqual(['built', 'last']);
  });
});
