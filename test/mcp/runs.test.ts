/** Runs over MCP: followed, left, cancelled, forked and compared; workflows and checkpoints as resources (M2 to M9 of docs/spec/mcp.md). */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../support/awaited.ts';
import { createWorkspace, serveHere, type Connection, type Listening } from './mcp-kit.ts';

const workspace = createWorkspace();
const begunFile = join(workspace.folder, 'begun');
const openFile = join(workspace.folder, 'open');

/** Its second block says that it has begun, and ends when it is let. */
workspace.write(
  'gated',
  `
name: gated
tags: [slow]
blocks:
  - { id: build, type: EchoBlock, inputs: { message: built } }
  - id: gate
    type: Shell
    idempotent: true
    depends_on: [build]
    inputs: { command: "touch ${begunFile}; while [ ! -e ${openFile} ]; do sleep 0.02; done; echo passed" }
  - { id: never, type: EchoBlock, depends_on: [gate], condition: "\${gate.exit_code} == 5", inputs: { message: x } }
outputs:
  gate: "\${trim(gate.stdout)}"
`,
);
workspace.write(
  'greet',
  `
name: greet
description: Greets.
version: "2.1"
tags: [example, polite]
inputs:
  who: { type: str, description: Whom., default: world }
blocks:
  - { id: greeting, type: EchoBlock, inputs: { message: "hello \${who}" } }
  - { id: loud, type: Shell, depends_on: [greeting], inputs: { command: "printf '%s!' \${greeting.echoed}" } }
outputs:
  said: { value: "\${loud.stdout}", type: str, description: What was said. }
`,
);
workspace.write(
  'failing',
  `
name: failing
blocks:
  - { id: breaks, type: Shell, inputs: { command: "exit 3" } }
  - { id: after, type: EchoBlock, depends_on: [breaks], inputs: { message: x } }
outputs: { done: "\${after.succeeded}" }
`,
);
workspace.write('broken', 'name: broken\nblocks:\n  - { id: a, type: Nothing }\n');

let server: Listening;
let tools: Connection;
beforeAll(async () => {
  server = await serveHere(workspace, { allow: ['inline'] });
  tools = await server.connect();
});
beforeEach(() => {
  rmSync(begunFile, { force: true });
  rmSync(openFile, { force: true });
});
afterAll(async () => {
  writeFileSync(openFile, '');
  await workspace.remove();
});

async function begun(): Promise<void> {
  await until('the run has begun', () => existsSync(begunFile), 20);
}

async function statusOf(run: unknown): Promise<unknown> {
  return (await tools.call('get_run', { run_id: run }))['status'];
}

