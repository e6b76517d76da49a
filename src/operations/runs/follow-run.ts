/** Follows a run until it cannot be advanced further for now. */
import type { RunHandle } from '../../engine/api.ts';
import type { RunStanding, WorkContext } from '../contract/operation.ts';
import { outputsOf } from './run-outputs.ts';

/**
 * Follows a run until it ends or pauses. Reports its events to the context's `watch`, then the result to `rested`.
 *
 * @param after - report only events after this checkpoint; default: all
 */
export async function followRun(context: WorkContext, handle: RunHandle, after?: number): Promise<RunStanding> {
  const result = await (context.stayMs === undefined
    ? watchToItsEnd(context, handle, after)
    : resultWithin(context, handle, context.stayMs));
  const run = await context.store.readRun({ tenant: context.tenant, runId: result.runId });
  const outputs = run === undefined ? undefined : await outputsOf(context, run, result);
  const standing = outputs === undefined ? result : { ...result, outputs };
  context.rested?.(standing);
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

/** Where the run ended or waits, or where it stands when the time is over; it is moved on in the background then. */
async function resultWithin({ engine }: WorkContext, handle: RunHandle, ms: number): Promise<RunStanding> {
  const result = handle.result();
  // Who does not wait for it reads in the run's history how it went.
  result.catch(() => undefined);
  let cancel = (): void => undefined;
  const isOver = new Promise<undefined>((resolve) => {
    cancel = engine.ports.clock.setTimer(ms, () => resolve(undefined));
  });
  const rested = await Promise.race([result, isOver]);
  cancel();
  return rested ?? engine.inspect(handle.runId);
}
