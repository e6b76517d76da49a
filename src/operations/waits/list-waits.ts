/** The operation `inbox`: lists the open waits of a store, soonest due first, without those whose answer waits to be taken. */
import { waitsForResume } from '../../history/read/list-runs.ts';
import type { WaitQuery } from '../../ports/store.ts';
import type { ReadContext, Operation } from '../declare/operation.ts';
import { flag, listOf, objectOf, text, wait } from '../declare/output-shapes.ts';
import type { OpenQuestion } from '../../engine/api.ts';
import { readAnsweredIds } from '../../history/place/place.ts';
import { readWait } from '../../history/stored/messages.ts';
import { findRunOf } from '../runs/find-run.ts';

// Runs whose questions are all answered, and that nobody goes on with: they need a resume.

interface AnsweredRun {
  readonly runId: string;
  readonly graphId: string;
}

/** The waits that people answer. */
export const asked: NonNullable<WaitQuery['kinds']> = ['question', 'doubt'];

/** At most `limit` of them. @param runId - only this run */
async function findAnsweredRuns(
  { store, tenant, isWorkerDead }: ReadContext,
  { runId: only, limit }: { readonly runId?: string; readonly limit: number },
): Promise<{ readonly runs: readonly AnsweredRun[]; readonly hasMore: boolean }> {
  const of = { tenant, kinds: asked };
  const page = await store.listWaits({ ...of, isAnswered: true, limit, ...(only !== undefined && { runId: only }) });
  const runs: AnsweredRun[] = [];
  for (const [runId, graphId] of new Map(page.rows.map((wait) => [wait.runId, wait.graphId]))) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined || !waitsForResume(run, isWorkerDead)) continue;
    const left = await store.listWaits({ ...of, runId, isAnswered: false, limit: 1 });
    if (left.rows.length === 0) runs.push({ runId, graphId });
  }
  return { runs, hasMore: page.cursor !== undefined };
}

export interface ListWaitsInput {
  readonly run?: string;
  readonly all?: boolean;
  readonly limit?: number;
}

export interface ListWaitsOutput {
  readonly waits: readonly OpenQuestion[];
  readonly hasMore: boolean;
  /** Waits for a signal or a time, if `waits` has only questions: soonest due first, up to the same limit. */
  readonly waiting: readonly OpenQuestion[];
  /** Runs whose questions are all answered, and that nobody goes on with: a resume does. */
  readonly answered: readonly AnsweredRun[];
}

const defaultLimit = 50;

/** More than the open waits that a run may have. */
const waitsOfRun = 100_000;

/** The open questions of one run, also those whose answer waits to be taken: who answers them again is told so. @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS */
export async function readQuestions(
  context: ReadContext,
  reference: string,
): Promise<{ readonly runId: string; readonly waits: readonly OpenQuestion[] }> {
  const { store, tenant } = context;
  const run = await findRunOf(context, reference);
  const { runId } = run;
  const answered = await readAnsweredIds(store, run);
  const { rows } = await store.listWaits({ tenant, runId, kinds: asked, limit: waitsOfRun });
  const waits = rows.map((row) => ({
    ...readWait(row),
    ...(answered.has(row.waitId) && { isAnswered: true as const }),
  }));
  return { runId, waits };
}

export const listWaits: Operation<ListWaitsInput, ListWaitsOutput> = {
  name: 'inbox',
  summary: 'list open questions, how to answer them, and what else runs wait for',
  input: {
    run: { type: 'text', description: 'only those of this run', isPositional: true },
    all: { type: 'flag', description: 'what waits for a time or a signal, too, in one list by due times' },
    limit: { type: 'integer', description: `how many at most; default ${defaultLimit}` },
  },
  output: 'the open waits',
  outputSchema: objectOf({
    waits: listOf(wait),
    hasMore: flag,
    waiting: listOf(wait),
    answered: listOf(objectOf({ runId: text, graphId: text })),
  }),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /waits',
  async run(context, { run, all = false, limit = defaultLimit }) {
    const { store, tenant } = context;
    const runId = run === undefined ? undefined : (await findRunOf(context, run)).runId;
    const ofRun = { limit, ...(runId !== undefined && { runId }) };
    const open = { ...ofRun, tenant, isAnswered: false };
    const page = await store.listWaits({ ...open, ...(!all && { kinds: asked }) });
    const others = all ? undefined : await store.listWaits({ ...open, kinds: ['signal', 'timer', 'retry'] });
    const answered = await findAnsweredRuns(context, ofRun);
    return {
      waits: page.rows.map(readWait),
      hasMore: page.cursor !== undefined || others?.cursor !== undefined || answered.hasMore,
      waiting: others?.rows.map(readWait) ?? [],
      answered: answered.runs,
    };
  },
};
