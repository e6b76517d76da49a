/** `inbox`: the open waits of a store, soonest due first. */
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
}

const defaultLimit = 50;

/** More than a run may have open. */
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
  summary: 'list open questions and how to answer them',
  input: {
    run: { type: 'text', description: 'only those of this run', isPositional: true },
    all: { type: 'flag', description: 'also what waits for a time or a signal' },
    limit: { type: 'integer', description: `how many at most; default ${defaultLimit}` },
  },
  output: 'the open waits',
  outputSchema: objectOf({ waits: listOf(wait), hasMore: flag }),
  isReadOnly: true,
  async run(context, { run, all = false, limit = defaultLimit }) {
    const { store, tenant } = context;
    const runId = run === undefined ? undefined : (await findRunOf(context, run)).runId;
    const page = await store.listWaits({
      tenant,
      limit,
      ...(runId !== undefined && { runId }),
      ...(!all && { kinds: ['question', 'doubt'] as const }),
    });
    return { waits: page.rows.map(readWait), hasMore: page.cursor !== undefined };
  },
};
