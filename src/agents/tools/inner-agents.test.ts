/** Agents that are tools of agents, as they are or in nodes and graphs: each act is asked about once. */
import { expect, test } from 'vitest';
import { agentKit } from '../../../test/agents/agent-kit.ts';
import { runToRest } from '../../../test/engine-kit.ts';
import type { Graph } from '../../graph/graph.ts';
import type { NodeDraft } from '../../graph/node-draft.ts';
import { AgentGraph, END, START } from '../../index.ts';
import { planned } from '../../plans/planned-node.ts';
import { agent } from '../agent.ts';
import { mcpTools } from '../mcp/mcp-tools.ts';
import { tool, type FunctionTool } from './tool-box.ts';

const acting = (more: object = {}): FunctionTool =>
  tool({ description: 'Acts.', input: { type: 'object' }, run: () => 'acted', ...more } as FunctionTool);
const inGraph = (node: NodeDraft): Graph =>
  new AgentGraph({}, { id: 'inner' }).addNode('helper', node).addEdge(START, 'helper').addEdge('helper', END).toGraph();

test.each<[string, () => NodeDraft | Graph, boolean]>([
  ['its allow', () => agent({ model: 'm', tools: { act: acting() }, allow: ['act'] }), true],
  ['a tool that never asks', () => agent({ model: 'm', tools: { act: acting({ approval: 'never' }) } }), true],
  ['a tool that asks at times', () => agent({ model: 'm', tools: { act: acting({ approval: () => false }) } }), true],
  [
    'a tool of the provider',
    () => agent({ model: 'm', tools: { search: { providerTool: 'p.search', name: 'search' } } }),
    true,
  ],
  [
    'a tool of a server',
    () => agent({ model: 'm', servers: [mcpTools({ server: 's', command: 'x', allow: ['a'] })] }),
    true,
  ],
  ['in a graph', () => inGraph(agent({ model: 'm', tools: { act: acting({ approval: 'never' }) } })), true],
  [
    'in an agent of an agent',
    () =>
      agent({
        model: 'm',
        tools: { inner: agent({ model: 'm', tools: { act: acting() }, allow: ['act'] }) },
        allow: ['inner'],
      }),
    true,
  ],
  [
    'a plan',
    () =>
      planned({
        agents: { a: agent({ model: 'm', tools: { act: acting() }, allow: ['act'] }) },
        goal: 'Do it.',
        autonomy: 'full',
      }) as NodeDraft,
    true,
  ],
  ['one that asks', () => agent({ model: 'm', tools: { act: acting() } }), false],
  [
    'one that is asked about there',
    () => agent({ model: 'm', tools: { inner: agent({ model: 'm', tools: { act: acting() }, allow: ['act'] }) } }),
    false,
  ],
  ['one that only reads', () => agent({ model: 'm', tools: { act: acting({ effect: 'read' }) } }), false],
])('A6 an agent within is asked about if it acts without asking: %s', async (_, make, isAsked) => {
  const node = make();
  const helper = tool({ description: 'Helps.', input: { type: 'object' }, node });
  const { bench, graph } = agentKit([{ calls: [{ tool: 'helper', input: { prompt: 'Go.' } }] }, 'Done.', 'Done.'], {
    tools: { helper },
  });
  const { waits } = await runToRest(bench.engine, graph, {}, 'r');
  expect(waits.map(({ prompt }) => prompt?.split('\n')[0])).toEqual(isAsked ? ['May the agent call helper?'] : []);
});
