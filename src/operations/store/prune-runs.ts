/** `prune`: folds checkpoints that nothing needs (C8). */
import { listOf, objectOf, text, texts, whole } from '../declare/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { addNamed, collectBlobs } from '../../history/shorten/collect-blobs.ts';
import { pruneRun, type PruneReport } from '../../history/shorten/prune.ts';
import type { RunRow } from '../../ports/store.ts';
import { findRun } from '../runs/find-run.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';
import { collectRuns } from '../runs/read-all-runs.ts';
import { withClaim } from '../runs/with-claim.ts';

export interface PruneRunsInput {
  readonly run?: string;
  readonly all?: boolean;
  readonly keepEvery?: number;
  readonly keepLast?: number;
}

export interface PrunedRun extends PruneReport {
  readonly runId: string;
}

export interface PruneRunsOutput {
  readonly pruned: readonly PrunedRun[];
  /** Runs that somebody works on: they were left as they are. */
  readonly busy: readonly string[];
  /** How many large values went that nothing refers to any more, and that are older than a day. */
  readonly blobs: number;
}

async function chooseRuns(context: WorkContext, { run, all = false }: PruneRunsInput): Promise<readonly RunRow[]> {
  if ((run === undefined) !== all)
    throw new CairnError('USAGE_INVALID', {
      reason: all ? 'a run and --all were both given' : 'RUN is missing',
      hint: 'Name a run, or prune all of them with --all.',
    });
  return run === undefined ? collectRuns(context) : [await findRun(context, run)];
}

export const pruneRuns: Operation<PruneRunsInput, PruneRunsOutput, WorkContext> = {
  name: 'prune',
  summary: 'fold checkpoints that nothing needs, to save room',
  input: {
    run: { type: 'text', description: 'the run', isPositional: true },
    all: { type: 'flag', description: 'every run of the store' },
    keepEvery: { type: 'integer', description: 'keep each checkpoint whose seq is a multiple of N' },
    keepLast: { type: 'integer', description: 'keep the newest N; default 1' },
  },
  output: 'what was removed',
  outputSchema: objectOf({
    pruned: listOf(objectOf({ runId: text, removed: whole, folded: whole, oldest: whole })),
    busy: texts,
    blobs: whole,
  }),
  isReadOnly: false,
  async run(context, input) {
    const { keepEvery, keepLast } = input;
    const { store, blobs, tenant } = context;
    const options = { ...(keepEvery !== undefined && { keepEvery }), ...(keepLast !== undefined && { keepLast }) };
    const pruned: PrunedRun[] = [];
    const busy: string[] = [];
    const named = new Set<string>();
    for (const row of await chooseRuns(context, input)) {
      try {
        await addNamed(store, row, named);
        const report = await withClaim(context, row, (claim, run) => pruneRun(store, blobs, claim, run, options));
        pruned.push({ runId: row.runId, ...report });
      } catch (error) {
        if (input.all !== true || !CairnError.is(error, 'CLAIM_TAKEN')) throw error;
        busy.push(row.runId);
      }
    }
    // Everything was read anyway: what no row ever named, left by processes that died before a commit, goes too.
    const among = input.all === true ? undefined : named;
    return { pruned, busy, blobs: await collectBlobs(store, blobs, tenant, among) };
  },
};
