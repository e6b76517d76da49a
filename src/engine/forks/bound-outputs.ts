/** What a fork may not say in place of people (W8): answers that its maker could not give, and outcomes of nodes that ask for such answers. */
import { readHistory } from '../../history/load/load.ts';
import type { Graph, GraphNode } from '../../graph/graph.ts';
import type { RunRow } from '../../ports/store.ts';
import type { WaitRecord } from '../../state/tree.ts';
import type { Acting, ForkOptions } from '../api.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { waitsSetBy } from '../commands/answered.ts';
import { isBound, refuseOthers, reservedFor } from '../validate/whose-answer.ts';
import { isOfOutput } from './fork-point.ts';

type BoundWait = Pick<WaitRecord, 'node' | 'for' | 'fourEyes'>;

/** Who makes a fork counts as one who started it, so that no answer given with it has other eyes. @throws ANSWER_RESERVED */
export function refuseInFork(runId: string, wait: BoundWait, who: Acting): void {
  refuseOthers(runId, wait, who);
  if (wait.fourEyes !== undefined)
    throw reservedFor(
      runId,
      wait,
      'it needs other eyes than those of who makes the fork: fork without it, then let somebody answer it there',
    );
}

/**
 * Refuses to set the outcome of a node whose questions are not for who makes the fork to answer: those that it asked anywhere in the run's
 * history, and those of which its definition says whose they are. @throws ANSWER_RESERVED
 */
export async function refuseBoundOutputs(
  { store }: Pick<EngineEnvironment, 'store'>,
  run: RunRow,
  options: ForkOptions,
  graph: Graph | undefined,
): Promise<void> {
  const ids = new Set((options.set ?? []).filter(isOfOutput).map(({ path }) => path[1]));
  for (const node of graph?.nodes ?? [])
    if (ids.has(node.id)) for (const wait of declaredIn(node, [])) refuseInFork(run.runId, wait, options);
  for await (const { checkpoint } of readHistory(store, run, { from: 0, to: run.head }))
    for (const [, wait] of waitsSetBy(checkpoint.ops))
      if (ids.has(wait.node[0]) && isBound(wait)) refuseInFork(run.runId, wait, options);
}

/** The questions of which a node's definition says whose they are, and those of the graph in it. */
function declaredIn({ id, config, subgraph }: GraphNode, outer: readonly string[]): readonly BoundWait[] {
  const node = [...outer, id];
  const own = { node, ...declaredBy(config) };
  return [...(isBound(own) ? [own] : []), ...(subgraph?.nodes ?? []).flatMap((one) => declaredIn(one, node))];
}

type Data = Readonly<Record<string, unknown>> | undefined;

/** What the configuration of a node says in code, in the inputs of a block, or in the attributes of a stage. */
function declaredBy(config: unknown): Pick<BoundWait, 'for' | 'fourEyes'> {
  const { for: own, fourEyes: ownEyes, inputs, attributes } = (config ?? {}) as Record<string, unknown>;
  const written = { ...(inputs as Data), ...(attributes as Data) };
  const { assignees = own, four_eyes: fourEyes = ownEyes } = written;
  const listed = typeof assignees === 'string' ? assignees.split(',').map((one) => one.trim()) : assignees;
  return {
    ...(Array.isArray(listed) && { for: listed as readonly string[] }),
    ...(typeof fourEyes === 'string' && { fourEyes }),
  };
}