describe('workflows', () => {
  test('M2 list_workflows lists what can be run, by tags, and the files that cannot', async () => {
    const all = await tools.call('list_workflows');
    expect(all).toMatchObject({
      total: 3,
      broken: [
        {
          source: expect.stringContaining('broken.yaml') as string,
          errors: [{ message: expect.any(String) as string }],
        },
      ],
    });
    expect(await tools.call('list_workflows', { tags: ['example'] })).toMatchObject({
      total: 1,
      workflows: [{ name: 'greet', description: 'Greets.', version: '2.1', total_blocks: 2, asks: false }],
    });
  });

  test('M2 get_workflow_info tells inputs, blocks and outputs', async () => {
    expect(await tools.call('get_workflow_info', { workflow: 'greet' })).toMatchObject({
      name: 'greet',
      version: '2.1',
      inputs: { who: { type: 'str', description: 'Whom.', required: false, default: 'world' } },
      outputs: { said: { value: '${loud.stdout}', type: 'str', description: 'What was said.' } },
      total_blocks: 2,
      blocks: [
        { id: 'greeting', type: 'EchoBlock', depends_on: [], wave: 0 },
        { id: 'loud', type: 'Shell', depends_on: ['greeting'], effect: expect.any(String) as string, wave: 1 },
      ],
      waves: [['greeting'], ['loud']],
    });
  });

  test('M7 an unknown workflow lists those there are, nearest first', async () => {
    expect(await tools.call('execute_workflow', { workflow: 'greeet' })).toMatchObject({
      isError: true,
      status: 'failure',
      code: 'WORKFLOW_NOT_FOUND',
      data: { known: expect.arrayContaining(['greet', 'gated', 'failing']) as string[] },
    });
  });

  test('M7 inputs that are wrong are all named at once', async () => {
    const answer = await tools.call('execute_workflow', { workflow: 'greet', inputs: { who: 5, whom: 'x' } });
    expect(answer).toMatchObject({ isError: true, code: 'INPUT_INVALID' });
    expect(answer['error']).toMatch(/who.*whom/s);
  });

  test('M2 validate_workflow tells every fault with its place and fix, and runs nothing', async () => {
    const bad =
      'name: x\nblocks:\n  - { id: a, type: Nothing }\n  - { id: a, type: EchoBlock, inputs: { massage: x } }\n';
    const checked = await tools.call('validate_workflow', { workflow_yaml: bad });
    expect(checked).toMatchObject({ valid: false });
    const errors = checked['errors'] as readonly Readonly<Record<string, string>>[];
    expect(errors.length).toBeGreaterThan(1);
    for (const { place, fix } of errors)
      expect([place, fix]).toEqual([expect.stringMatching(/\d/), expect.any(String)]);
    const good = 'name: x\nblocks:\n  - { id: a, type: EchoBlock, inputs: { message: hi } }\n';
    expect(await tools.call('validate_workflow', { workflow_yaml: good })).toMatchObject({
      valid: true,
      errors: [],
      block_types_used: ['EchoBlock'],
    });
  });

  test('B85 M2 validate_workflow names what the models of a workflow may call, and before which a person is asked', async () => {
    const inputs = '{ prompt: Go., workflows: [greet], blocks: [Shell, ReadFiles], ask_person: false, allow: [greet] }';
    const text = `name: x\nblocks:\n  - { id: a, type: Agent, inputs: ${inputs} }\n`;
    const checked = await tools.call('validate_workflow', { workflow_yaml: text });
    expect(checked).toMatchObject({
      agent_tools: {
        a: [
          { name: 'greet', asks: false },
          { name: 'Shell', effect: 'external', asks: true },
          { name: 'ReadFiles', effect: 'read', asks: false },
        ],
      },
    });
  });

  test.each([{ era: 'legacy' as const }, { era: 'modern' as const }])(
    'M3 reload_workflows forgets deleted files and says that the resources are others ($era)',
    async ({ era }) => {
      let changes = 0;
      const connection = await server.connect({ era });
      connection.client.setNotificationHandler('notifications/resources/list_changed', () => void (changes += 1));
      if (era === 'modern') await connection.client.listen({ resourcesListChanged: true });
      workspace.write('passing', 'name: passing\nblocks:\n  - { id: a, type: EchoBlock, inputs: { message: hi } }\n');
      expect(await connection.call('reload_workflows')).toMatchObject({ status: 'success', total: 4 });
      expect(await connection.call('execute_workflow', { workflow: 'passing' })).toMatchObject({ status: 'success' });
      rmSync(join(workspace.folder, 'workflows', 'passing.yaml'));
      expect(await connection.call('reload_workflows')).toMatchObject({ total: 3 });
      expect(await connection.call('execute_workflow', { workflow: 'passing' })).toMatchObject({ isError: true });
      await until('the client is told of it', () => changes > 0, 20);
    },
  );
});

