/** Budgets of workflows in files. */
import { expect, test } from 'vitest';
import { createScriptedModels } from '../../src/models/scripted.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { answerAll, faultsOf, read, runText } from '../yaml-kit.ts';

const reviews = (more: string): string => `
name: reviews
${more}
blocks:
  - id: first
    type: LLMCall
    inputs: { prompt: Rate it }
  - id: second
    type: LLMCall
    depends_on: [first]
    inputs: { prompt: "Again: \${first.response.content}" }
outputs: { said: "\${second.response.content}" }
`;

const usage = { inputTokens: 10, outputTokens: 100 };
const models = (): ReturnType<typeof createScriptedModels> =>
  createScriptedModels(['good', 'very good'].map((text) => ({ text, usage, cost: 0.5 })));

test('Q4 Q7 a workflow in a file has a budget, and its models spend it', async () => {
  const nodeTypes = createNodeTypes({ models: models() });
  const paused = await runText(reviews('budget: { outputTokens: 100, cost: 5 }'), {}, { nodeTypes });
  const { status, spent, waits } = paused.result;
  expect([status, spent, waits.length]).toEqual(['paused', { ...usage, cost: 0.5 }, 1]);
  expect(waits[0]?.prompt).toContain('has spent 100 of its budget of 100 outputTokens; next is second');
  const done = await answerAll(paused, () => 1);
  expect([done.outputs, done.result.spent]).toEqual([
    { said: 'very good' },
    { inputTokens: 20, outputTokens: 200, cost: 1 },
  ]);
});

test('Q7 models of a workflow in a file spend tokens where its budget names them, as items of a for_each too', async () => {
  for (const work of ['', '    for_each: ["${inputs.who}"]\n']) {
    const text = reviews('budget: { tokens: 110 }\ninputs: { who: { type: string, default: me } }').replace(
      '    inputs: { prompt: Rate it }\n',
      `${work}    inputs: { prompt: Rate it }\n`,
    );
    const { result } = await runText(
      text.replace('${first.response.content}', 'Rate it'),
      {},
      { nodeTypes: createNodeTypes({ models: models() }) },
    );
    expect([result.status, result.spent]).toEqual(['paused', { ...usage, cost: 0.5, tokens: 110 }]);
    expect(result.waits[0]?.prompt).toContain('has spent 110 of its budget of 110 tokens; next is second');
  }
});

test('Q4 a file says that a budget fails, and a block has one of its own with a bound', async () => {
  const nodeTypes = createNodeTypes({ models: models() });
  const failed = await runText(reviews('budget: { cost: 0.5 }\non_budget: fail'), {}, { nodeTypes });
  expect(failed.result.error?.code).toBe('BUDGET_EXCEEDED');
  const text = reviews('').replace(
    '    inputs: { prompt: Rate it }',
    '    budget: { calls: 1 }\n    at_most: { calls: 2 }\n    on_budget: fail\n    inputs: { prompt: Rate it }',
  );
  const block = read(text, { nodeTypes }).graph.nodes.find(({ id }) => id === 'first');
  expect([block?.budget, block?.atMost, block?.onBudget]).toEqual([{ calls: 1 }, { calls: 2 }, 'fail']);
  expect((await runText(text, {}, { nodeTypes })).result.error?.message).toContain('the next attempt spends up to 2');
});

test('Q4 what is no budget is a fault of the file', () => {
  const nodeTypes = createNodeTypes({ models: models() });
  const faults = faultsOf(reviews('budget: { cost: -1, "1st": 2 }\non_budget: never'), { nodeTypes }).join('\n');
  for (const part of ['cost', '1st', 'on_budget']) expect(faults).toContain(part);
});
