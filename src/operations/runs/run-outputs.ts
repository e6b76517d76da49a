/** The outputs of a run, if its definition declares any. */
import { outputsNode } from '../../engine/watch/progress.ts';
import { metaOf } from '../../engine/runs/find-graph.ts';
import type { RunRow } from '../../ports/store.ts';

/** Whether the run was started from a text, which is recorded with it. */
export function isFromText(run: RunRow): boolean {
  return metaOf(run).text !== undefined;
}

/** The declared outputs of a run that was started from a text; undefined if they are not computed yet or none are declared. */
export function outputsOf(run: RunRow, state: { readonly outputs: Readonly<Record<string, unknown>> }): unknown {
  return isFromText(run) ? state.outputs[outputsNode] : undefined;
}
