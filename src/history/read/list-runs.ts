/** The runs of a place as people are shown them, newest first. */
import type { RunRow, StoredStatus } from '../../ports/store.ts';
import { readAllRuns } from '../place/all-rows.ts';
import { isHeld, openStatuses } from '../place/hold.ts';
import type { ReadPlace } from '../place/place.ts';

/** A run in a list: what its row says, its state unread. */
export interface ListedRun {
  readonly runId: string;
  readonly graphId: string;
  readonly status: StoredStatus;
  /** Seq of its newest checkpoint. */
  readonly head: number;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly updatedAt: number;
  /** Of a fork: where it goes on from. */
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** Who works on it now. */
  readonly claimedBy?: string;
  /** It is running by its record, but nobody works on it: its process has died. */
  readonly isStopped: boolean;
  /** It was restored from a backup, and nobody goes on with it until it is released. */
  readonly isHeld: boolean;
  /** Whether an answer, a signal or a request to cancel is waiting to be taken. */
  readonly hasMessages: boolean;
}

/** What a run is shown as: more than its record says. `stopped`: its process has died. `answered`: an answer waits to be taken. `held`: restored, and not released. */
export type ShownStatus = StoredStatus | 'stopped' | 'answered' | 'held';

/** Which runs are listed; conditions hold together. */
export interface ListQuery {
  /** Only runs that are recorded, or shown, as one of these. */
  readonly status?: readonly ShownStatus[];
  /** Only runs of this graph. */
  readonly graphId?: string;
  /** Only forks of the run of this id. */
  readonly forksOf?: string;
}

/** What the record may say of those that are shown as something. */
function recordedAs(shown: ShownStatus): readonly StoredStatus[] {
  if (shown === 'held') return openStatuses;
  return [shown === 'stopped' ? 'running' : shown === 'answered' ? 'paused' : shown];
}

/** Whether nobody works on a run: no lease holds, or its holder has died. */
export function isUnowned({ claim }: RunRow, isWorkerDead: ReadPlace['isWorkerDead']): boolean {
  return claim === undefined || isWorkerDead(claim.workerId) === true;
}

/** Whether a run is running by its record while nobody works on it. */
export function isStopped(run: RunRow, isWorkerDead: ReadPlace['isWorkerDead']): boolean {
  return run.status === 'running' && isUnowned(run, isWorkerDead);
}

/** As people are told it. */
export function shownStatusOf({ status, isStopped, isHeld, hasMessages }: ListedRun): ShownStatus {
  if (isHeld) return 'held';
  if (isStopped) return 'stopped';
  return status === 'paused' && hasMessages ? 'answered' : status;
}

/** A run as it stands in a list. */
export function toListedRun(run: RunRow, isWorkerDead: ReadPlace['isWorkerDead']): ListedRun {
  const { runId, graphId, status, head, createdAt, updatedAt, parent, claim, hasMessages } = run;
  return {
    runId,
    graphId,
    status,
    head,
    createdAt,
    updatedAt,
    ...(parent !== undefined && { parent }),
    ...(claim !== undefined && !isHeld(run) && { claimedBy: claim.workerId }),
    isStopped: isStopped(run, isWorkerDead),
    isHeld: isHeld(run),
    hasMessages,
  };
}

/** Runs, newest first, read as they are taken. @param pageSize - how many are read at once */
export async function* listRuns(
  place: ReadPlace,
  { status, graphId, forksOf }: ListQuery = {},
  pageSize = 200,
): AsyncGenerator<ListedRun> {
  const stored = status && [...new Set(status.flatMap(recordedAs))];
  const rows = readAllRuns(place, {
    limit: pageSize,
    ...(stored !== undefined && { status: stored }),
    ...(graphId !== undefined && { graphId }),
    ...(forksOf !== undefined && { parentRunId: forksOf }),
  });
  for await (const row of rows) {
    const run = toListedRun(row, place.isWorkerDead);
    if (status === undefined || status.includes(run.status) || status.includes(shownStatusOf(run))) yield run;
  }
}
