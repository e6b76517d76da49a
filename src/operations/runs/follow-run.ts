/** Follows a run until it cannot be advanced further for now. */
import type { RunHandle } from '../../engine/api.ts';
import type { RunStanding, WorkContext } from '../declare/operation.ts';
import { outputsOf } from './run-outputs.ts';

/**
 * Follows a run until it ends or pauses. Reports its events to the context's `watch`, then the result to `rested`.
 *
 * @param after - report only events after this checkpoint; default: all
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
  // A failure of the event stream is ignored: whether the run could be advanced shows in its result.
  const [result] = await Promise.all([handle.result(), watching.catch(() => undefined)]);
  return result;
}
