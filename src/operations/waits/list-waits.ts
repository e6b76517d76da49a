/** The operation `inbox`: lists the open waits of a store, soonest due first, without those whose answer waits to be taken. */
import { type AwaitedEffect, readAwaited } from '../../history/read/awaited-effects.ts';
import { waitsForResume } from '../../history/read/list-runs.ts';
import type { OpenWait as WaitRow, Page, WaitQuery } from '../../ports/store.ts';
import { pageFields, openCursor, sealCursor } from '../contract/cursor.ts';
import type { ReadContext, RoutedOperation } from '../contract/operation.ts';
import { awaitedEffects, flag, listOf, objectOf, text, described, wait } from '../contract/output-shapes.ts';
import type { OpenQuestion } from '../../engine/api.ts';
import { isMadeByExperiment } from '../../history/stored/run-ids.ts';
import { readWait } from '../../history/stored/wait-row.ts';
import { findRunOf } from '../runs/find-run.ts';
import { isForOthers } from '../runs/reserved-answers.ts';
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

// Runs that wait for word of what another worker has begun.

interface AwaitingRun extends AnsweredRun {
  readonly awaits: readonly AwaitedEffect[];
}

/** How many running runs are looked at for it, the newest first. */
const runningMax = 1_000;

/** @param runId - only this run */
async function findAwaitingRuns(
  { store, tenant }: ReadContext,
  { runId: only, limit }: { readonly runId: string | undefined; readonly limit: number },
): Promise<readonly AwaitingRun[]> {
  const one = only === undefined ? undefined : await store.readRun({ tenant, runId: only });
  const rows =
    only === undefined
      ? (await store.listRuns({ tenant, status: ['running', 'cancelling'], limit: runningMax })).rows
      : one === undefined
        ? []
        : [one];
  const runs: AwaitingRun[] = [];
  for (const row of rows) {
    const awaits = runs.length < limit ? await readAwaited(store, row) : [];
    if (awaits.length > 0) runs.push({ runId: row.runId, graphId: row.graphId, awaits });
  }
  return runs;
}

export interface ListWaitsInput {
  readonly run?: string;
  readonly all?: boolean;
  readonly everybodys?: boolean;
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
  /** With `all`, on the first page: runs that wait for a worker that has lost them to say how what it began has ended. Absent if none do. */
  readonly awaiting?: readonly AwaitingRun[];
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
    everybodys: {
      type: 'flag',
      description:
        'also questions that are for others: without it, those for the caller and those for nobody in particular',
    },
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
    {
      awaiting: described(
        listOf(objectOf({ runId: text, graphId: text, awaits: awaitedEffects })),
        'with all, on the first page: runs that wait for a worker that has lost them to say how what it began has ended',
      ),
      cursor: text,
    },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /waits',
  tool: {},
  async run(context, { run, all = false, everybodys = false, limit = defaultLimit, cursor }) {
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
    const awaiting = all && cursor === undefined ? await findAwaitingRuns(context, { runId, limit }) : [];
    const next = [page, others, answered].map((one) => one.cursor ?? ended);
    const hasMore = next.some((place) => place !== ended);
    return {
      waits: page.rows
        .map(readWait)
        .filter((wait) => runId !== undefined || !isMadeByExperiment(wait.runId))
        .filter((wait) => everybodys || !isForOthers(context, wait)),
      hasMore,
      waiting: others.rows.map(readWait),
      answered: answered.runs,
      ...(awaiting.length > 0 && { awaiting }),
      ...(hasMore && { cursor: sealCursor(next.join('|'), 'inbox', filter) }),
    };
  },
};
