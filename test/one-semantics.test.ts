/** P5: the same graph gives the same committed changes, whichever dialect it was written in and whichever store keeps it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { RunResult } from '../src/engine/api.ts';
import { readWorkflow } from '../src/dialects/yaml/index.ts';
import type { Graph } from '../src/graph/graph.ts';
import { AgentGraph, END, START, humanNode } from '../src/index.ts';
import { openSqliteStore } from '../src/stores/sqlite/index.ts';
import { changesOf, createBench, type Bench } from './engine-kit.ts';
import { ask, note } from './yaml-kit.ts';
import { modelText, randomBlocks } from './yaml-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-semantics-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let stores = 0;
const benches: Readonly<Record<string, (graph: Graph) => Bench>> = {
  memory: (graph) => createBench({ findGraph: () => graph }),
  sqlite: (graph) =>
    createBench({ findGraph: () => graph, store: openSqliteStore({ path: join(folder, `${(stores += 1)}.db`) }) }),
};

interface Told {
  readonly status: string;
  readonly outputs: unknown;
  readonly changes: readonly string[];
}

/** Runs a graph to its end, answering every question alike, and tells what was committed, in an order of its own. */
async function tell(store: string, graph: Graph, input: unknown): Promise<Told> {
  const bench = (benches[store] as (graph: Graph) => Bench)(graph);
  const { engine } = bench;
  let result: RunResult = await (await engine.start(graph, input)).result();
  const { runId } = result;
  for (let rounds = 0; result.waits.length > 0; rounds += 1) {
    if (rounds > 50) throw new Error(`it asks again and again: ${result.waits.map(({ prompt }) => prompt).join()}`);
    for (const { waitId } of result.waits) await engine.answer(runId, waitId, 'yes');
    result = await (await engine.resume(runId)).result();
  }
  // What ran side by side may be committed in one checkpoint or another.
  const changes = (await changesOf(engine, runId)).flatMap((line) => line.split(' + '));
  await bench.store.close();
  return {
    status: result.status,
    outputs: { ...result.state.outputs },
    changes: changes.filter((line) => line !== 'pause').toSorted((a, b) => a.localeCompare(b)),
  };
}

const yaml = `
name: refund
inputs: { amount: { type: int } }
blocks:
  - { id: check, type: Note, inputs: { value: "\${amount}" } }
  - { id: approve, type: Ask, depends_on: [check], condition: "\${check.value} > 10", inputs: { prompt: "Pay \${amount}?" } }
  - { id: pay, type: Note, depends_on: [approve], condition: "\${approve.answer} == 'yes'", inputs: { text: paid } }
`;

/** The same in TypeScript: a node per block, joins of all, conditions before the start. */
function typescriptGraph(): Graph {
  const seen = (value: unknown, text: unknown = null): object => ({ value, text, size: null });
  return new AgentGraph({}, { id: 'refund' })
    .addNode('check', ({ state }) => seen((state.input as { readonly amount: number }).amount), { join: 'all' })
    .addNode(
      'approve',
      humanNode(
        { prompt: 'Pay it?' },
        { join: 'all', when: ({ state }) => (state.outputs['check'] as { readonly value: number }).value > 10 },
      ),
    )
    .addNode('pay', () => seen(null, 'paid'), { join: 'all', when: ({ state }) => state.outputs['approve'] === 'yes' })
    .addEdge(START, 'check')
    .addEdge('check', 'approve')
    .addEdge('approve', 'pay')
    .addEdge('pay', END)
    .compile().graph;
}

describe.each(Object.keys(benches))('on %s', (store) => {
  test.each([5, 50])('P5 a YAML workflow and a TypeScript graph commit the same changes for %d', async (amount) => {
    const written = await tell(store, readWorkflow(yaml, { nodeTypes: [note, ask] }).graph, { amount });
    const built = await tell(store, typescriptGraph(), { amount });
    const ofBlocks = ({ changes }: Told): readonly string[] => changes.filter((line) => !line.includes('outputs'));
    expect(ofBlocks(written)).toContain(amount > 10 ? 'settle pay' : 'settle check');
    expect(ofBlocks(written)).toEqual(ofBlocks(built));
    expect(written.status).toBe(built.status);
    expect(written.outputs).toMatchObject({ check: { value: amount } });
  });
});

test('P5 random workflows commit the same changes on every store', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(randomBlocks, async (blocks) => {
      const { graph } = readWorkflow(modelText(blocks), { nodeTypes: [note, ask] });
      const [first, ...others] = await Promise.all(Object.keys(benches).map((store) => tell(store, graph, {})));
      expect(first?.changes).toContain('start');
      expect(others).toHaveLength(Object.keys(benches).length - 1);
      for (const other of others) expect(other).toEqual(first);
    }),
    { numRuns: 30 },
  );
});
