/** When runs are cleaned up: after one has come to rest, and now and then in a process that lives long. */
import type { CheckpointSettings } from '../dialects/yaml/file/yaml-workflow.ts';
import { cleanUp, defaultSettings, type CleanUpContext } from '../operations/clean-up.ts';

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

/**
 * Cleans up at once and then every so often; one clean-up at a time. Its timer keeps no process alive.
 * @returns ends it, when the clean-up at hand is done
 */
export function cleanUpEvery(context: CleanUpContext, everyMs: number, report: Report): () => Promise<void> {
  let working: Promise<void> | undefined;
  const work = (): void => {
    working ??= cleanUp
      .run(context, {})
      .then(() => undefined, report)
      .finally(() => {
        working = undefined;
      });
  };
  const timer = setInterval(work, Math.min(everyMs, 2_147_483_647));
  timer.unref();
  work();
  return async () => {
    clearInterval(timer);
    await working;
  };
}
