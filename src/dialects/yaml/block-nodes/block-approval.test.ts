/** `approval:` of a block: what a person saw is what the block gets, within the grants of the process. */
import { expect, test } from 'vitest';
import { resumeToRest } from '../../../../test/engine-kit.ts';
import { faultsOf, journal, optionsOf, runText, type Ran } from '../../../../test/yaml-kit.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';

const head = 'name: w\ndescription: d\n';
const block = (approval: string, more = ''): string => `${head}inputs: { amount: { type: num } }
blocks:
  - id: pay
    type: Effect
    inputs: { value: "\${amount}" }
    approval: ${approval}
${more}  - id: after
    type: Note
    depends_on: [pay]
outputs: { paid: "\${pay.value}", after: "\${blocks.after.status}" }
`;
const full = block('{ prompt: "Pay ${amount}?", condition: "${amount} > 10", edit: [value] }');

const answered = async ({ engine, result, workflow }: Ran, answer: unknown) => {
  for (const { waitId } of result.waits) await engine.answer(result.runId, waitId, answer);
  return resumeToRest(engine, result.runId, workflow.graph);
};
const outputsOf = (result: Ran['result']): unknown => result.state.outputs['outputs'];

test('Y15 a block asks before it runs, shows its inputs, and gets what was approved', async () => {
  const before = journal.done.length;
  const ran = await runText(full, { amount: 40 });
  expect(ran.result.waits).toMatchObject([
    {
      node: ['pay?'],
      prompt: 'Pay 40?',
      isApproval: true,
      metadata: { node: 'pay', input: { value: 40 }, edit: ['value'] },
    },
  ]);
  expect(journal.done.length).toBe(before);
  const result = await answered(ran, { decision: 'approve', args: { value: 30 } });
  expect([outputsOf(result), journal.done.slice(before).map(({ value }) => value)]).toEqual([
    { paid: 30, after: 'completed' },
    [30],
  ]);
});

test('Y15 under the condition nobody is asked, and a refusal skips the block and what requires it', async () => {
  expect((await runText(full, { amount: 5 })).outputs).toEqual({ paid: 5, after: 'completed' });
  const refused = await answered(await runText(full, { amount: 40 }), 'reject');
  expect([refused.status, outputsOf(refused)]).toEqual(['completed', { paid: null, after: 'skipped' }]);
  const failing = block('{ prompt: Pay?, on_rejected: fail }');
  const failed = await answered(await runText(failing, { amount: 4 }), 'reject');
  expect([failed.status, failed.error?.message]).toEqual(['failed', expect.stringContaining('rejected')]);
});

test('Y15 Y6 what a person changes is held to the fields of the block and to the grants', async () => {
  const fetching: NodeType = {
    name: 'Fetch',
    description: 'Calls a server.',
    inputs: { host: { schema: { type: 'string' }, description: 'a host', isRequired: true } },
    outputs: {},
    effect: 'external',
    needs: ({ host }) => [{ kind: 'net', host: typeof host === 'string' ? host : undefined }],
    run: ({ inputs }) => void journal.done.push({ key: '', value: inputs['host'], attempt: 1 }),
  };
  const text = `${head}blocks: [{ id: a, type: Fetch, inputs: { host: a.org }, approval: { prompt: Go?, edit: [host] } }]\n`;
  const more = { origin: 'inline', permissions: { net: ['a.org'] }, nodeTypes: [fetching] } as const;
  const before = journal.done.length;
  const elsewhere = await answered(await runText(text, {}, more), { decision: 'edit', args: { host: 'b.org' } });
  expect(elsewhere.error?.message).toContain('not allowed');
  const wrong = await answered(await runText(text, {}, more), { decision: 'edit', args: { host: 7 } });
  expect(wrong.error?.message).toContain('host');
  expect(journal.done.length).toBe(before);
  expect((await answered(await runText(text, {}, more), 'approve')).status).toBe('completed');
});

test('Y15 a secret is shown by its name, and the block gets it', async () => {
  let seen: unknown;
  const sending: NodeType = {
    ...(optionsOf().nodeTypes[0] as NodeType),
    name: 'Send',
    run: ({ inputs }) => {
      seen = inputs['token'];
      return {};
    },
  };
  const text = `${head}secrets: [K]\nblocks: [{ id: a, type: Send, inputs: { token: "x\${secrets.K}", text: hi }, approval: { prompt: Go?, edit: [text] } }]\n`;
  const ran = await runText(text, {}, { nodeTypes: [sending] });
  expect(JSON.stringify(ran.result.waits)).toContain('secret:K');
  const result = await answered(ran, { decision: 'edit', args: { text: 'ho' } });
  expect([result.status, String((seen as { text?: unknown }).text)]).toEqual(['completed', 'xsecret:K']);
});

test('Y15 what has no effect, or would let a person decide what a command may do, is refused at load', () => {
  const command = block('{ prompt: Go?, edit: [command, nothing], on_deadline: reject }');
  expect(faultsOf(command)).toEqual([
    expect.stringContaining('nobody may change command of pay while answering'),
    expect.stringContaining('Effect has no input nothing'),
    expect.stringContaining('`on_deadline` has no effect without `deadline`'),
  ]);
  expect(faultsOf(block('Go?', '    for_each: [1, 2]\n'))[0]).toContain('not of each item');
  expect(
    faultsOf(`on_cancel: undo\n${head}blocks: [{ id: a, type: Note }, { id: undo, type: Note, approval: Go? }]\n`),
  ).toEqual([expect.stringContaining('undo follows the end of a run')]);
});

test('Y15 whose answer it is, and until when, are said as of any question', async () => {
  const text = block(
    '{ prompt: Go?, assignees: ["role:finance"], deadline: 2h, on_deadline: reject, remind_after: 1h }',
  );
  const { result } = await runText(text, { amount: 1 });
  expect(result.waits).toMatchObject([{ for: ['role:finance'], defaultAnswer: { is_approved: false } }]);
});

test('Y15 a renamed block is found with its question', async () => {
  const renamed = full
    .replace('id: pay', 'id: settle\n    renamed_from: pay')
    .replaceAll('[pay]', '[settle]')
    .replace('pay.value', 'settle.value');
  const ran = await runText(full, { amount: 40 });
  const { workflow } = await runText(renamed, { amount: 5 });
  const result = await answered({ ...ran, workflow }, 'approve');
  expect([result.status, outputsOf(result)]).toEqual(['completed', { paid: 40, after: 'completed' }]);
});

test('Y15 X1 what is changed makes no stronger effect of a block than it was written with', async () => {
  const done: unknown[] = [];
  const calling: NodeType = {
    name: 'Call',
    description: 'Calls.',
    inputs: { method: { schema: { enum: ['GET', 'POST'] }, description: 'how' } },
    outputs: {},
    effect: ({ method }) => (method === 'GET' ? 'read' : 'external'),
    run: ({ inputs }) => void done.push(inputs['method']),
  };
  const text = (method: string): string =>
    `${head}blocks: [{ id: a, type: Call, inputs: { method: ${method} }, approval: { prompt: Go?, edit: [method] } }]\n`;
  const changed = async (from: string, to: string): Promise<string> => {
    const ran = await runText(text(from), {}, { nodeTypes: [calling] });
    return (await answered(ran, { decision: 'edit', args: { method: to } })).status;
  };
  expect([await changed('GET', 'POST'), done]).toEqual(['failed', []]);
  expect([await changed('POST', 'GET'), done]).toEqual(['completed', ['GET']]);
});