describe('runs', () => {
  test('M4 a workflow that fails is a result: what failed, what was skipped, and the way on', async () => {
    const answer = await tools.call('execute_workflow', { workflow: 'failing' });
    expect(answer).toMatchObject({
      status: 'failure',
      message: 'Workflow execution failed',
      error: expect.stringContaining('breaks') as string,
      code: 'NODE_FAILED',
      hint: expect.any(String) as string,
      failed_blocks: ['breaks'],
      checkpoint_id: expect.any(String) as string,
    });
    expect(answer.isError).toBeUndefined();
    const preview = { checkpoint_id: answer['checkpoint_id'] };
    expect(await tools.call('preview_resume', preview)).toMatchObject({
      rows: [{ node: ['breaks'], prediction: 'in doubt' }, { because: 'breaks' }, { because: 'breaks' }],
    });
    expect(await tools.call('preview_resume', { ...preview, retry: true })).toMatchObject({
      rows: [{ node: ['breaks'], prediction: 'runs again' }, { because: 'breaks' }, { because: 'breaks' }],
    });
  });

  test('M4 one run_id is one run', async () => {
    const given = { workflow: 'greet', inputs: { who: 'you' }, run_id: 'greet-once' };
    const first = await tools.call('execute_workflow', given);
    expect(first).toMatchObject({ status: 'success', run_id: 'greet-once' });
    expect(await tools.call('execute_workflow', given)).toEqual(first);
    const other = { ...given, inputs: { who: 'me' } };
    expect(await tools.call('execute_workflow', other)).toMatchObject({ isError: true, code: 'RUN_EXISTS' });
  });

  test('M8 progress counts settled blocks, and grows', async () => {
    writeFileSync(openFile, '');
    const told: { progress: number; total?: number | undefined; message?: string | undefined }[] = [];
    await tools.call('execute_workflow', { workflow: 'gated' }, { onprogress: (progress) => void told.push(progress) });
    expect(told).toMatchObject([
      { progress: 1, total: 3, message: 'build: completed' },
      { progress: 2, total: 3, message: 'gate: completed' },
      { progress: 3, total: 3, message: 'never: skipped' },
    ]);
  });

  test.each([{ era: 'legacy' as const }, { era: 'modern' as const }])(
    'M8 a request that is cancelled ends the waiting, not the run ($era)',
    async ({ era }) => {
      const connection = await server.connect({ era });
      const run = `left-${era}`;
      const leaving = new AbortController();
      const args = { workflow: 'gated', run_id: run };
      const waiting = connection.call('execute_workflow', args, { signal: leaving.signal });
      await begun();
      leaving.abort();
      await expect(waiting).rejects.toThrow(/abort/i);
      expect(await statusOf(run)).toBe('running');
      writeFileSync(openFile, '');
      expect(await tools.call('resume_workflow', { checkpoint_id: run })).toMatchObject({
        status: 'success',
        outputs: { gate: 'passed' },
        skipped_blocks: ['never'],
      });
    },
  );

  test('M12 a session whose tool is at work makes no room for another', async () => {
    const small = await serveHere(workspace, { http: { limits: { sessions: 1 } } });
    const connection = await small.connect();
    const working = connection.call('execute_workflow', { workflow: 'gated' });
    await begun();
    await expect(small.connect()).rejects.toThrow(/503|sessions/);
    writeFileSync(openFile, '');
    expect(await working).toMatchObject({ status: 'success' });
    await small.connect();
  });

  test('M8 send_signal reaches a run until cancel_run ends it at work; its history can be forked', async () => {
    const { run_id: run } = await tools.call('execute_workflow', { workflow: 'gated', wait: false });
    await begun();
    const signal = { run_id: run, name: 'paid', value: 40 };
    expect(await tools.call('send_signal', signal)).toEqual({ run_id: run, name: 'paid', status: 'running' });
    expect(await tools.call('cancel_run', { run_id: run })).toMatchObject({ run_id: run });
    await until('the run is cancelled', async () => (await statusOf(run)) === 'cancelled', 20);
    expect(await tools.call('send_signal', signal)).toMatchObject({ isError: true, code: 'RUN_FINISHED' });
    expect(await tools.call('resume_workflow', { checkpoint_id: run })).toMatchObject({
      isError: true,
      code: 'RUN_CANCELLED',
    });
    const { runs } = await tools.call('list_runs', { status: ['cancelled'], graph: 'gated' });
    expect(runs).toMatchObject([{ run_id: run, graph_id: 'gated', status: 'cancelled' }]);
    writeFileSync(openFile, '');
    expect(await tools.call('fork_checkpoint', { checkpoint_id: `${String(run)}@1` })).toMatchObject({
      status: 'success',
      outputs: { gate: 'passed' },
      forked_from: expect.stringMatching(/\.1$/) as string,
    });
  });

  test('M8 list_workers says who is alive, and how many runs are ready for one', async () => {
    const { workers, backlog } = await tools.call('list_workers', { all: true });
    expect(workers).toEqual([]);
    expect(backlog).toEqual({ ready: 0 });
  });

  test('M7 an unknown argument is named, with what was meant', async () => {
    for (const [tool, args, message] of [
      ['list_runs', { limt: 3 }, 'there is no argument "limt", perhaps limit is meant (there are: '],
      [
        'get_run',
        { run_id: 'x', zz: 1, yy: 2 },
        'there is no argument "zz"; there is no argument "yy" (there are: run_id',
      ],
    ] as const) {
      const said = await tools.call(tool, args);
      expect(said).toMatchObject({ isError: true, text: expect.stringContaining(message) as string });
    }
  });

  test('M7 a fork that sets what is no part of the state is refused by a code', async () => {
    const { run_id: run } = await tools.call('execute_workflow', { workflow: 'greet', inputs: { who: 'you' } });
    const set = JSON.parse('{"__proto__.x":1}') as object;
    expect(await tools.call('fork_checkpoint', { checkpoint_id: `${String(run)}@0`, set })).toMatchObject({
      isError: true,
      code: 'STATE_UNKNOWN_CHANNEL',
    });
  });

  test('M6 a run is previewed, forked with another input, and compared with its fork', async () => {
    const { run_id: run } = await tools.call('execute_workflow', { workflow: 'greet', inputs: { who: 'you' } });
    const branch = { checkpoint_id: `${String(run)}@0`, set: { 'input.who': 'all' } };
    const preview = await tools.call('preview_resume', branch);
    expect(preview['rows']).toMatchObject([
      { node: ['greeting'], prediction: expect.any(String) as string },
      { node: ['loud'], effect: 'external', prediction: expect.any(String) as string },
      { node: ['outputs'] },
    ]);
    const fork = await tools.call('fork_checkpoint', branch);
    expect(fork).toMatchObject({ status: 'success', outputs: { said: expect.stringContaining('all') as string } });
    expect(fork['run_id']).not.toBe(run);
    const diff = await tools.call('diff_checkpoints', { a: run, b: fork['run_id'] });
    expect(diff['values']).toEqual(
      expect.arrayContaining([{ path: ['input', 'who'], before: 'you', after: 'all' }]) as unknown[],
    );
    expect(await tools.call('get_run', { run_id: run })).toMatchObject({
      status: 'completed',
      outputs: { said: expect.stringContaining('you') as string },
    });
  });

  test('M4 an inline workflow runs under its permissions, pauses and is resumed like any other', async () => {
    const yaml =
      'name: asks\nblocks:\n  - { id: ask, type: GetInput, inputs: { prompt: "Who?" } }\noutputs: { who: "${ask.input_value}" }\n';
    const paused = await tools.call('execute_inline_workflow', { workflow_yaml: yaml });
    expect(paused).toMatchObject({ status: 'paused', prompt: 'Who?' });
    const { checkpoint_id: id } = paused;
    expect(await tools.call('resume_workflow', { checkpoint_id: id, llm_response: 'me' })).toMatchObject({
      status: 'success',
      outputs: { who: 'me' },
    });
  });
});

