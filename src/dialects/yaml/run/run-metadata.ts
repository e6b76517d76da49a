/** What texts read as `metadata`. */
import type { Scope } from '../expression/template.ts';

/** Of a workflow, where no run is known: in conditions. */
export function workflowMetadata(workflow: string): Scope['metadata'] {
  return Object.freeze({ workflow_name: workflow });
}

/** Of a run. The time it started is part of an id that the engine made; under another id it is null. */
export function runMetadata(workflow: string, runId: string): Scope['metadata'] {
  return {
    workflow_name: workflow,
    run_id: runId,
    get started_at(): string | null {
      return startOf(runId);
    },
  };
}

function startOf(runId: string): string | null {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i.exec(runId) ?? [];
  return high === undefined || low === undefined ? null : new Date(Number.parseInt(high + low, 16)).toISOString();
}
