/** The operation `log`: lists the checkpoints of a run, newest first. */
import { runField } from '../contract/fields.ts';
import { flag, listOf, logEntry, objectOf, position, text, whole } from '../contract/output-shapes.ts';
import { wholeChanges } from '../../history/read/failures.ts';
import { type LogEntry, walkLog } from '../../history/read/log.ts';
import { shownStatusOf, toListedRun } from '../../history/read/list-runs.ts';
import { takeSome } from '../../history/read/take-some.ts';
import { resolveReference } from '../../history/read/references.ts';
import { followHistory, type FollowedEvent, type FollowOptions } from '../../history/read/follow.ts';
import { pageFields, openCursor, sealCursor } from '../contract/cursor.ts';
import { maskedEvent } from '../contract/perform.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

export interface ReadLogInput {
  readonly run: string;
  readonly limit?: number;
  readonly cursor?: string;
  readonly all?: boolean;
  readonly ancestors?: boolean;
}

export interface ReadLogOutput {
  readonly runId: string;
  readonly graphId: string;
  readonly status: string;
  readonly head: number;
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** How many workers in a row ended at its newest checkpoint without giving it back. Absent if none did. */
  readonly deaths?: number;
  readonly entries: readonly LogEntry[];
  readonly hasMore: boolean;
  /** Pass it in the next query, of the same run, to get the page after this one; absent on the last page. */
  readonly cursor?: string;
}

export type { LogEntry };

/** Follows a run until it ends; its events are masked for showing. @throws RUN_NOT_FOUND, CHECKPOINT_AMBIGUOUS; USAGE_INVALID no cursor */
export async function* followLog(
  context: HistoryContext,
  reference: string,
  options: FollowOptions,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const { run } = await resolveReference(context.store, context.tenant, reference);
  for await (const event of followHistory(context, run.runId, options)) yield maskedEvent(event);
}

const defaultLimit = 30;
const largestPage = 200;

export const readLog: RoutedOperation<ReadLogInput, ReadLogOutput> = {
  name: 'read_log',
  command: 'log',
  summary: 'show the history of a run, newest first',
  input: {
    run: runField('the run; or a checkpoint, to begin with that'),
    ...pageFields(defaultLimit),
    all: { type: 'flag', description: 'all of it', isLocal: true },
    ancestors: { type: 'flag', description: 'go on past the point where the run was forked' },
  },
  output: 'the run and its checkpoints',
  outputSchema: objectOf(
    { runId: text, graphId: text, status: text, head: whole, entries: listOf(logEntry), hasMore: flag },
    { parent: position, deaths: whole, cursor: text },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /runs/{run}/checkpoints',
  async run({ store, tenant, isWorkerDead }, { run: reference, limit = defaultLimit, cursor, all = false, ancestors }) {
    const { run, seq } = await resolveReference(store, tenant, reference);
    const { runId, graphId, head, parent } = run;
    const wanted = all ? head + 1 : limit;
    const filter = { runId, ancestors: ancestors === true };
    const entries = walkLog(store, run, {
      before: cursor === undefined ? seq + 1 : Number(openCursor(cursor, 'log', filter)),
      includeAncestors: filter.ancestors,
      pageSize: Math.min(largestPage, wanted + 1),
    });
    const { taken, hasMore } = await takeSome(entries, wanted);
    const changes = await wholeChanges(
      store,
      run,
      taken.map(({ change }) => change),
    );
    return {
      runId,
      graphId,
      status: shownStatusOf(toListedRun(run, isWorkerDead)),
      head,
      ...(parent !== undefined && { parent }),
      ...(run.deaths > 0 && { deaths: run.deaths }),
      entries: taken.map((entry, at) => ({ ...entry, change: changes[at] ?? entry.change })),
      hasMore,
      ...(hasMore && { cursor: sealCursor(String(taken.at(-1)?.seq), 'log', filter) }),
    };
  },
};
