/** A server whose answers are for people (M13.5): what a client asks for is refused, with the command for the person. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnSync } from 'node:child_process';
import { builtMain } from '../support/built-package.ts';
import { createWorkspace, serveHere, type Connection } from './mcp-kit.ts';

const workspace = createWorkspace({
  pay: `
name: pay
blocks:
  - { id: look, type: EchoBlock, inputs: { message: "40 euros" } }
  - { id: q, type: AskChoice, depends_on: [look], inputs: { question: "Pay \${look.echoed}?", choices: [pay, stop] } }
  - { id: sub, type: Workflow, depends_on: [q], inputs: { workflow: inner } }
  - { id: late, type: EchoBlock, depends_on: [sub], inputs: { message: "\${q.choice}" } }
outputs: { said: "\${late.echoed}" }
`,
  inner: `
name: inner
blocks:
  - { id: sure, type: ConfirmOperation, inputs: { message: "Sure?", operation: pay } }
outputs: { sure: "\${sure.confirmed}" }
`,
  failing: 'name: failing\nblocks: [{ id: breaks, type: Shell, inputs: { command: exit 3 } }]\n',
});
afterAll(() => workspace.remove());

let reserved: Connection;
let open: Connection;
let usual: Connection;
beforeAll(async () => {
  reserved = await (await serveHere(workspace, { answers: 'person' })).connect();
  open = await (await serveHere(workspace, { answers: 'anyone' })).connect();
  usual = await (await serveHere(workspace)).connect();
});

const refused = (command: RegExp): object => ({
  isError: true,
  code: 'ANSWER_RESERVED',
  message: expect.stringMatching(command) as string,
});

test('M13.5 answers, forks with answers and forks past a question are refused, each with the command for the person; the question stays open', async () => {
  const { call } = reserved;
  const paused = await call('execute_workflow', { workflow: 'pay', run_id: 'r' });
  expect(paused).toMatchObject({
    status: 'paused',
    message: expect.stringMatching(/a person answers: cairn answer r w_\S+ VALUE --resume$/) as string,
  });
  const id = paused['checkpoint_id'];
  expect(await call('resume_workflow', { checkpoint_id: id, llm_response: 'pay' })).toMatchObject(
    refused(/Ask the person to run: cairn answer r w_\S+ VALUE --resume/),
  );
  expect(await call('resume_workflow', { checkpoint_id: id, answers: { q: 'pay' } })).toMatchObject(
    refused(/cairn answer r/),
  );
  expect(await call('resume_workflow', { checkpoint_id: id })).toMatchObject(refused(/cairn answer r VALUE --resume/));
  expect(await call('send_signal', { run_id: 'r', name: 'go' })).toMatchObject(refused(/cairn signal r go VALUE/));
  const fork = (more: object): Promise<unknown> => call('fork_checkpoint', { checkpoint_id: 'r', ...more });
  expect(await fork({ answer: { q: 'pay' } })).toMatchObject(refused(/cairn fork r --answer q=VALUE --run/));
  const q = { choice: 'pay', choice_index: 0 };
  expect(await fork({ set: { 'outputs.q': q } })).toMatchObject(refused(/cairn fork r --set outputs\.q=VALUE --run/));
  // Whose child asks, and one that was not reached: nobody knows yet whether it asks.
  expect(await fork({ set: { 'outputs.sub': { success: true } } })).toMatchObject(refused(/outputs\.sub=VALUE/));
  expect(await fork({ set: { 'outputs.late': { echoed: 'x' } } })).toMatchObject(refused(/outputs\.late=VALUE/));
  // What asked nobody may be set, and the question is asked again.
  const other = await fork({ set: { 'outputs.look': { echoed: '50 euros' } } });
  expect(other).toMatchObject({ status: 'paused', prompt: expect.stringContaining('Pay 50 euros?') as string });
  expect(await call('get_run', { run_id: 'r' })).toMatchObject({ status: 'paused' });
  expect(await call('list_questions', { run_id: 'r' })).toMatchObject({
    waits: [{ message: expect.stringMatching(/^A person answers: cairn answer r w_/) as string }],
  });
});

test('H2.1 over MCP, an outcome that is set is held to choices and fields of its block', async () => {
  const { call } = open;
  await call('execute_workflow', { workflow: 'pay', run_id: 's' });
  const set = (output: unknown): Promise<unknown> =>
    call('fork_checkpoint', { checkpoint_id: 's', set: { 'outputs.q': output } });
  for (const [output, reason] of [
    [{ choice: 'refund', choice_index: 0 }, 'choice must be one of pay, stop'],
    [{ choice: 'pay', choice_index: 1 }, 'choice_index its place'],
    [{ choice: 'pay' }, 'choice_index is missing'],
    [{ choice: 7, choice_index: 0 }, 'choice'],
    [{ choice: 'pay', choice_index: 0, also: 1 }, 'has no field also'],
    ['pay', 'it must be a mapping'],
  ] as const)
    expect(await set(output)).toMatchObject({
      code: 'OUTCOME_INVALID',
      error: expect.stringContaining(reason) as string,
    });
  expect(await set({ choice: 'pay', choice_index: 0 })).toMatchObject({
    status: 'paused',
    prompt: expect.stringContaining('Sure?') as string,
  });
});

test('M13.5 the command line takes the option, and knows no other reader of answers', () => {
  const { stderr, status } = spawnSync('node', [builtMain, 'mcp', '--answers', 'persn'], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect(status).toBe(2);
  expect(stderr).toContain('Did you mean person?');
}, 60_000);

test('X3 M13.5 retry is the answer to the question whether a command that ended has happened, and is for people where answers are', async () => {
  const { run_id: id } = await open.call('execute_workflow', { workflow: 'failing' });
  expect(await open.call('resume_workflow', { checkpoint_id: id })).toMatchObject({ status: 'paused' });
  const again = { checkpoint_id: id, retry: true };
  expect(await reserved.call('resume_workflow', again)).toMatchObject(refused(/cairn answer \S+ w_\S+ VALUE --resume/));
  expect(await open.call('resume_workflow', again)).toMatchObject({ status: 'failure', failed_blocks: ['breaks'] });
});

test('M13.5 without an option, what a workflow asks is answered by its client, and an effect in doubt by a person: not over an answer, a fork or a removal', async () => {
  const { call } = usual;
  const { checkpoint_id: asked } = await call('execute_workflow', { workflow: 'pay' });
  expect(await call('resume_workflow', { checkpoint_id: asked, llm_response: 'pay' })).toMatchObject({
    status: 'paused',
    prompt: expect.stringContaining('Sure?') as string,
    questions: [{ message: expect.stringMatching(/^Answer with resume_workflow/) as string }],
  });
  const { run_id: run } = await call('execute_workflow', { workflow: 'failing' });
  const doubt = await call('resume_workflow', { checkpoint_id: run });
  expect(doubt).toMatchObject({
    status: 'paused',
    message: expect.stringMatching(/a person answers: cairn answer \S+ w_\S+ VALUE --resume$/) as string,
    questions: [{ kind: 'doubt', message: expect.stringMatching(/^A person answers: cairn answer/) as string }],
  });
  const id = doubt['checkpoint_id'];
  const command = refused(/cairn answer \S+ /);
  expect(await call('resume_workflow', { checkpoint_id: id, llm_response: 'happened' })).toMatchObject(command);
  expect(await call('resume_workflow', { checkpoint_id: id, answers: { breaks: 'happened' } })).toMatchObject(command);
  expect(await call('resume_workflow', { checkpoint_id: id, retry: true })).toMatchObject(command);
  expect(await call('resume_workflow', { checkpoint_id: id })).toMatchObject(command);
  const fork = (more: object): Promise<unknown> => call('fork_checkpoint', { checkpoint_id: run, ...more });
  expect(await fork({ answer: { breaks: 'happened' } })).toMatchObject(refused(/cairn fork/));
  expect(await fork({ set: { 'outputs.breaks': { exit_code: 0 } } })).toMatchObject(refused(/cairn fork/));
  expect(await call('delete_checkpoint', { checkpoint_id: id })).toMatchObject(refused(/cairn rm /));
  expect(await call('get_run', { run_id: run })).toMatchObject({ status: 'paused' });
});

test('M13.6 where answers are for people, the run that waits for one cannot be removed', async () => {
  const { checkpoint_id: id, run_id: run } = await reserved.call('execute_workflow', { workflow: 'pay' });
  expect(await reserved.call('delete_checkpoint', { checkpoint_id: id })).toMatchObject(refused(/cairn rm /));
  expect(await reserved.call('get_run', { run_id: run })).toMatchObject({ status: 'paused' });
  expect(await usual.call('delete_checkpoint', { checkpoint_id: id })).toMatchObject({ deleted: true });
});
