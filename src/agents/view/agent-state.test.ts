/** The view of an agent at work, at a question, and when it has ended. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { outcome } from '../../graph/contracts/node-contract.ts';
import { createScriptedModels, type Script } from '../../models/scripted.ts';
import { agent } from '../agent.ts';
import { tool } from '../tools/tool-box.ts';
import { readAgentState } from './agent-state.ts';

const look = tool({
  description: 'Looks.',
  input: { type: 'object' },
  effect: 'read',
  cacheable: true,
  run: (args) => ({ args }),
});
const fails = tool({
  description: 'Fails.',
  input: { type: 'object' },
  effect: 'read',
  run: () => Promise.reject(new Error('no')),
});
const mail = tool({ description: 'Mails.', input: { type: 'object' }, run: () => 'sent' });
const script: Script = ({ model, messages }) => {
  const answers = messages.filter(({ role }) => role === 'assistant').length;
  if (model === 'small') return answers === 0 ? { calls: [{ tool: 'mail', id: 'm' }] } : 'Mailed.';
  if (answers === 0)
    return {
      text: 'I look.',
      calls: [
        { tool: 'look', id: '1' },
        { tool: 'fails', id: '2' },
        { tool: 'none', id: '3' },
      ],
    };
  if (answers === 1)
    return {
      calls: [
        { tool: 'look', id: '4' },
        { tool: 'helper', input: { prompt: 'Mail.' }, id: '5' },
      ],
    };
  return 'Done.';
};

test('A15 the view tells conversation, loops, cache, what is pending, and agents within; and all of it when the agent has ended', async () => {
  const models = createScriptedModels(script);
  const bench = createBench({ models });
  const helper = agent({ model: 'small', tools: { mail } });
  const context = { user: 'ann', session: 's1', metadata: { plan: 'free' } };
  const node = agent({ model: 'm', prompt: 'Go.', instructions: 'Be brief.', tools: { look, fails, helper }, context });
  const graph = graphOf('g', [{ id: 'a', ...node }], edges('> a', 'a >'));
  const paused = await runToRest(bench.engine, graph, { for: 'tests' }, 'r');
  const { history } = bench.engine;
  const state = await readAgentState(history, 'r', 'a');
  const none = 'there is no tool "none"; there are: look, fails, helper';
  expect(state).toMatchObject({
    node: ['a'],
    status: 'started',
    visit: 1,
    mode: 'native',
    historyOffset: 1,
    loop: 2,
    callContext: context,
    prompt: { blocks: { instructions: 'Be brief.' }, variables: { for: 'tests' } },
    isAsking: false,
    intermediateSteps: [
      {
        loop: 1,
        text: 'I look.',
        calls: [
          { id: '1', tool: 'look', status: 'done', output: { args: {} } },
          { id: '2', tool: 'fails', status: 'failed', output: 'fails failed: no' },
          { id: '3', tool: 'none', status: 'failed', output: none },
        ],
      },
      { loop: 2, calls: [{ id: '4', status: 'done', output: { args: {} }, isCached: true }, { id: '5' }] },
    ],
    spent: { inputTokens: expect.any(Number) },
  });
  expect(Object.values(state?.toolCache ?? {})).toEqual([{ args: {} }]);
  expect(state?.pendingCalls).toMatchObject([{ id: '5', tool: 'helper', status: 'started' }]);
  const [nested] = Object.values(state?.nested ?? {});
  expect(nested).toMatchObject({
    loop: 1,
    pendingCalls: [{ id: 'm', tool: 'mail', status: 'waiting' }],
    prompt: { variables: { prompt: 'Mail.' } },
  });
  await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'approve');
  await resumeToRest(bench.engine, 'r', graph);
  const ended = await readAgentState(history, 'r', 'a');
  expect(ended).toMatchObject({ status: 'completed', answer: 'Done.', loop: 3, pendingCalls: [] });
  expect(ended?.messages.slice(0, -1)).toEqual(models.requests.at(-1)?.messages);
  expect(ended?.messages.at(-1)?.content).toEqual([{ type: 'text', text: 'Done.' }]);
  expect(ended?.intermediateSteps[1]?.calls).toMatchObject([
    { id: '4', isCached: true, output: { args: {} } },
    { id: '5', status: 'done', output: 'Mailed.' },
  ]);
  // The agent within has ended too; its path leads to it.
  expect(await readAgentState(history, { runId: 'r', seq: paused.seq }, nested?.node ?? [])).toMatchObject({ loop: 1 });
});

test('A15 a node that is not there is said by name; one that asks no model has no such state', async () => {
  const bench = createBench({ models: createScriptedModels(['Done.']) });
  const graph = graphOf('g', [{ id: 'a', ...agent({ model: 'm', prompt: 'Go.' }) }], edges('> a', 'a >'));
  await runToRest(bench.engine, graph, {}, 'r');
  await expect(readAgentState(bench.engine.history, 'r', 'b')).rejects.toThrow(/node b/u);
  expect(await readAgentState(bench.engine.history, 'r', '__start__')).toBeUndefined();
});

test('A15 what a fork took over is looked for where it was recorded', async () => {
  const bench = createBench({ models: createScriptedModels(['Done.']) });
  const graph = graphOf('g', [{ id: 'a', ...agent({ model: 'm', prompt: 'Go.' }) }], edges('> a', 'a >'));
  await runToRest(bench.engine, graph, {}, 'r');
  const { runId } = await bench.engine.fork({ runId: 'r', seq: 0 });
  await resumeToRest(bench.engine, runId, graph);
  const seen = await readAgentState(bench.engine.history, runId, 'a').catch((error: unknown) => String(error));
  expect(seen).toMatch(/taken over from r/u);
});

test('A15 the result of a graph is shown as the model was told it: of the node that `result` names, else its artifacts', async () => {
  const count = graphOf(
    'count',
    [node('count', 'pure', () => 'the node'), node('sum', 'pure', () => 7)],
    edges('> count', 'count > sum', 'sum >'),
  );
  const stack = graphOf(
    'stack',
    [node('stack', 'pure', () => outcome({ output: 'the node', artifacts: { stones: 3 } }))],
    edges('> stack', 'stack >'),
  );
  const input = { type: 'object' };
  const tools = {
    count: tool({ description: 'Counts.', input, node: count, result: 'sum' }),
    stack: tool({ description: 'Stacks.', input, node: stack }),
  };
  const models = createScriptedModels([{ calls: [{ tool: 'count' }, { tool: 'stack' }] }, 'Done.']);
  const bench = createBench({ models });
  const graph = graphOf('g', [{ id: 'a', ...agent({ model: 'm', prompt: 'Go.', tools }) }], edges('> a', 'a >'));
  await runToRest(bench.engine, graph, {}, 'r');
  const state = await readAgentState(bench.engine.history, 'r', 'a');
  expect(state?.intermediateSteps[0]?.calls.map(({ output }) => output)).toEqual([7, { stones: 3 }]);
  expect(state?.messages.slice(0, -1)).toEqual(models.requests.at(-1)?.messages);
});

test('A15 an agent within that has ended is done, while a call beside it waits for a person', async () => {
  const calls = [{ tool: 'helper', input: { prompt: 'Help.' } }, { tool: 'mail' }];
  const models = createScriptedModels(({ model }) => (model === 'small' ? 'Helped.' : { calls }));
  const bench = createBench({ models });
  const tools = { helper: agent({ model: 'small' }), mail };
  const graph = graphOf('g', [{ id: 'a', ...agent({ model: 'm', prompt: 'Go.', tools }) }], edges('> a', 'a >'));
  const { status } = await runToRest(bench.engine, graph, {}, 'r');
  const state = await readAgentState(bench.engine.history, 'r', 'a');
  expect([status, state?.pendingCalls.map(({ tool }) => tool)]).toEqual(['paused', ['mail']]);
  expect(state?.intermediateSteps[0]?.calls[0]).toMatchObject({ tool: 'helper', status: 'done' });
});
