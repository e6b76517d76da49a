/** Stays with a run until nothing more can be done for it. */
import type { RunHandle } from '../../engine/api.ts';
import type { RunStanding, WorkContext } from '../declare/operation.ts';
import { outputsOf } from './run-outputs.ts';

/**
 * Follows a run to where nothing more can be done for it, telling the context's watcher, and then those who look after runs at rest.
 *
 * @param after - only of what follows this checkpoint; default: of everything
 */
export async function followRun(context: WorkContext, handle: RunHandle, after?: number): Promise<RunStanding> {
  const result = await watchToItsEnd(context, handle, after);
  const run = await context.store.readRun({ tenant: context.tenant, runId: result.runId });
  const outputs = run === undefined ? undefined : outputsOf(run, result.state);
  const standing = outputs === undefined ? result : { ...result, outputs };
  await context.rested?.(standing);
  return standing;
}

async function watchToItsEnd({ watch }: WorkContext, handle: RunHandle, after?: number): Promise<RunStanding> {
  if (watch === undefined) return handle.result();
  const watching = (async () => {
    for await (const event of handle.events({ live: true, ...(after !== undefined && { after }) })) watch(event);
  })();
  // Whether the run could be advanced is told by its result; events only show it.
  const [result] = await Promise.all([handle.result(), watching.catch(() => undefined)]);
  return result;
}
