/** The operation `inbox`: lists the open waits of a store, soonest due first. */
import { flag, listOf, objectOf, wait } from '../declare/output-shapes.ts';
import type { OpenQuestion } from '../../engine/api.ts';
import { readWait } from '../../history/stored/open-waits.ts';
import { findRunOf } from '../runs/find-run.ts';
import type { Operation, ReadContext } from '../declare/operation.ts';

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
}

const defaultLimit = 50;

/** More than the open waits that a run may have. */
const waitsOfRun = 100_000;

/** The open questions of one run. @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS */
export async function readQuestions(
  context: ReadContext,
  reference: string,
): Promise<{ readonly runId: string; readonly waits: readonly OpenQuestion[] }> {
  const { runId } = await findRunOf(context, reference);
  const { waits } = await listWaits.run(context, { run: runId, limit: waitsOfRun });
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
  outputSchema: objectOf({ waits: listOf(wait), hasMore: flag, waiting: listOf(wait) }),
  isReadOnly: true,
  async run(context, { run, all = false, limit = defaultLimit }) {
    const { store, tenant } = context;
    const runId = run === undefined ? undefined : (await findRunOf(context, run)).runId;
    const ofRun = { tenant, limit, ...(runId !== undefined && { runId }) };
    const page = await store.listWaits({ ...ofRun, ...(!all && { kinds: ['question', 'doubt'] }) });
    const others = all ? undefined : await store.listWaits({ ...ofRun, kinds: ['signal', 'timer', 'retry'] });
    return {
      waits: page.rows.map(readWait),
      hasMore: page.cursor !== undefined || others?.cursor !== undefined,
      waiting: others?.rows.map(readWait) ?? [],
    };
  },
};
