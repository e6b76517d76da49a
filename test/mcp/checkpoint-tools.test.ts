/** The checkpoint tools, by the names of the scenarios that the tools were first specified with (M4 to M7 of docs/spec/mcp.md). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectStdio, createWorkspace, serveHere, type Connection, type Content } from './mcp-kit.ts';

const approval = `
name: approval
blocks:
  - id: prepare
    type: EchoBlock
    inputs: { message: "\${project}" }
  - id: confirm
    type: ConfirmOperation
    depends_on: [prepare]
    inputs: { message: "Deploy \${project}?", operation: deploy }
  - id: deploy
    type: EchoBlock
    depends_on: [confirm]
    condition: "\${confirm.confirmed} == true"
    inputs: { message: deployed }
inputs:
  project: { type: str, default: my-app }
outputs:
  approved: "\${confirm.confirmed}"
  deployed: "\${deploy.succeeded}"
`;

const automatic = `
name: automatic
blocks:
  - { id: one, type: EchoBlock, inputs: { message: first } }
  - { id: two, type: EchoBlock, inputs: { message: "\${one.echoed} second" }, depends_on: [one] }
outputs:
  said: "\${two.echoed}"
`;

const workspace = createWorkspace({ approval, automatic });
let tools: Connection;

beforeAll(async () => {
  tools = await (await serveHere(workspace)).connect();
});
afterAll(() => workspace.remove());

interface Listed {
  readonly checkpoint_id: string;
  readonly workflow: string;
  readonly is_paused: boolean;
  readonly pause_prompt: string | null;
  readonly type: string;
  readonly created_at: number;
  readonly created_at_iso: string;
}

async function list(args: Content = {}): Promise<readonly Listed[]> {
  const { checkpoints, total } = await tools.call('list_checkpoints', args);
  expect(total).toBe((checkpoints as readonly Listed[]).length);
  return checkpoints as readonly Listed[];
}

async function pause(): Promise<{ readonly id: string; readonly run: string }> {
  const paused = await tools.call('execute_workflow', { workflow: 'approval' });
  expect(paused).toMatchObject({
    status: 'paused',
    prompt: "Confirm operation: Deploy my-app?\n\nRespond with 'yes' or 'no'",
    message: 'Workflow paused - use resume_workflow to continue',
  });
  return { id: paused['checkpoint_id'] as string, run: paused['run_id'] as string };
}

describe('resume_workflow', () => {
  test('M5 test_resume_workflow_tool_with_checkpoint: goes on from an automatic checkpoint', async () => {
    const done = await tools.call('execute_workflow', { workflow: 'automatic' });
    expect(done).toEqual({
      status: 'success',
      outputs: { said: 'Echo: Echo: first second' },
      message: 'Workflow completed successfully',
      run_id: expect.any(String) as string,
    });
    const own = (await list({ workflow_name: 'automatic' })).filter(({ type }) => type === 'automatic');
    for (const { checkpoint_id } of own)
      expect(await tools.call('resume_workflow', { checkpoint_id })).toMatchObject({
        status: 'success',
        outputs: { said: 'Echo: Echo: first second' },
      });
    expect(own.length).toBeGreaterThan(1);
  });

  test('M5 test_resume_workflow_tool_with_pause: the answer goes to the question, and the workflow to its end', async () => {
    const { id } = await pause();
    const done = await tools.call('resume_workflow', { checkpoint_id: id, llm_response: 'yes' });
    expect(done).toMatchObject({
      status: 'success',
      outputs: { approved: true, deployed: true },
      message: 'Workflow completed successfully',
    });
  });

  test('M5 anything but a yes is a no, and what is skipped is said', async () => {
    const { id } = await pause();
    const done = await tools.call('resume_workflow', { checkpoint_id: id, llm_response: 'better not' });
    expect(done).toMatchObject({
      status: 'success',
      outputs: { approved: false, deployed: false },
      skipped_blocks: ['deploy'],
    });
  });

  test('M7 test_resume_workflow_tool_missing_checkpoint: says so, with a code', async () => {
    expect(await tools.call('resume_workflow', { checkpoint_id: 'pause_missing', llm_response: 'yes' })).toMatchObject({
      isError: true,
      status: 'failure',
      error: 'Checkpoint not found: pause_missing. It may have expired.',
      code: 'CHECKPOINT_NOT_FOUND',
    });
  });

  test('M5 without an answer a paused workflow says that one is missing, and stays paused', async () => {
    const { id, run } = await pause();
    expect(await tools.call('resume_workflow', { checkpoint_id: id })).toMatchObject({
      isError: true,
      status: 'failure',
      error: `Checkpoint ${id} is paused - llm_response required`,
      prompt: "Confirm operation: Deploy my-app?\n\nRespond with 'yes' or 'no'",
      questions: [{ block: 'confirm' }],
    });
    expect(await tools.call('get_run', { run_id: run })).toMatchObject({ status: 'paused' });
    expect(await tools.call('resume_workflow', { checkpoint_id: run, llm_response: 'yes' })).toMatchObject({
      status: 'success',
    });
  });
});

describe('list_checkpoints', () => {
  test('M6 test_list_checkpoints_tool_all: those of all workflows, newest first', async () => {
    await tools.call('execute_workflow', { workflow: 'automatic' });
    await pause();
    const all = await list();
    expect(new Set(all.map(({ workflow }) => workflow))).toEqual(new Set(['approval', 'automatic']));
    const times = all.map(({ created_at: at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    for (const { created_at: at, created_at_iso: iso } of all) expect(iso).toBe(new Date(at * 1000).toISOString());
  });

  test('M6 test_list_checkpoints_tool_filtered: those of one workflow, page by page', async () => {
    const own = await list({ workflow_name: 'approval' });
    expect(own.length).toBeGreaterThan(2);
    expect(own.every(({ workflow }) => workflow === 'approval')).toBe(true);
    expect(await list({ workflow_name: 'nobody' })).toEqual([]);
    const first = await tools.call('list_checkpoints', { workflow_name: 'approval', limit: 2 });
    const rest = await list({ workflow_name: 'approval', cursor: first['next_cursor'] as string });
    expect([...(first['checkpoints'] as readonly Listed[]), ...rest]).toEqual(own);
  });

  test('M6 test_list_checkpoints_shows_pause_status: pauses have a prompt, the others none', async () => {
    const { id } = await pause();
    const all = await list();
    expect(all.find(({ checkpoint_id }) => checkpoint_id === id)).toMatchObject({
      is_paused: true,
      type: 'pause',
      pause_prompt: "Confirm operation: Deploy my-app?\n\nRespond with 'yes' or 'no'",
    });
    for (const { is_paused: isPaused, type, pause_prompt: prompt } of all) {
      expect(type).toBe(isPaused ? 'pause' : 'automatic');
      expect(prompt === null).toBe(!isPaused);
    }
  });
});

test('M6 blame, bisect, graph and post-mortem tell times in seconds since 1970, and as ISO text', async () => {
  const { id, run } = await pause();
  await tools.call('resume_workflow', { checkpoint_id: id, llm_response: 'yes' });
  const began = (await tools.call('get_checkpoint_info', { checkpoint_id: `${run}@0` }))['created_at'] as number;
  let count = 0;
  const check = (told: Content, ...names: readonly string[]): void => {
    for (const name of names) {
      const seconds = told[name] as number;
      expect(new Date(Math.round(seconds * 1000)).toISOString()).toBe(told[`${name}_iso`]);
      expect(Math.abs(seconds - began)).toBeLessThan(3600);
      count += 1;
    }
  };
  const listOf = (of: unknown): readonly Content[] => of as readonly Content[];
  for (const part of listOf((await tools.call('blame_value', { checkpoint_id: run, path: 'outputs' }))['parts']))
    check(part, 'at');
  check(
    (await tools.call('bisect_run', { checkpoint_id: run, when: 'status == "completed"' }))['found'] as Content,
    'at',
  );
  for (const one of listOf((await tools.call('graph_runs', { run_id: run }))['runs']))
    check(one, 'created_at', 'updated_at');
  const story = await tools.call('post_mortem', { checkpoint_id: run });
  check(story, 'started_at', 'ended_at');
  let closed = 0;
  for (const entry of listOf(story['entries'])) {
    check(entry, 'at');
    for (const question of listOf(entry['questions'] ?? [])) {
      check(question, 'at');
      if (question['closed_at'] !== undefined) check(question['closed_at'] as Content, 'at');
      closed += 1;
    }
  }
  expect(closed).toBe(1);
  expect(count).toBeGreaterThan(12);
});

describe('get_checkpoint_info', () => {
  test('M6 test_get_checkpoint_info_tool: all there is to know before a resume', async () => {
    const { id, run } = await pause();
    const info = await tools.call('get_checkpoint_info', { checkpoint_id: id });
    expect(info).toMatchObject({
      found: true,
      checkpoint_id: id,
      workflow_name: 'approval',
      is_paused: true,
      paused_block_id: 'confirm',
      pause_prompt: "Confirm operation: Deploy my-app?\n\nRespond with 'yes' or 'no'",
      run_id: run,
    });
    expect(new Date((info['created_at'] as number) * 1000).toISOString()).toBe(info['created_at_iso']);
  });

  test('M7 test_get_checkpoint_info_not_found: says so', async () => {
    expect(await tools.call('get_checkpoint_info', { checkpoint_id: 'chk_missing' })).toEqual({
      found: false,
      error: 'Checkpoint chk_missing not found or expired',
      code: 'RUN_NOT_FOUND',
    });
  });

  test('M6 test_get_checkpoint_info_shows_progress: completed blocks, wave and percentage grow', async () => {
    const { id, run } = await pause();
    expect(await tools.call('get_checkpoint_info', { checkpoint_id: `${run}@0` })).toMatchObject({
      completed_blocks: [],
      current_wave: 0,
      total_waves: 3,
      progress_percentage: 0,
      is_paused: false,
      paused_block_id: null,
      pause_prompt: null,
    });
    expect(await tools.call('get_checkpoint_info', { checkpoint_id: id })).toMatchObject({
      completed_blocks: ['prepare'],
      current_wave: 1,
      progress_percentage: 33.3,
    });
    await tools.call('resume_workflow', { checkpoint_id: id, llm_response: 'yes' });
    expect(await tools.call('get_checkpoint_info', { checkpoint_id: run })).toMatchObject({
      completed_blocks: ['prepare', 'confirm', 'deploy'],
      current_wave: 3,
      progress_percentage: 100,
    });
  });
});

describe('delete_checkpoint', () => {
  test('M6 test_delete_checkpoint_tool: a paused workflow that is no longer needed goes', async () => {
    const { id, run } = await pause();
    expect(await tools.call('delete_checkpoint', { checkpoint_id: id })).toEqual({
      deleted: true,
      checkpoint_id: id,
      message: 'Checkpoint deleted successfully',
    });
    expect(await tools.call('get_checkpoint_info', { checkpoint_id: id })).toMatchObject({ found: false });
    expect(await tools.call('get_run', { run_id: run })).toMatchObject({ isError: true, code: 'RUN_EXPIRED' });
  });

  test('M7 test_delete_checkpoint_not_found: says so', async () => {
    expect(await tools.call('delete_checkpoint', { checkpoint_id: 'chk_missing' })).toEqual({
      deleted: false,
      checkpoint_id: 'chk_missing',
      message: 'Checkpoint not found',
    });
  });

  test('M7 of one that is no longer kept it is said what remains; it answers nothing', async () => {
    const done = await tools.call('execute_workflow', { workflow: 'automatic' });
    const run = done['run_id'] as string;
    const { checkpoint_id: first } = await tools.call('get_checkpoint_info', { checkpoint_id: `${run}@1` });
    const inner = first as string;
    expect(await tools.call('delete_checkpoint', { checkpoint_id: inner })).toMatchObject({ deleted: true });
    expect(await tools.call('get_checkpoint_info', { checkpoint_id: inner })).toMatchObject({
      found: false,
      error: `Checkpoint ${inner} not found or expired`,
      code: 'CHECKPOINT_PRUNED',
      remains: expect.any(String) as string,
    });
    expect(await tools.call('resume_workflow', { checkpoint_id: inner, llm_response: 'yes' })).toMatchObject({
      isError: true,
      code: 'CHECKPOINT_PRUNED',
    });
    expect(await tools.call('resume_workflow', { checkpoint_id: run })).toEqual(done);
  });

  test('M7 one that a run was forked from stays', async () => {
    const { id, run } = await pause();
    await tools.call('fork_checkpoint', { checkpoint_id: id, run: false });
    expect(await tools.call('delete_checkpoint', { checkpoint_id: id })).toMatchObject({
      isError: true,
      status: 'failure',
    });
    expect(await tools.call('get_run', { run_id: run })).toMatchObject({ status: 'paused' });
  });
});

test('M1 test_tools_handle_no_executor_gracefully: a server with nothing to run answers every tool', async () => {
  const empty = createWorkspace();
  const { call, client } = await connectStdio(empty);
  const checkpoint = { checkpoint_id: 'nothing' };
  const failing: Readonly<Record<string, Content>> = {
    execute_workflow: { workflow: 'nothing' },
    resume_workflow: checkpoint,
    get_run: { run_id: 'nothing' },
    cancel_run: { run_id: 'nothing' },
    send_signal: { run_id: 'nothing', name: 'go' },
    signal_with_start: { workflow: 'nothing', run_id: 'nothing', name: 'go', input: {} },
    get_workflow_info: { workflow: 'nothing' },
    execute_inline_workflow: { workflow_yaml: 'name: x' },
    diff_checkpoints: { a: 'nothing', b: 'nothing' },
    blame_value: { ...checkpoint, path: 'input' },
    bisect_run: { checkpoint_id: 'nothing', when: 'true' },
    graph_runs: { run_id: 'nothing' },
    post_mortem: checkpoint,
    preview_resume: checkpoint,
    fork_checkpoint: checkpoint,
    convert_workflow: { text: ': not yaml', to: 'dot' },
  };
  const answering: Readonly<Record<string, Content>> = {
    list_workflows: {},
    list_checkpoints: {},
    list_runs: {},
    list_workers: {},
    list_limits: {},
    list_datasets: {},
    read_stats: {},
    read_experiments: {},
    list_questions: {},
    reload_workflows: {},
    get_checkpoint_info: checkpoint,
    delete_checkpoint: checkpoint,
    validate_workflow: { workflow_yaml: ': not yaml' },
  };
  const { tools: listed } = await client.listTools();
  expect(new Set(listed.map(({ name }) => name))).toEqual(new Set(Object.keys({ ...failing, ...answering })));
  for (const [name, args] of Object.entries(failing)) {
    const answer = await call(name, args);
    expect({ name, ...answer }).toMatchObject({ name, isError: true, status: 'failure', code: expect.any(String) });
    expect(answer['code']).not.toBe('INTERNAL');
  }
  for (const [name, args] of Object.entries(answering))
    expect({ name, ...(await call(name, args)) }).not.toHaveProperty('isError');
  await empty.remove();
});
