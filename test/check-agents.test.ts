/** What a check tells of agents in the middle of their work, and of approvals that a deploy closes: in code, in YAML and in DOT (X5.4). */
import { expect, test } from 'vitest';
import { agent, tool } from '../src/agents/index.ts';
import { agentBlock } from '../src/agents/block/agent-block.ts';
import { stageAgent } from '../src/agents/stage/stage-agent.ts';
import { readDot } from '../src/dialects/dot/index.ts';
import type { Graph } from '../src/graph/graph.ts';
import { createScriptedModels, type Script } from '../src/models/scripted.ts';
import { createNodeTypes } from '../src/nodes/blocks/index.ts';
import { shellBlock } from '../src/nodes/blocks/shell.ts';
import { createBench, graphOf, runToRest } from './engine-kit.ts';
import { read } from './yaml-kit.ts';

/** What a check says of a run that waits for an approval under the first graph, and goes on under the second. */
async function told(before: Graph, after: Graph, call: { tool: string; input: object }): Promise<readonly string[]> {
  const script: Script = [{ calls: [call] }, 'Fin.'];
  const { engine } = createBench({ models: createScriptedModels(script) });
  const { status, waits } = await runToRest(engine, before, {}, 'r');
  expect([status, waits.length]).toEqual(['paused', 1]);
  const { findings } = await engine.check('r', { graph: after });
  return findings.map(({ kind, node, why }) => `${kind} ${node}: ${why}`);
}

const coded = (more: object = {}, description = 'Mails.', required: readonly string[] = []): Graph => {
  const input = { type: 'object', required, properties: { to: { type: 'string' }, cc: { type: 'string' } } } as const;
  const mail = tool({ description, input, run: () => 'mailed' });
  const clerk = agent({ model: 'm', prompt: 'Go.', instructions: 'Be kind.', tools: { mail }, ...more });
  return graphOf(
    'g',
    [{ id: 'a', ...clerk }],
    [
      { from: '__start__', to: 'a' },
      { from: 'a', to: '__end__' },
    ],
  );
};
const mail = { tool: 'mail', input: { to: 'ann' } };

test('X5.4 an agent of code: instructions, model, settings, tools and their words', async () => {
  expect(await told(coded(), coded(), mail)).toEqual([]);
  expect(await told(coded(), coded({ instructions: 'Be brief.', model: 'n' }, 'Sends.'), mail)).toEqual([
    'agent a: instructions changed',
    'agent a: model changed',
    'agent a: tool mail changed',
  ]);
  const look = tool({ description: 'Looks.', input: { type: 'object' }, effect: 'read', run: () => 'seen' });
  expect(await told(coded(), coded({ tools: { look } }), mail)).toEqual([
    'asks a: the approval of mail is closed: the tool is gone',
    'agent a: tool mail removed',
    'agent a: tool look added',
    'again a: its code has changed',
  ]);
  const [first] = await told(coded(), coded({}, 'Mails.', ['cc']), mail);
  expect(first).toMatch(/^asks a: the approval of mail is closed: arguments/u);
});

test('X5.4 an agent of a YAML workflow: its texts, and the blocks and workflows that it has as tools', async () => {
  const own = createNodeTypes({});
  const nodeTypes = [...own, agentBlock(own)];
  const yaml = (inputs: object): Graph =>
    read(
      `name: w\nblocks:\n  - id: a\n    type: Agent\n    inputs: ${JSON.stringify({ model: 'm', prompt: 'Go.', ask_person: false, ...inputs })}\n`,
      { nodeTypes },
    ).graph;
  const call = { tool: 'CreateFile', input: { path: 'x', content: 'y' } };
  const before = yaml({ instructions: 'Be kind.', blocks: ['CreateFile'] });
  expect(await told(before, yaml({ instructions: 'Be brief.', mode: 'json', blocks: ['ReadFiles'] }), call)).toEqual([
    'asks a: the approval of CreateFile is closed: the tool is gone',
    'agent a: instructions changed',
    'agent a: mode (stays as it was) changed',
    'agent a: tool CreateFile removed',
    'agent a: tool ReadFiles added',
  ]);
});

test('X5.4 an agent of a stage: its prompt, its model and its groups of tools', async () => {
  const dot = (attributes: string): Graph =>
    readDot(`digraph d { start [shape=Mdiamond]; exit [shape=Msquare]; a [${attributes}]; start -> a -> exit }`, {
      nodeTypes: [shellBlock],
      source: 'd.dot',
      agent: stageAgent(),
    }).graph;
  const call = { tool: 'shell', input: { command: ['true'] } };
  expect(await told(dot('prompt="hi", tools="shell"'), dot('prompt="ho", llm_model=x, tools="read"'), call)).toEqual([
    'asks a: the approval of shell is closed: the tool is gone',
    'agent a: prompt (stays as it was) changed',
    'agent a: model changed',
    'agent a: tool shell removed',
    'agent a: tool read added',
  ]);
});
