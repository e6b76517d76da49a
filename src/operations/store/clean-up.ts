/** `cleanup`: keeps of each workflow's runs what its settings say, and no more; docs/guide/cleanup.md. */
import { listOf, objectOf, oneOf, text, whole } from '../declare/output-shapes.ts';
import type { CheckpointSettings } from '../../dialects/text-workflow.ts';
import { CairnError } from '../../errors.ts';
import { addNamed, collectBlobs } from '../../history/shorten/collect-blobs.ts';
import { firstSeqOf } from '../../history/load/lineage.ts';
import { pruneRun } from '../../history/shorten/prune.ts';
import type { RunRow } from '../../ports/store.ts';
import { newestFirst } from '../../history/read/checkpoint-walk.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';
import { collectRuns } from '../../history/place/all-rows.ts';
import { withClaim } from '../../history/place/with-claim.ts';

export interface CleanUpInput {
  /** Only runs of this graph. */
  readonly workflow?: string;
  readonly dryRun?: boolean;
}

export interface CleanUpOutput {
  /** Runs that ended longer ago than their settings keep them. */
  readonly removed: readonly { readonly runId: string; readonly graphId: string; readonly endedAt: number }[];
  /** Runs whose older checkpoints were pruned; in a dry run, how many would be at most. */
  readonly pruned: readonly { readonly runId: string; readonly graphId: string; readonly checkpoints: number }[];
  /** How many large values went that nothing refers to any more, and that are older than a day. */
  readonly blobs: number;
  /** Runs that somebody works on, or that others were forked from: they were left as they are. */
  readonly left: readonly { readonly runId: string; readonly because: 'busy' | 'forked' }[];
}

export interface CleanUpContext extends WorkContext {
  /** How checkpoints of a run's workflow are kept; undefined: nobody has said that any should go. */
  readonly settingsOf: (run: RunRow) => Promise<CheckpointSettings | undefined>;
}

/** What holds where settings leave it open. */
export const defaultSettings: Required<Omit<CheckpointSettings, 'max_checkpoint_size_mb'>> = {
  enabled: true,
  max_per_workflow: 10,
  ttl_seconds: 86_400,
  keep_paused: true,
  auto_cleanup: true,
  cleanup_interval_seconds: 3_600,
};

type Report = { readonly [Part in Exclude<keyof CleanUpOutput, 'blobs'>]: CleanUpOutput[Part][number][] };

function hasEnded({ status }: RunRow): boolean {
  return status !== 'running' && status !== 'paused';
}

/** How many of each run's newest checkpoints are among the newest of all. */
async function countNewest(
  context: WorkContext,
  runs: readonly RunRow[],
  most: number,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  let left = most;
  for await (const { run } of newestFirst(context, runs)) {
    if (left === 0) break;
    left -= 1;
    counts.set(run.runId, (counts.get(run.runId) ?? 0) + 1);
  }
  return counts;
}

class CleanUp {
  readonly report: Report = { removed: [], pruned: [], left: [] };
  readonly #context: CleanUpContext;
  readonly #isDry: boolean;
  /** What removed rows named: blobs that may be needed no more. */
  readonly #named = new Set<string>();

  constructor(context: CleanUpContext, isDry: boolean) {
    this.#context = context;
    this.#isDry = isDry;
  }

  /** @param runs - all runs of one graph, newest first: so a fork comes before what it was forked from */
  async clean(runs: readonly RunRow[]): Promise<void> {
    const [newest] = runs;
    const given = newest === undefined ? undefined : await this.#context.settingsOf(newest);
    if (given === undefined) return;
    const settings = { ...defaultSettings, ...given };
    const oldest = this.#context.now() - settings.ttl_seconds * 1000;
    const kept: RunRow[] = [];
    for (const run of runs) {
      const isExpired = hasEnded(run) && run.updatedAt < oldest;
      if (!isExpired || !(await this.#remove(run))) kept.push(run);
    }
    const counted = kept.filter(({ status }) => status !== 'paused' || !settings.keep_paused);
    const counts = await countNewest(this.#context, counted, settings.max_per_workflow);
    for (const run of counted)
      if (run.status !== 'running') await this.#prune(run, Math.max(1, counts.get(run.runId) ?? 0));
  }

  /** Removes what only removed rows named. @returns how many blobs */
  async collect(): Promise<number> {
    const { store, blobs, tenant } = this.#context;
    return this.#named.size === 0 ? 0 : collectBlobs(store, blobs, tenant, this.#named);
  }

  /** @returns whether the run is gone */
  async #remove(run: RunRow): Promise<boolean> {
    const { runId, graphId, updatedAt: endedAt, tenant } = run;
    const { store } = this.#context;
    const remove = async (): Promise<void> => {
      await addNamed(store, run, this.#named);
      await store.removeRun({ tenant, runId });
    };
    const isGone = this.#isDry || (await this.#attempt(runId, remove));
    if (isGone) this.report.removed.push({ runId, graphId, endedAt });
    return isGone;
  }

  async #prune(run: RunRow, keepLast: number): Promise<void> {
    const { runId, graphId, head, prunedBelow } = run;
    const most = head - Math.max(firstSeqOf(run), prunedBelow) + 1 - keepLast;
    if (most <= 0) return;
    const { store, blobs } = this.#context;
    let checkpoints = most;
    const prune = async (): Promise<void> => {
      await addNamed(store, run, this.#named);
      const report = await withClaim(this.#context, run, (claim, row) =>
        pruneRun(store, blobs, claim, row, { keepLast }),
      );
      checkpoints = report.removed;
    };
    const isDone = this.#isDry || (await this.#attempt(runId, prune));
    if (isDone && checkpoints > 0) this.report.pruned.push({ runId, graphId, checkpoints });
  }

  /** @returns whether it was done: a run that is busy or forked from is left alone */
  async #attempt(runId: string, act: () => Promise<void>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      // Somebody else may have removed it meanwhile.
      if (CairnError.is(error, 'RUN_NOT_FOUND')) return false;
      const isForked = CairnError.is(error, 'HISTORY_HAS_FORKS');
      if (!isForked && !CairnError.is(error, 'CLAIM_TAKEN', 'RUN_HELD')) throw error;
      this.report.left.push({ runId, because: isForked ? 'forked' : 'busy' });
      return false;
    }
  }
}

export const cleanUp: Operation<CleanUpInput, CleanUpOutput, CleanUpContext> = {
  name: 'cleanup',
  summary: 'remove runs and checkpoints that are older than their settings keep them',
  input: {
    workflow: { type: 'text', description: 'only of this workflow' },
    dryRun: { type: 'flag', description: 'say what would go, and leave it' },
  },
  output: 'what went',
  outputSchema: objectOf({
    removed: listOf(objectOf({ runId: text, graphId: text, endedAt: whole })),
    pruned: listOf(objectOf({ runId: text, graphId: text, checkpoints: whole })),
    left: listOf(objectOf({ runId: text, because: oneOf('busy', 'forked') })),
    blobs: whole,
  }),
  isReadOnly: false,
  async run(context, { workflow, dryRun = false }) {
    const groups = Map.groupBy(await collectRuns(context, workflow), ({ graphId }) => graphId);
    const work = new CleanUp(context, dryRun);
    for (const runs of groups.values()) await work.clean(runs);
    return { ...work.report, blobs: await work.collect() };
  },
};
