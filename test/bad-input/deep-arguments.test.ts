/** Calls of tools whose arguments are nested deeper than a value may be: faulty calls, which the model is told about, at each door. */
import { generateText, isStepCount, jsonSchema, tool as sdkTool } from 'ai';
import { expect, test } from 'vitest';
import { tool } from '../../src/agents/tools/tool-box.ts';
import { durable } from '../../src/ai-sdk/index.ts';
import { agentKit } from '../agents/agent-kit.ts';
import { scriptedSdkModel } from '../agents/scripted-sdk-model.ts';
import { createBench, edges, graphOf, node, runToRest } from '../engine-kit.ts';
import { createWorkspace, serveHere } from '../mcp/mcp-kit.ts';

const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
const depths = [450, 2_000];
const anything = { type: 'object' };

test.each(depths)('A5 a call of an agent with arguments nested %i deep is told to the model', async (depth) => {
  const made: unknown[] = [];
  const take = tool({
    description: 'Takes anything.',
    input: anything,
    effect: 'external',
    approval: 'never',
    run: (args) => made.push(args),
  });
  const { bench, models, graph } = agentKit([{ calls: [{ tool: 'take', input: nested(depth) }] }, 'Well.'], {
    tools: { take },
  });
  const { status, state, error } = await runToRest(bench.engine, graph);
  expect([status, error]).toEqual(['completed', undefined]);
  expect(state.outputs).toEqual({ a: 'Well.' });
  expect(made).toEqual([]);
  expect(JSON.stringify(models.requests[1]?.messages.at(-1))).toMatch(
    /cannot be used|nested deeper than|cannot be read/,
  );
});

test.each(depths)('U2 a call of durable() with arguments nested %i deep is told to the model', async (depth) => {
  const model = scriptedSdkModel([{ calls: [['take', nested(depth)]] }, 'Well.']);
  const made: unknown[] = [];
  const graph = graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        const d = durable(ctx, { name: 'support' });
        const tools = d.tools({
          take: sdkTool({ inputSchema: jsonSchema(anything as never), execute: (args: unknown) => made.push(args) }),
        });
        return (
          await generateText({ model: d.model(model), tools, stopWhen: isStepCount(3), prompt: 'Go.', ...d.settings })
        ).text;
      }),
    ],
    edges('> a', 'a >'),
  );
  const { status, state, error } = await runToRest(createBench().engine, graph);
  expect([status, error]).toEqual(['completed', undefined]);
  expect(state.outputs['a']).toBe('Well.');
  expect(made).toEqual([]);
});

test.each([2_000])(
  'M a call over MCP with arguments nested %i deep is refused by name, and the server goes on',
  async (depth) => {
    const workspace = createWorkspace({
      echo: 'name: echo\ninputs: { x: { type: json, default: 1 } }\nblocks:\n  - { id: e, type: EchoBlock, inputs: { message: hi } }\n',
    });
    try {
      const { call } = await (await serveHere(workspace)).connect();
      const said = await call('execute_workflow', { workflow: 'echo', inputs: { x: nested(depth) } });
      expect(JSON.stringify(said)).toMatch(/INPUT_INVALID|VALUE_UNSTORABLE/);
      expect(await call('execute_workflow', { workflow: 'echo' })).toMatchObject({ status: 'success' });
    } finally {
      await workspace.remove();
    }
  },
);
