/** Every node type of this folder holds to the node suite. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { compileGraph } from '../graph/compile/compile-graph.ts';
import { END, START } from '../graph/graph.ts';
import { nodeSuite, type NodeSuiteOptions } from '../testing/node-suite/node-suite.ts';
import {
  fileNode,
  functionNode,
  guardrailNode,
  httpNode,
  humanNode,
  mapNode,
  routerNode,
  shellNode,
  subgraphNode,
  toolNode,
  transactionStep,
} from './builders.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-suite-'));
const server = createServer((request, response) => {
  if (request.url !== '/endless') response.end('fine');
});
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const child = compileGraph({
  id: 'child',
  nodes: [{ ...functionNode(() => 1), id: 'only' }],
  edges: [
    { from: START, to: 'only' },
    { from: 'only', to: END },
  ],
});
const wait = (_args: unknown, { signal }: { readonly signal: AbortSignal }): Promise<void> =>
  setTimeout(600_000, undefined, { signal });

/** A database that takes every key. */
const database = {
  connect: () =>
    Promise.resolve({ query: (_text: string) => Promise.resolve({ rows: [{}] }), release: () => undefined }),
};

const suites: readonly Omit<NodeSuiteOptions, 'test'>[] = [
  {
    name: 'function',
    draft: () => functionNode(() => ({ a: 1 })),
    endless: () => functionNode(({ signal }) => wait(undefined, { signal })),
  },
  {
    name: 'tool',
    draft: () =>
      toolNode(
        { name: 't', execute: (args) => args },
        { args: { a: ({ state }: { state: { input: unknown } }) => state.input } },
      ),
    endless: () => toolNode({ name: 't', execute: wait }),
  },
  {
    name: 'human',
    draft: () => humanNode({ prompt: ({ state }) => String(state.input) }),
    context: () => ({ answers: { question: ['yes'] } }),
  },
  {
    name: 'transaction',
    draft: () => transactionStep(database, async (tx) => (await tx.query('select 1')).rows.length),
    endless: () => transactionStep(database, async () => new Promise(() => undefined)),
  },
  { name: 'router', draft: () => routerNode(() => 'end', { targets: ['end'] }) },
  { name: 'guardrail', draft: () => guardrailNode({ check: () => false, onViolation: 'warn' }) },
  { name: 'subgraph', draft: () => subgraphNode(child) },
  { name: 'map', draft: () => mapNode({ over: () => [1, 2], each: ({ item }) => item, effectClass: 'external' }) },
  { name: 'map of graphs', draft: () => mapNode({ over: () => [1, 2], each: child }) },
  {
    name: 'shell',
    draft: () => shellNode({ command: ['echo', ({ state }) => String(state.input)], env: { A: () => 1 } }),
    endless: () => shellNode({ command: ['sleep', '600'] }),
  },
  {
    name: 'http',
    draft: () => httpNode({ url, query: { q: () => 'x' } }),
    endless: () => httpNode({ url: `${url}/endless` }),
  },
  {
    name: 'file (read)',
    draft: () => fileNode({ action: 'read', root: folder, path: () => 'in' }),
    context: () => writeFileSync(join(folder, 'in'), 'x') ?? {},
  },
  { name: 'file (write)', draft: () => fileNode({ action: 'write', root: folder, path: 'out', content: () => 'x' }) },
];

for (const suite of suites) nodeSuite({ test, ...suite });

/** A suite that nothing can fail proves nothing: each of its tests must refuse a node made to break it. */
test.for<[string, Omit<NodeSuiteOptions, 'test'>]>([
  ['G1', { name: 'x', draft: () => ({ ...functionNode(() => 1), config: { at: Math.random() } }) }],
  ['G1', { name: 'x', draft: () => ({ ...functionNode(() => 1), config: { code: () => 1 } }) }],
  ['C2', { name: 'x', draft: () => functionNode(() => () => 1) }],
  ['C2', { name: 'x', draft: () => functionNode(({ state }) => Object.assign(state.scratch, { a: 1 })) }],
  [
    'X4',
    {
      name: 'x',
      draft: () => functionNode(({ ask }) => ask({ prompt: 'p' }), { effectClass: 'write' }),
      context: () => ({ answers: { question: [1] } }),
    },
  ],
  ['E6', { name: 'x', draft: () => functionNode(() => 1), endless: () => functionNode(() => 1) }],
])('the suite refuses what breaks %s', async ([rule, options]) => {
  const failed: string[] = [];
  const runs: Promise<void>[] = [];
  nodeSuite({
    ...options,
    test: (title, run) => {
      runs.push(run().catch(() => void failed.push(title.split(' ')[0] ?? '')));
    },
  });
  await Promise.all(runs);
  expect(failed).toContain(rule);
});
