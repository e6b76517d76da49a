/** Forks over MCP: that go on from an earlier checkpoint than was named, and where something had begun (M6 of docs/spec/mcp.md). */
import { afterAll, expect, test } from 'vitest';
import { createWorkspace, serveHere } from './mcp-kit.ts';

const greet = `
name: greet
blocks:
  - { id: greeting, type: EchoBlock, inputs: { message: hello } }
  - { id: loud, type: Shell, depends_on: [greeting], inputs: { command: "printf '%s!' \${greeting.echoed}" } }
outputs:
  said: "\${loud.stdout}"
`;

const pay = `
name: pay
inputs: { amount: { type: num, required: true } }
blocks:
  - { id: plan, type: EchoBlock, inputs: { message: planned } }
  - { id: pay, type: Shell, depends_on: [plan], inputs: { command: "printf %s \${inputs.amount}" } }
outputs:
  paid: "\${pay.stdout}"
`;

const workspace = createWorkspace({ greet, pay });
afterAll(() => workspace.remove());

test('M6 of a fork that goes on from an earlier checkpoint than was named, both are told, and why', async () => {
  const tools = await (await serveHere(workspace)).connect();
  const { run_id: run } = await tools.call('execute_workflow', { workflow: 'greet' });
  const head = await tools.call('preview_resume', { checkpoint_id: run });
  expect(head).not.toHaveProperty('earlier');
  const branch = { checkpoint_id: run, set: { 'outputs.greeting': { echoed: 'hi' } } };
  const preview = await tools.call('preview_resume', branch);
  expect(preview).toMatchObject({
    earlier: {
      because: expect.stringMatching(/^outputs\.greeting was recorded at .+@\d+$/) as string,
      instead_of: `${String(run)}@${String(head['seq'])}`,
    },
  });
  expect(preview['seq']).not.toBe(head['seq']);
  const fork = await tools.call('fork_checkpoint', branch);
  expect(fork).toMatchObject({
    status: 'success',
    outputs: { said: 'hi!' },
    forked_from: expect.stringMatching(new RegExp(`\\.${String(preview['seq'])}$`)) as string,
    earlier: preview['earlier'],
  });
});

test('H2.4 over MCP what had begun at the checkpoint begins anew with what the fork sets, and the preview says so', async () => {
  const tools = await (await serveHere(workspace)).connect();
  const { run_id: run } = await tools.call('execute_workflow', { workflow: 'pay', inputs: { amount: 5 } });
  // START, then `plan` settles, and with it `pay` is announced.
  const begun = `${String(run)}@1`;
  const branch = { checkpoint_id: begun, set: { 'input.amount': 50 } };
  const preview = JSON.stringify(await tools.call('preview_resume', branch));
  expect(preview).toContain('begins anew with input.amount as set');
  expect(await tools.call('fork_checkpoint', branch)).toMatchObject({ status: 'success', outputs: { paid: '50' } });
});
