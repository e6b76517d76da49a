/** The outputs of a run, if its definition declares any. */
import { isDeepStrictEqual } from 'node:util';
import { returnsId } from '../../dialects/code/returns-node.ts';
import { outputsNode } from '../../engine/watch/progress.ts';
import { metaOf } from '../../engine/commands/find-graph.ts';
import type { RunRow } from '../../ports/store.ts';
import type { RunStanding, WorkContext } from '../contract/operation.ts';

/** Whether the run was started from a text, which is recorded with it. */
export function isFromText(run: RunRow): boolean {
  return metaOf(run).text !== undefined;
}

/**
 * What a run gives: the declared outputs of one that was started from a text, what `returns` of a `workflow()` made. Undefined if they are
 * not computed yet or none are declared.
 */
export async function outputsOf(
  place: Pick<WorkContext, 'store' | 'blobs'>,
  run: RunRow,
  { seq, state: { outputs } }: Pick<RunStanding, 'seq' | 'state'>,
): Promise<unknown> {
  if (isFromText(run)) return outputs[outputsNode];
  if (!(returnsId in outputs)) return undefined;
  // A node of a graph may have that name too.
  const { nodeIn, readStructure } = await import('../../history/explain/structures.ts');
  const structure = await readStructure(place, { run, seq });
  return nodeIn(structure, returnsId)?.['type'] === returnsId ? outputs[returnsId] : undefined;
}

/** Where in a state the outputs of its run stand; undefined if they are not found there. Both as JSON. */
export function outputsPathOf(
  state: Readonly<Record<string, unknown>>,
  outputs: unknown,
): readonly string[] | undefined {
  const byNode = state['outputs'] as Readonly<Record<string, unknown>>;
  const id = [outputsNode, returnsId].find((node) => isDeepStrictEqual(byNode[node], outputs));
  return id === undefined ? undefined : ['outputs', id];
}
