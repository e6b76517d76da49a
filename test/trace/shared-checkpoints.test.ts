/** Several visits of one node may share a checkpoint: what is told of them is the same as if each had one of its own. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { writeRunFolder } from '../../src/app/run-folder/run-folder.ts';
import { functionCondition } from '../../src/graph/condition.ts';
import { outcome, type NodeContext } from '../../src/graph/contracts/node-contract.ts';
import { compileExpression } from '../../src/graph/expression/expression.ts';
import { END, START, type EdgeDefinition, type Graph, type NodeDefinition } from '../../src/graph/graph.ts';
import type { StatePlace } from '../../src/history/access/place.ts';
import type { ResolvedReference } from '../../src/history/read/references.ts';
import { blameValue } from '../../src/history/explain/blame.ts';
import { postMortem } from '../../src/history/explain/post-mortem.ts';
import type { StoryEntry } from '../../src/history/explain/story.ts';
import { createBench, graphOf, node, rowOf, runToRest, type Bench } from '../engine-kit.ts';

type Policy = 'none' | 'every_node';

/** How a node of a chain behaves: what its visits do, how often they lead back, and whereto. */
interface Link {
  readonly work: 'write' | 'steps' | 'skip' | 'child' | 'fails';
  readonly key: string;
  readonly rounds: number;
  readonly back: number;
}
const anyLinks = fc.array(
  fc.record<Link>({
    work: fc.constantFrom('write', 'write', 'steps', 'skip', 'child', 'fails'),
    key: fc.constantFrom('a', 'b'),
    rounds: fc.integer({ min: 0, max: 3 }),
    back: fc.nat(3),
  }),
  { minLength: 1, maxLength: 4 },
);

const written = (key: string, visit: number): Record<string, unknown> => ({
  [key]: visit,
  ...(visit === 1 && { [`${key}First`]: { of: 'visit 1' } }),
});

function nodeOf({ work, key }: Link, index: number, policy: Policy): NodeDefinition {
  const id = `n${index}`;
  if (work === 'child') {
    const child = loopOf([{ work: 'write', key, rounds: 1, back: 0 }], policy);
    return node(id, 'read', async (ctx) => (await ctx.run(child, 'in')).state.outputs['n0'], { subgraph: child });
  }
  const run = async (ctx: NodeContext): Promise<unknown> => {
    if (work === 'fails') throw new Error(`visit ${ctx.visit}`);
    if (work === 'steps') await ctx.step('look', {}, () => ctx.visit);
    return outcome({ output: `${id} ${ctx.visit}`, scratch: written(key, ctx.visit) });
  };
  const when =
    work === 'skip' ? { when: functionCondition(({ state }) => state.scratch['a'] !== 2, { text: 'two' }) } : {};
  return node(id, 'pure', run, { maxVisits: 1_000, ...when });
}

/** A chain whose nodes lead back so many times in all. */
function loopOf(links: readonly Link[], policy: Policy): Graph {
  const counts = links.map(() => 0);
  const edges = links.flatMap(({ rounds, back }, index): EdgeDefinition[] => {
    const from = `n${index}`;
    const isBack = (): boolean => (counts[index] as number) < rounds;
    const goesBack = functionCondition(() => isBack() && (counts[index] = (counts[index] as number) + 1) > 0, {
      text: 'back',
    });
    return [
      { from, to: `n${Math.max(0, index - back)}`, condition: goesBack, on: 'any' },
      { from, to: index + 1 < links.length ? `n${index + 1}` : END, on: 'any', condition: compileExpression('true') },
    ];
  });
  return graphOf(
    'loop',
    links.map((link, index) => nodeOf(link, index, policy)),
    [{ from: START, to: 'n0' }, ...edges],
    { policies: { checkpoint: policy, routing: 'first' } },
  );
}

interface Told {
  readonly place: StatePlace;
  readonly found: ResolvedReference;
}

async function placeOf(bench: Bench, runId: string): Promise<Told> {
  const run = await rowOf(bench, runId);
  const { store, blobs } = bench.options;
  return {
    place: { tenant: run.tenant, store, blobs, isWorkerDead: () => undefined, now: () => 0 },
    found: { run, seq: run.head },
  };
}

const withoutPlace = ({ seq: _seq, at: _at, runId: _runId, ...entry }: StoryEntry): unknown => {
  if (entry.kind !== 'visit') return entry;
  const { durationMs: _durationMs, steps, ...visit } = entry;
  return { ...visit, steps: steps.map(({ step, status }) => ({ step, status })) };
};

async function tell(
  links: readonly Link[],
  policy: Policy,
): Promise<{ readonly story: unknown; readonly blame: unknown; readonly shared: number }> {
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, loopOf(links, policy));
  const { place, found } = await placeOf(bench, runId);
  const { entries, ...more } = await postMortem(place, found);
  const hasScratch = links.some(({ work }) => work === 'write' || work === 'steps');
  const blame = hasScratch ? (await blameValue(place, found, ['scratch'])).parts : [];
  const visits = entries.filter(({ kind }) => kind === 'visit');
  return {
    story: [more.status, entries.map(withoutPlace)],
    blame: blame.map(({ path, value, node: by, visit, kind }) => ({ path, value, by, visit, kind })),
    shared: visits.length - new Set(visits.map(({ seq }) => seq)).size,
  };
}

test('N13 N10 visits that share a checkpoint are told as those that have one each, and so is who wrote what', async () => {
  let shared = 0;
  await fc.assert(
    fc.asyncProperty(anyLinks, async (links) => {
      const apart = await tell(links, 'every_node');
      const together = await tell(links, 'none');
      expect(together.story).toEqual(apart.story);
      expect(together.blame).toEqual(apart.blame);
      shared += together.shared;
    }),
    { numRuns: 60 },
  );
  expect(shared).toBeGreaterThan(100);
});

test('N13 DOT32 in the folder of a run each visit has its own, also where names of nodes are one as names of files', async () => {
  const write = (id: string): NodeDefinition =>
    node(id, 'pure', (ctx) => outcome({ scratch: written('a', ctx.visit) }));
  const isFirst = functionCondition(({ state }) => state.scratch['a'] === 1, { text: 'isFirst' });
  const again = functionCondition(({ state }) => state.scratch['a'] !== 1, { text: 'again' });
  const graph = graphOf(
    'names',
    [write('a b'), write('a_b')],
    [
      { from: START, to: 'a b' },
      { from: 'a b', to: 'a b', condition: isFirst },
      { from: 'a b', to: 'a_b', condition: again },
      { from: 'a_b', to: END },
    ],
    { policies: { checkpoint: 'none' } },
  );
  const bench = createBench();
  const { runId } = await runToRest(bench.engine, graph);
  const { place, found } = await placeOf(bench, runId);
  const top = mkdtempSync(join(tmpdir(), 'cairn-shared-'));
  try {
    const { visits } = await writeRunFolder(place, found, join(top, 'out'));
    expect(readdirSync(join(top, 'out/stages')).sort()).toEqual(['000001-a_b@1', '000001-a_b@1-2', '000001-a_b@2']);
    expect(visits).toBe(3);
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
});
