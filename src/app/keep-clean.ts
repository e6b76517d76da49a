/** Cleans up old runs: after a run has ended or paused, and periodically in long-lived processes. */
import type { CheckpointSettings } from '../dialects/text-workflow.ts';
import { cleanUpAfterRun, cleanUpPlace } from '../history/retention/clean-up.ts';
import { defaultSettings, type CleanUpContext, type CleanUpReport } from '../operations/store/clean-up.ts';
import type { RunRow } from '../ports/store.ts';
import type { Log } from '../ports/log.ts';

/** Receives errors of clean-ups. Such errors do not affect runs. */
export type Report = (error: unknown) => void;

/** Combines settings. Those of the workflow win over those of the configuration. Undefined if neither has any, so nothing is removed. */
export function mergeSettings(
  ofConfig: CheckpointSettings | undefined,
  ofWorkflow: CheckpointSettings | undefined,
): CheckpointSettings | undefined {
  const isConfigured = ofConfig !== undefined || Object.keys(ofWorkflow ?? {}).length > 0;
  return isConfigured ? { ...ofConfig, ...ofWorkflow } : undefined;
}

/**
 * Cleans up after runs that this process advanced, in the background, once their result was given: at most one batch each, and one graph's
 * once at a time. Never throws.
 */
export class CleanUpsAfterRuns {
  readonly #report: Report;
  readonly #log: Log | undefined;
  /** The clean-ups under way by graph, and the run that ended last meanwhile. */
  readonly #working = new Map<string, { done: Promise<void>; next?: RunRow }>();
  readonly #begun = new Set<Promise<void>>();

  constructor(report: Report, log: Log | undefined) {
    this.#report = report;
    this.#log = log;
  }

  add(context: CleanUpContext, runId: string): void {
    const begun = this.#begin(context, runId).catch(this.#report);
    this.#begun.add(begun);
    void begun.finally(() => this.#begun.delete(begun));
  }

  /** Resolves when nothing is under way. */
  async done(): Promise<void> {
    while (this.#begun.size > 0) await Promise.all(this.#begun);
  }

  async #begin(context: CleanUpContext, runId: string): Promise<void> {
    const run = await context.store.readRun({ tenant: context.tenant, runId });
    if (run === undefined) return;
    const working = this.#working.get(run.graphId);
    if (working !== undefined) {
      working.next = run;
      return working.done;
    }
    const own: { done: Promise<void>; next?: RunRow } = { done: Promise.resolve() };
    this.#working.set(run.graphId, own);
    own.done = this.#work(context, run, own).finally(() => this.#working.delete(run.graphId));
    return own.done;
  }

  async #work(context: CleanUpContext, ended: RunRow, own: { next?: RunRow }): Promise<void> {
    for (let run: RunRow | undefined = ended; run !== undefined; run = own.next) {
      delete own.next;
      const settings = await context.settingsOf(run);
      if (settings !== undefined && (settings.auto_cleanup ?? defaultSettings.auto_cleanup))
        tellCleaned(await cleanUpAfterRun(context, settings, run), this.#log);
    }
  }
}

/** Logs what a clean-up removed, if it removed anything. */
function tellCleaned({ counts: { removed, pruned, skipped }, blobs }: CleanUpReport, log: Log | undefined): void {
  if (removed + pruned + blobs === 0) return;
  log?.info(
    { event: 'cleaned-up', removed, pruned, skipped, blobs },
    `cleaned up: ${removed} runs removed, ${pruned} shortened`,
  );
}

/** How long a process has the duty to clean up a store; it takes it again after each transaction. */
const dutyMs = 60_000;
/** How often large values are looked through for those that nothing refers to, in which all runs may be read, and all paused runs. */
const sweepMs = 24 * 3_600_000;

/** Cleans up a tenant's runs, unless another process does. */
async function cleanUpAll(context: CleanUpContext): Promise<CleanUpReport | undefined> {
  const { store, tenant, ids } = context;
  const take = async (): Promise<boolean> =>
    (await store.removals?.takeDuty(`clean-up ${tenant}`, ids.workerId, dutyMs)) ?? true;
  if (!(await take())) return undefined;
  // Under another name each time, so that this process does not keep it either.
  const sweeps = (await store.removals?.takeDuty(`sweep ${tenant}`, crypto.randomUUID(), sweepMs)) ?? true;
  return cleanUpPlace(context, context.settingsOf, { sweeps, beat: async () => void (await take()) });
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
export function cleanUpEvery(cleaning: CleanUpContext, everyMs: number, report: Report, log?: Log): Cleaning {
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
    ...cleaning,
    settingsOf: async (run) => {
      const settings = await cleaning.settingsOf(run);
      heed(settings);
      return settings;
    },
  };
  function work(): void {
    // Start from the longest interval again, because the workflow that set a shorter one may be gone.
    intervalMs = everyMs;
    working ??= cleanUpAll(context)
      .then((cleaned) => cleaned && tellCleaned(cleaned, log), report)
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
