/** What texts read as `metadata`. */
import { runFolder } from './run-folder.ts';
import type { Scope } from '../expression/template.ts';

/** Of a workflow, where no run is known: in conditions. */
export function workflowMetadata(workflow: string): Scope['metadata'] {
  return Object.freeze({ workflow_name: workflow });
}

/**
 * Of a run. The time it started is part of an id that the engine made; under another id it is null. The folder is made when it is read.
 * @param path - of the node that reads it, which says which workflow of the run it stands in
 */
export function runMetadata(workflow: string, runId: string, path: readonly string[]): Scope['metadata'] {
  return {
    workflow_name: workflow,
    run_id: runId,
    get tmp(): string {
      return runFolder([runId, ...path.slice(0, -1)]);
    },
    get started_at(): string | null {
      return startOf(runId);
    },
  };
}

function startOf(runId: string): string | null {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i.exec(runId) ?? [];
  return high === undefined || low === undefined ? null : new Date(Number.parseInt(high + low, 16)).toISOString();
}
