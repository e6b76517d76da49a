/** What tests of nodes that follow a cancel or a failure of the run share (E7.4, E7.5). */
import type { Engine } from '../src/engine/api.ts';
import type { Graph } from '../src/graph/graph.ts';
import { dyingEngine, settleDown } from './dying-engine.ts';
import { createBench, edges, graphOf, node, type Bench } from './engine-kit.ts';

/** A bench whose engines find a graph by themselves. */
export const benchOf = (graph: Graph): Bench => createBench({ findGraph: () => graph });

/** Lets a process live until the commit after a number of commits. @returns what it came to; undefined if it died before */
export async function liveUntil<Result>(
  bench: Bench,
  commits: number,
  live: (engine: Engine) => Promise<Result>,
): Promise<Result | 'refused' | undefined> {
  const died = Promise.withResolvers<undefined>();
  const engine = dyingEngine(bench, commits, () => died.resolve(undefined));
  const end = await Promise.race([live(engine).catch(() => 'refused' as const), died.promise]);
  await settleDown();
  return end;
}

/** The rules by which a graph of a node `a` and one that follows its end is refused; undefined if it is not. */
export function refusedBy(policies: Readonly<Record<string, unknown>>, ...links: readonly string[]): unknown {
  const nodes = [node('a', 'pure', () => 1), node('after', 'pure', () => 1)];
  try {
    graphOf('g', nodes, edges('> a', 'a >', ...links), { policies });
    return undefined;
  } catch (error) {
    return (error as { data: { violations: readonly { rule: string }[] } }).data.violations.map(({ rule }) => rule);
  }
}
