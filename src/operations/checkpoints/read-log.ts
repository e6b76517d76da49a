/** The operation `log`: lists the checkpoints of a run, newest first. */
import type { RunRow, Store } from '../../ports/store.ts';
import { runField } from '../contract/fields.ts';
import { flag, listOf, logEntry, objectOf, position, text, whole } from '../contract/output-shapes.ts';
import { wholeChanges } from '../../history/read/failures.ts';
import { type LogEntry, type LogOptions, walkLog } from '../../history/read/log.ts';
import { shownStatusOf, toListedRun } from '../../history/read/list-runs.ts';
import { takeSome } from '../../history/read/take-some.ts';
import { resolveReference } from '../../history/read/references.ts';
import { followHistory, type FollowedEvent, type FollowOptions } from '../../history/read/follow.ts';
import { pageFields, openCursor, sealCursor } from '../contract/cursor.ts';
import { maskedBySchema, maskedEvent } from '../contract/perform.ts';
import type { HistoryContext, ReadContext, RoutedOperation } from '../contract/operation.ts';

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

/** The whole log of a run: what is said of the run, and its checkpoints as they are read. */
export interface WholeLog {
  readonly head: LogHead;
  /** Gives how many there were. */
  readonly entries: AsyncGenerator<LogEntry, { readonly checkpoints: number }>;
}

/** Opens the whole log of a run, masked for showing. @throws as the operation */
export async function openWholeLog(
  context: ReadContext,
  { run: reference, cursor, ancestors = false }: Pick<ReadLogInput, 'run' | 'cursor' | 'ancestors'>,
): Promise<WholeLog> {
  const { run, seq } = await resolveReference(context.store, context.tenant, reference);
  const filter = { runId: run.runId, ancestors };
  const before = cursor === undefined ? seq + 1 : Number(openCursor(cursor, 'log', filter));
  const entries = eachEntry(context.store, run, { before, includeAncestors: ancestors });
  return { head: maskedBySchema(headOf(run, context), headSchema) as LogHead, entries };
}

async function* eachEntry(store: Store, run: RunRow, options: LogOptions): WholeLog['entries'] {
  let checkpoints = 0;
  const toOutput = async (entries: readonly LogEntry[]): Promise<readonly LogEntry[]> => {
    checkpoints += entries.length;
    return maskedBySchema(await withWholeChanges(store, run, entries), listOf(logEntry)) as readonly LogEntry[];
  };
  let page: LogEntry[] = [];
  for await (const entry of walkLog(store, run, options)) {
    if (page.push(entry) < largestPage) continue;
    yield* await toOutput(page);
    page = [];
  }
  yield* await toOutput(page);
  return { checkpoints };
}

/** What is said of the run. */
export type LogHead = Pick<ReadLogOutput, 'runId' | 'graphId' | 'status' | 'head' | 'parent' | 'deaths'>;

function headOf(run: RunRow, { isWorkerDead }: ReadContext): LogHead {
  const { runId, graphId, head, parent, deaths } = run;
  return {
    runId,
    graphId,
    status: shownStatusOf(toListedRun(run, isWorkerDead)),
    head,
    ...(parent !== undefined && { parent }),
    ...(deaths > 0 && { deaths }),
  };
}

async function withWholeChanges(store: Store, run: RunRow, entries: readonly LogEntry[]): Promise<readonly LogEntry[]> {
  const changes = await wholeChanges(
    store,
    run,
    entries.map(({ change }) => change),
  );
  return entries.map((entry, at) => ({ ...entry, change: changes[at] ?? entry.change }));
}

const defaultLimit = 30;
const largestPage = 200;

const headParts = { runId: text, graphId: text, status: text, head: whole };
const optionalHeadParts = { parent: position, deaths: whole };
const headSchema = objectOf(headParts, optionalHeadParts);

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
    { ...headParts, entries: listOf(logEntry), hasMore: flag },
    { ...optionalHeadParts, cursor: text },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /runs/{run}/checkpoints',
  async run(context, { run: reference, limit = defaultLimit, cursor, all = false, ancestors }) {
    const { store, tenant } = context;
    const { run, seq } = await resolveReference(store, tenant, reference);
    const wanted = all ? run.head + 1 : limit;
    const filter = { runId: run.runId, ancestors: ancestors === true };
    const entries = walkLog(store, run, {
      before: cursor === undefined ? seq + 1 : Number(openCursor(cursor, 'log', filter)),
      includeAncestors: filter.ancestors,
      pageSize: Math.min(largestPage, wanted + 1),
    });
    const { taken, hasMore } = await takeSome(entries, wanted);
    return {
      ...headOf(run, context),
      entries: await withWholeChanges(store, run, taken),
      hasMore,
      ...(hasMore && { cursor: sealCursor(String(taken.at(-1)?.seq), 'log', filter) }),
    };
  },
};
