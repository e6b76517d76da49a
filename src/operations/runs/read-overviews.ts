/** The operation `overviews`: what lists tell of runs beyond their rows. It reads the state of each, so it is for the few in view. */
import { amounts, described, listOf, objectOf, text, whole } from '../contract/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import { loadState } from '../../history/load/load.ts';
import { stateOf } from '../../history/read/state-at.ts';
import type { RunRow } from '../../ports/store.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';
import { errorIn, type RunError } from './failed-runs.ts';

export interface ReadOverviewsInput {
  readonly run: readonly string[];
}

export interface RunOverview {
  readonly runId: string;
  /** The checkpoint at which it was read. */
  readonly seq: number;
  readonly spent: Amounts;
  readonly saved: Amounts;
  /** Of a run that failed: a fork of it, or a fork of a fork, that completed. */
  readonly succeededIn?: string;
  /** Of a run that failed: why, in a line. */
  readonly error?: RunError;
}

export interface ReadOverviewsOutput {
  readonly runs: readonly RunOverview[];
}

const runsMax = 100;
/** Forks of a run that are looked at. */
const forksMax = 200;

async function completedForkOf({ store, tenant }: HistoryContext, runId: string): Promise<string | undefined> {
  const toRead = [runId];
  let looked = 0;
  for (const parentRunId of toRead) {
    const { rows } = await store.listRuns({ tenant, parentRunId, limit: forksMax - looked });
    const completed = rows.find(({ status }) => status === 'completed');
    if (completed !== undefined) return completed.runId;
    toRead.push(...rows.map((fork) => fork.runId));
    looked += rows.length;
    if (looked >= forksMax) return undefined;
  }
  return undefined;
}

async function overviewOf(context: HistoryContext, run: RunRow): Promise<RunOverview> {
  const { runId, head, status } = run;
  const { root } = await loadState(context.store, context.blobs, run, head);
  const { spent = {}, saved = {} } = stateOf(root);
  if (status !== 'failed') return { runId, seq: head, spent, saved };
  const succeededIn = await completedForkOf(context, runId);
  return { runId, seq: head, spent, saved, error: errorIn(root), ...(succeededIn !== undefined && { succeededIn }) };
}

const runError = described(
  objectOf({ code: text, message: described(text, 'the first line'), node: described(text, 'the node that failed') }),
  'why it failed',
);

export const readOverviews: RoutedOperation<ReadOverviewsInput, ReadOverviewsOutput, HistoryContext> = {
  name: 'read_overviews',
  summary: 'tell what runs have spent, why they failed, and whether a fork of one that failed completed',
  input: { run: { type: 'texts', description: `the runs by their whole ids, at most ${runsMax}`, isRequired: true } },
  output: 'the runs that are there and can be read, in the order of the question',
  outputSchema: objectOf({
    runs: listOf(
      objectOf({ runId: text, seq: whole, spent: amounts, saved: amounts }, { succeededIn: text, error: runError }),
    ),
  }),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /overviews',
  /** @throws USAGE_INVALID more runs; STORE_* */
  async run(context, { run: runIds }) {
    if (runIds.length > runsMax)
      throw new CairnError('USAGE_INVALID', { reason: `overviews are of ${runsMax} runs at most` });
    const runs: RunOverview[] = [];
    for (const runId of new Set(runIds)) {
      const run = await context.store.readRun({ tenant: context.tenant, runId });
      if (run === undefined || run.isDamaged === true) continue;
      try {
        runs.push(await overviewOf(context, run));
      } catch (error) {
        // What is wrong with the history of one is reported by whatever reads it alone.
        if (!CairnError.is(error) || error.code === 'STORE_UNAVAILABLE') throw error;
      }
    }
    return { runs };
  },
};
