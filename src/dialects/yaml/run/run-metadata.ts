/** The values that texts read as `metadata`. */
import { runFolder } from './run-folder.ts';
import type { Scope } from '../expression/template.ts';

/** The metadata of a workflow where no run is known, as in conditions. */
export function workflowMetadata(workflow: string): Scope['metadata'] {
  return Object.freeze({ workflow_name: workflow });
}

/**
 * The metadata of a run. The start time is read from the run id if the engine made it, and is null otherwise. Reading the folder makes it.
 * @param path - path of the node that reads the metadata. It tells which workflow of the run the node belongs to.
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
