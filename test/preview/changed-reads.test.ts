/** Whatever runs in a fork, or is taken over into it, has seen what the fork sets, wherever it was forked (H2.4), and its preview said so. */
import { expect, test } from 'vitest';
import type { Graph, GraphNode } from '../../src/graph/graph.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import type { CrashCase } from '../../src/testing/crash-kit/process-life.ts';
import { mixNumber } from '../random-graph/mix-number.ts';
import { planRandomGraph, type RandomGraphPlan } from '../random-graph/plan-random-graph.ts';
import { randomGraphCase } from '../random-graph/random-graph.ts';
import { planProperty } from '../random-graph/smaller-plan.ts';
import { scale } from '../support/scale.ts';
import { tellFaults } from '../support/smallest.ts';
import { openForkTrial, type ForkTrial } from './fork-trial.ts';

/** Repeat one graph with CAIRN_SEED=N CAIRN_GRAPHS=1. */
const firstSeed = Number(process.env['CAIRN_SEED'] ?? 1);
const graphs = Number(process.env['CAIRN_GRAPHS'] ?? scale(20, 300));

/** What a node saw of the channel `scratch.marker`, which nothing but forks sets. */
interface Sight {
  readonly node: string;
  readonly marker: unknown;
}

function looksLate({ id }: GraphNode): boolean {
  return mixNumber('late', id) % 2 === 0;
}

/** The case whose nodes look at `scratch.marker`: some before anything else, some when they are done. */
function watchedCase(plan: RandomGraphPlan, seen: Sight[]): CrashCase {
  const plain = randomGraphCase(plan);
  const watched = (node: GraphNode): GraphNode => {
    // What declares its reads does not look.
    if (node.reads !== undefined || node.index < 2) return node;
    const look = (ctx: NodeContext): unknown => seen.push({ node: node.id, marker: ctx.state.scratch['marker'] });
    const { run } = node.implementation;
    const late = async (ctx: NodeContext): Promise<unknown> => {
      const returned = await run(ctx);
      look(ctx);
      return returned;
    };
    const early = (ctx: NodeContext): unknown => {
      look(ctx);
      return run(ctx);
    };
    return { ...node, implementation: { ...node.implementation, run: looksLate(node) ? late : early } };
  };
  return {
    ...plain,
    graph: (process) => {
      const graph = plain.graph(process) as Graph;
      return { ...graph, nodes: graph.nodes.map(watched) };
    },
  };
}

/** Forks the run from anywhere with one marker, and that fork with another; tells which nodes did not see the newest. */
async function findBlind(trial: ForkTrial, random: SeededRandom, seen: Sight[]): Promise<readonly string[]> {
  const { engine, graph, drive } = trial;
  const faults: string[] = [];
  // Of nodes that look when they are done, one that fails before has not seen the marker: they are left out.
  const hasLooked = (id: string): boolean =>
    graph.nodes.some((node) => node.id === id && node.reads === undefined && !looksLate(node));
  let { runId, seq } = { runId: 'original', seq: (await drive('original', 2)).seq };
  for (const marker of [1, 2]) {
    const from = { runId, seq: random.integer(seq + 1) };
    const options = { set: [{ path: ['scratch', 'marker'], value: marker }] };
    const rows = await engine.preview(from, { ...options, graph });
    seen.length = 0;
    const fork = await engine.fork(from, options);
    const result = await drive(fork.runId);
    const forkedAt = `${from.runId}@${from.seq}`;
    for (const sight of seen)
      if (sight.marker !== marker) faults.push(`${forkedAt}: ${sight.node} saw ${String(sight.marker)}, not ${marker}`);
    const ran = new Set(seen.map(({ node }) => node));
    for (const { node, prediction, because = '' } of rows)
      if (because.startsWith('begins anew') && result.status === 'completed' && !ran.has(node[0] ?? ''))
        faults.push(`${forkedAt}: the preview says of ${node.join('/')}: ${prediction} (${because}); it did not run`);
    for (const part of await trial.read(() => replayed(trial, fork.runId, fork.seq)))
      if (hasLooked(part)) faults.push(`${forkedAt}: ${part} was taken over, and had seen another marker`);
    ({ runId, seq } = result);
  }
  return faults;
}

/** The nodes of the run's own graph whose outcome it took over. */
async function replayed({ engine }: ForkTrial, runId: string, first: number): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const event of engine.events(runId))
    if (event.type === 'checkpoint' && event.seq >= first)
      for (const { kind, node, status } of event.change)
        if (kind === 'replay' && node?.length === 1 && status !== 'failed') found.push(node[0] ?? '');
  return found;
}

test('H2.4 what runs in a fork sees what it sets, wherever it was forked', { timeout: 120_000 }, async () => {
  const faultsOf = async (plan: RandomGraphPlan, seed: number): Promise<readonly string[]> => {
    const seen: Sight[] = [];
    const trial = openForkTrial(watchedCase(plan, seen), seed);
    return trial.clock.run(findBlind(trial, createSeededRandom(seed * 7 + 1), seen));
  };
  const make = (seed: number): RandomGraphPlan => planRandomGraph(seed, { nodesMost: 7, recovers: true });
  const seeds = Array.from({ length: graphs }, (_, index) => firstSeed + index);
  const found = await tellFaults(seeds, { ...planProperty, make, faultsOf });
  console.log(`forked ${graphs} graphs from seed ${firstSeed} with a marker, and their forks`);
  expect(found.slice(0, 20)).toEqual([]);
});
