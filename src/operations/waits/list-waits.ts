/** The operation `inbox`: lists the open waits of a store, soonest due first, without those whose answer waits to be taken. */
import { waitsForResume } from '../../history/read/list-runs.ts';
import type { OpenWait as WaitRow, Page, WaitQuery } from '../../ports/store.ts';
import { pageFields, openCursor, sealCursor } from '../contract/cursor.ts';
import type { ReadContext, RoutedOperation } from '../contract/operation.ts';
import { flag, listOf, objectOf, text, described, wait } from '../contract/output-shapes.ts';
import type { OpenQuestion } from '../../engine/api.ts';
import { readWait } from '../../history/stored/messages.ts';
import { findRunOf } from '../runs/find-run.ts';
import { answerableKinds } from './give-answers.ts';

// Runs whose questions are all answered, and that nobody goes on with: they need a resume.

interface AnsweredRun {
  readonly runId: string;
  readonly graphId: string;
}

/** Those of at most `limit` answered waits. @param runId - only this run @param cursor - of the page before */
async function findAnsweredRuns(
  { store, tenant, isWorkerDead }: ReadContext,
  { runId: only, ...page }: { readonly runId?: string; readonly limit: number; readonly cursor?: string },
): Promise<{ readonly runs: readonly AnsweredRun[]; readonly cursor?: string }> {
  const of = { tenant, kinds: answerableKinds };
  const { rows, cursor } = await store.listWaits({
    ...of,
    ...page,
    isAnswered: true,
    ...(only !== undefined && { runId: only }),
  });
  const runs: AnsweredRun[] = [];
  for (const { runId, graphId, waitId } of rows) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined || !waitsForResume(run, isWorkerDead)) continue;
    // A run of several answered waits is listed with the first of them, on whichever page that is.
    const first = await store.listWaits({ ...of, runId, isAnswered: true, limit: 1 });
    if (first.rows[0]?.waitId !== waitId) continue;
    const open = await store.listWaits({ ...of, runId, isAnswered: false, limit: 1 });
    if (open.rows.length === 0) runs.push({ runId, graphId });
  }
  return { runs, ...(cursor !== undefined && { cursor }) };
}

export interface ListWaitsInput {
  readonly run?: string;
  readonly all?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

export interface ListWaitsOutput {
  readonly waits: readonly OpenQuestion[];
  readonly hasMore: boolean;
  /** Waits for a signal or a time, if `waits` has only questions: soonest due first, up to the same limit. */
  readonly waiting: readonly OpenQuestion[];
  /** Runs whose questions are all answered, and that nobody goes on with: a resume does. */
  readonly answered: readonly AnsweredRun[];
  /** Pass it in the next query, with the same filter, to get the page after this one of each list; absent on the last page. */
  readonly cursor?: string;
}

const defaultLimit = 50;
/** Stands in a cursor for one of the lists that has no more. */
const ended = '-';

export const listWaits: RoutedOperation<ListWaitsInput, ListWaitsOutput> = {
  name: 'list_questions',
  command: 'inbox',
  summary: 'list open questions, how to answer them, and what else runs wait for',
  details: 'A resume takes answers, and also goes on with the runs in answered.',
  input: {
    run: { type: 'run', description: 'only those of this run', isPositional: true },
    all: { type: 'flag', description: 'what waits for a time or a signal, too, in one list by due times' },
    ...pageFields(defaultLimit),
  },
  output: 'the open waits',
  outputSchema: objectOf(
    {
      waits: described(listOf(wait), 'the open questions'),
      hasMore: flag,
      waiting: listOf(wait),
      answered: described(
        listOf(objectOf({ runId: text, graphId: text })),
        'runs whose questions are all answered, and that nobody goes on with: a resume does',
      ),
    },
    { cursor: text },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /waits',
  tool: {},
  async run(context, { run, all = false, limit = defaultLimit, cursor }) {
    const { store, tenant } = context;
    const runId = run === undefined ? undefined : (await findRunOf(context, run)).runId;
    const filter = { runId, all };
    const places = cursor === undefined ? [] : openCursor(cursor, 'inbox', filter).split('|');
    const open = { tenant, limit, isAnswered: false, ...(runId !== undefined && { runId }) };
    const read = async (place: string | undefined, kinds: WaitQuery['kinds']): Promise<Page<WaitRow>> =>
      place === ended
        ? { rows: [] }
        : store.listWaits({ ...open, ...(kinds && { kinds }), ...(place !== undefined && { cursor: place }) });
    const page = await read(places[0], all ? undefined : answerableKinds);
    const others = await read(all ? ended : places[1], ['signal', 'timer', 'retry']);
    const answered =
      places[2] === ended
        ? { runs: [] }
        : await findAnsweredRuns(context, {
            limit,
            ...(runId !== undefined && { runId }),
            ...(places[2] !== undefined && { cursor: places[2] }),
          });
    const next = [page, others, answered].map((one) => one.cursor ?? ended);
    const hasMore = next.some((place) => place !== ended);
    return {
      waits: page.rows.map(readWait),
      hasMore,
      waiting: others.rows.map(readWait),
      answered: answered.runs,
      ...(hasMore && { cursor: sealCursor(next.join('|'), 'inbox', filter) }),
    };
  },
};