describe('resources', () => {
  test('M3 workflows are resources with their text, and their names are completed', async () => {
    const { client } = tools;
    const { resources } = await client.listResources();
    expect(resources.find(({ name }) => name === 'greet')).toEqual({
      uri: 'cairn://workflows/greet',
      name: 'greet',
      title: 'greet',
      description: 'Greets.',
      mimeType: 'application/yaml',
    });
    const { contents } = await client.readResource({ uri: 'cairn://workflows/greet' });
    expect(contents).toMatchObject([
      { mimeType: 'application/yaml', text: expect.stringContaining('name: greet') as string },
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'cairn://workflows/{name}',
      'cairn://runs/{run}/checkpoints/{seq}',
    ]);
    const ref = { type: 'ref/resource' as const, uri: 'cairn://workflows/{name}' };
    const { completion } = await client.complete({ ref, argument: { name: 'name', value: 'g' } });
    expect(completion.values).toEqual(['gated', 'greet']);
  });

  test('M3 checkpoints are resources with their state; one that is not there is told as such', async () => {
    const { client, call } = tools;
    const { run_id: run } = await call('execute_workflow', { workflow: 'greet' });
    const uri = `cairn://runs/${String(run)}/checkpoints/1`;
    const { resources } = await client.listResources();
    expect(resources.map((each) => each.uri)).toContain(uri);
    const { contents } = await client.readResource({ uri });
    const [first] = contents as readonly { readonly text: string }[];
    expect(JSON.parse(first?.text ?? '')).toMatchObject({ runId: run, seq: 1, graphId: 'greet' });
    await expect(client.readResource({ uri: uri.replace('/1', '/99') })).rejects.toThrow(/not found/i);
    await expect(client.readResource({ uri: 'cairn://workflows/nothing' })).rejects.toThrow(/not found/i);
  });
});

test('M8 W5 a run that waits for a time goes on when it comes, though nobody asks for it', async () => {
  workspace.write(
    'later',
    `
name: later
blocks:
  - id: work
    type: Shell
    retry: { attempts: 2, delay: 1 }
    inputs: { command: "[ -e ${openFile} ] && echo done" }
`,
  );
  const server = await serveHere(workspace, { allow: ['shell'], holdTimersMs: 0 });
  const { call } = await server.connect();
  expect(await call('execute_workflow', { workflow: 'later', run_id: 'later' })).toMatchObject({ status: 'paused' });
  writeFileSync(openFile, '');
  await until(
    'its second attempt',
    async () => (await call('get_run', { run_id: 'later' }))['status'] === 'completed',
    50,
  );
});

test.each(['legacy', 'modern'] as const)(
  'M8.6 tasks of the protocol are declared neither to %s clients nor of any tool: the SDK serves none',
  async (era) => {
    const { client } = await server.connect({ era });
    expect(client.getServerCapabilities()).not.toHaveProperty('tasks');
    const { tools: offered } = await client.listTools();
    expect(offered.filter((one) => 'execution' in one)).toEqual([]);
    // When the SDK can serve them, its server says so, and this fails: then long tools become tasks.
    const sdk = await import('@modelcontextprotocol/server');
    expect(Object.keys(sdk).filter((name) => /TaskStore|ToolTask/u.test(name))).toEqual([]);
    await client.close();
  },
);
