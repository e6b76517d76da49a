/** Nodes that name their tool. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { open } from '../../../test/support/small-graphs.ts';
import { thrown } from '../../../test/support/thrown.ts';
import type { Graph } from '../../graph/graph.ts';
import { END, START, toolNode, workflow } from '../../index.ts';

const search = {
  execute: ({ query }: { readonly query: string }) => `found ${query}`,
  effectClass: 'read',
  schema: z.object({ query: z.string() }),
} as const;

const nodeOf = ({ nodes }: Graph, id: string) => nodes.find((node) => node.id === id);

test('G7 a node that names its tool is that tool, once the graph is given it: of its class, held to its schema', async () => {
  const graph = open()
    .addNode('find', toolNode('web_search', { args: { query: 'cairns' } }))
    .addNode('pay', toolNode('web_search', { args: { query: 'again' } }, { effectClass: 'external' }))
    .addNode('wrong', toolNode('web_search', { args: { query: 5 } }), { onFailure: 'continue' })
    .addEdge(START, 'find')
    .addEdge('find', 'pay')
    .addEdge('pay', 'wrong')
    .addEdge('wrong', END);
  const compiled = graph.compile({ tools: { web_search: search } });
  expect(['find', 'pay', 'wrong'].map((id) => nodeOf(compiled.graph, id)?.effect)).toEqual([
    'read',
    'external',
    'read',
  ]);
  const { status, state } = await compiled.invoke({});
  expect([status, state.outputs]).toEqual(['completed', { find: 'found cairns', pay: 'found again' }]);
  const same = graph.toGraph({ tools: { web_search: { execute: () => 1, effectClass: 'read' } } });
  expect(same.hash).toBe(compiled.graph.hash);
});

test('G7 a tool that is not given is a fault of the graph, with its place and the names that are', () => {
  const steps = workflow('w')
    .input(z.object({}))
    .then('find', toolNode('web_search'))
    .returns(() => 1);
  const graph = open().addNode('find', toolNode('web_search')).addEdge(START, 'find').addEdge('find', END);
  for (const builder of [steps, graph] as const) {
    const violation = {
      rule: 'G7',
      place: expect.stringContaining('tools-by-name.test.ts'),
      message: 'node find calls the tool web_search, which the graph is not given',
      fix: 'compile({ tools: { web_search: { execute } } }); given are mail, toString',
    };
    const tools = { mail: search, toString: search };
    expect(thrown(() => builder.compile({ tools })).data['violations']).toEqual([expect.objectContaining(violation)]);
    expect(thrown(() => builder.compile()).message).toContain('web_search');
  }
  expect(thrown(() => graph.compile({ tools: { web_search: 5 as never } })).code).toBe('CONFIG_INVALID');
});
