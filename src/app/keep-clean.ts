/** Cleans up old runs: after a run has ended or paused, and periodically in long-lived processes. */
import type { CheckpointSettings } from '../dialects/text-workflow.ts';
import { cleanUp, defaultSettings, type CleanUpContext } from '../operations/store/clean-up.ts';

/** Receives errors of clean-ups. Such errors do not affect runs. */
export type Report = (error: unknown) => void;

/** Combines settings. Those of the workflow win over those of the configuration. Undefined if neither has any, so nothing is removed. */
export function mergeSettings(
  ofConfig: CheckpointSettings | undefined,
  ofWorkflow: CheckpointSettings | undefined,
): CheckpointSettings | undefined {
  const isSaid = ofConfig !== undefined || Object.keys(ofWorkflow ?? {}).length > 0;
  return isSaid ? { ...ofConfig, ...ofWorkflow } : undefined;
}

/** Cleans up after a run that this process advanced, if its settings say so. Never throws. */
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

/** Periodic cleaning while a process lives. */
export interface Cleaning {
  /** The context with observed settings: reading a workflow's settings may bring the next clean-up forward. */
  readonly context: CleanUpContext;
  /** Stops the cleaning, after a clean-up in progress has ended. */
  readonly end: () => Promise<void>;
}

/**
 * Cleans up now and then periodically, one clean-up at a time. Its timer does not keep the process alive.
 * @param everyMs - the longest interval; a workflow's settings may ask for a shorter one
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
    // Start from the longest interval again, because the workflow that asked for a shorter one may be gone.
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
