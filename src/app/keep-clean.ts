/** When runs are cleaned up: after one has come to rest, and now and then in a process that lives long. */
import type { CheckpointSettings } from '../dialects/text-workflow.ts';
import { cleanUp, defaultSettings, type CleanUpContext } from '../operations/store/clean-up.ts';

/** Told of what went wrong while cleaning up: the runs themselves are not touched by it. */
export type Report = (error: unknown) => void;

/** What a workflow says comes before what the configuration says; undefined: neither says anything, so nothing goes. */
export function mergeSettings(
  ofConfig: CheckpointSettings | undefined,
  ofWorkflow: CheckpointSettings | undefined,
): CheckpointSettings | undefined {
  const isSaid = ofConfig !== undefined || Object.keys(ofWorkflow ?? {}).length > 0;
  return isSaid ? { ...ofConfig, ...ofWorkflow } : undefined;
}

/** Cleans up after a run that this process has advanced, where its settings say so. Never throws. */
export async function cleanUpAfter(context: CleanUpContext, runId: string, report: Report): Promise<void> {
  try {
    const run = await context.store.readRun({ tenant: context.tenant, runId });
    const settings = run === undefined ? undefined : await context.settingsOf(run);
    if (run === undefined || settings === undefined) return;
    if (settings.auto_cleanup ?? defaultSettings.auto_cleanup) await cleanUp.run(context, { workflow: run.graphId });
  } catch (error) {
    report(error);
  }
}

/** A clean-up that goes on while a process lives. */
export interface Cleaning {
  /** The context with settings that are heeded: what is asked of it may bring the next clean-up nearer. */
  readonly context: CleanUpContext;
  /** Ends it, when the clean-up at hand is done. */
  readonly end: () => Promise<void>;
}

/**
 * Cleans up at once and then every so often; one clean-up at a time. Its timer keeps no process alive.
 * @param everyMs - at the longest: the workflow of a run may ask for it more often
 */
export function cleanUpEvery(given: CleanUpContext, everyMs: number, report: Report): Cleaning {
  let working: Promise<void> | undefined;
  let intervalMs = everyMs;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const arm = (): void => {
    clearTimeout(timer);
    if (isOver) return;
    timer = setTimeout(work, Math.min(intervalMs, 2_147_483_647));
    timer.unref();
  };
  const heed = (settings: CheckpointSettings | undefined): void => {
    const wantedMs = 1000 * (settings?.cleanup_interval_seconds ?? Infinity);
    if (wantedMs >= intervalMs) return;
    intervalMs = wantedMs;
    if (working === undefined) arm();
  };
  const context: CleanUpContext = {
    ...given,
    settingsOf: async (run) => {
      const settings = await given.settingsOf(run);
      heed(settings);
      return settings;
    },
  };
  function work(): void {
    // What asked for less may be gone.
    intervalMs = everyMs;
    working ??= cleanUp
      .run(context, {})
      .then(() => undefined, report)
      .finally(() => {
        working = undefined;
        arm();
      });
  }
  work();
  return {
    context,
    end: async () => {
      isOver = true;
      clearTimeout(timer);
      await working;
    },
  };
}
