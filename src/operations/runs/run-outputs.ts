/** What came of a run, where its definition says what that is. */
import { outputsNode } from '../../engine/runs/progress-of.ts';
import { metaOf } from '../../engine/runs/find-graph.ts';
import type { RunRow } from '../../ports/store.ts';

/** Whether the run was started from a text, which is kept with it. */
export function isFromText(run: RunRow): boolean {
  return metaOf(run).text !== undefined;
}

/** The declared outputs of a run that was started from a text; undefined: not computed yet, or its graph declares none. */
export function outputsOf(run: RunRow, state: { readonly outputs: Readonly<Record<string, unknown>> }): unknown {
  return isFromText(run) ? state.outputs[outputsNode] : undefined;
}
