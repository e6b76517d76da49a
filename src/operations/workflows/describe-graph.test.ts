/** The plan of a graph that a module exports. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AgentGraph, END, humanNode, START, subgraphNode } from '../../index.ts';
import { describeGraph } from './describe-graph.ts';

test('G7 a graph is described as workflows are: inputs of its schema, waves, conditions, attempts, who is asked in it', () => {
  const inner = new AgentGraph({}, { id: 'inner' })
    .addNode('ask', humanNode({ prompt: '?' }))
    .addEdge(START, 'ask')
    .addEdge('ask', END);
  const input = z.object({ topic: z.string().describe('What about.'), n: z.number().default(2) });
  const graph = new AgentGraph({ input }, { id: 'outer' })
    .addNode('write', () => 1, { effectClass: 'write', retry: { attempts: 3 } })
    .addNode('check', subgraphNode(inner.toGraph()))
    .addEdge(START, 'write')
    .addEdge('write', 'check', { when: ({ outcome }) => outcome.output === 1 })
    .addEdge('check', END)
    .toGraph();
  expect(describeGraph(graph, 'outer.ts')).toMatchObject({
    name: 'outer',
    source: 'outer.ts',
    inputs: [
      { name: 'topic', type: 'str', isRequired: true, description: 'What about.' },
      { name: 'n', type: 'num', isRequired: false, default: 2 },
    ],
    blocks: [
      { id: 'write', effect: 'write', attempts: 3, asks: false, dependsOn: [], wave: 0 },
      {
        id: 'check',
        asks: true,
        workflow: 'inner',
        condition: 'write: decided by its code',
        wave: 1,
      },
    ],
    waves: [['write'], ['check']],
  });
  expect(describeGraph(inner.toGraph(), 'inner.ts').inputs).toEqual([]);
});
