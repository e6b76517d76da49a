/** One run in the memory store: plain fields, which are never handed out. */

import type { RunSchedule } from '../../ports/schedule.ts';
import type {
  Admission,
  CheckpointRow,
  Labels,
  RunRow,
  SnapshotRow,
  StoredStatus,
  WaitRow,
} from '../../ports/store.ts';

export interface StoredMessage {
  readonly id: number;
  readonly kind: 'answer' | 'signal' | 'cancel';
  readonly name: string;
  readonly body: Uint8Array;
  readonly at: number;
  readonly checksum?: Uint8Array;
  isTaken: boolean;
}

export interface StoredWait {
  /** Number that grows with each wait opened; it sorts waits that are due at the same time. */
  readonly order: number;
  readonly wait: WaitRow;
}

export interface MemoryRun {
  /** Number in the order of admission. */
  readonly no: number;
  readonly admission: Omit<
    Admission,
    'checkpoint' | 'waits' | 'schedule' | 'claim' | 'durability' | 'status' | 'graphHash'
  >;
  readonly labels: Labels;
  readonly schedule: RunSchedule;
  status: StoredStatus;
  graphHash: string;
  readonly createdAt: number;
  updatedAt: number;
  head: number;
  /** Seq of `rows[0]`. A pruned row leaves a hole. */
  readonly firstSeq: number;
  readonly rows: (CheckpointRow | undefined)[];
  /** Ascending by seq. */
  readonly snapshots: SnapshotRow[];
  readonly waits: Map<string, StoredWait>;
  readonly messages: StoredMessage[];
  readonly tags: Map<string, number>;
  /** How many runs were forked from this one. */
  forks: number;
  /**
   * Token of the newest claim; 0 if the run was never claimed. It also grows on release, so that a released claim is fenced by the same
   * check.
   */
  token: number;
  owner: string | undefined;
  leaseUntil: number;
  prunedBelow: number;
}

/** A private copy. Small ones come from Buffer's pool, which costs a third of a new array. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return Buffer.from(bytes);
}

/** A copy to hand out. It is a plain Uint8Array, so that it compares equal to what was passed in. */
export function handOut(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

type Copy = (bytes: Uint8Array) => Uint8Array;

export function copyCheckpoint({ seq, at, body, checksum }: CheckpointRow, copy: Copy): CheckpointRow {
  return { seq, at, body: copy(body), checksum: copy(checksum) };
}

export function copySnapshot({ seq, body, checksum }: SnapshotRow, copy: Copy): SnapshotRow {
  return { seq, body: copy(body), checksum: copy(checksum) };
}

export function copyWait(wait: WaitRow, copy: Copy): WaitRow {
  const { waitId, kind, dueAt } = wait;
  return { waitId, kind, ...(dueAt === undefined ? {} : { dueAt }), ...copyBody(wait, copy) };
}

/** The body of a wait or a message, and its checksum if it has one. */
export function copyBody(
  { body, checksum }: Pick<WaitRow, 'body' | 'checksum'>,
  copy: Copy,
): Pick<WaitRow, 'body' | 'checksum'> {
  return { body: copy(body), ...(checksum === undefined ? {} : { checksum: copy(checksum) }) };
}

export function findRow(run: MemoryRun, seq: number): CheckpointRow | undefined {
  return run.rows[seq - run.firstSeq];
}

export function hasMessages(run: MemoryRun): boolean {
  return run.messages.some((message) => !message.isTaken);
}

export function isClaimed(run: MemoryRun, now: number): boolean {
  return run.owner !== undefined && run.leaseUntil > now;
}

export function toRunRow(run: MemoryRun, now: number): RunRow {
  const { tenant, runId, key, graphId, parent, meta } = run.admission;
  const claim =
    run.owner !== undefined && isClaimed(run, now)
      ? { claim: { workerId: run.owner, remainingMs: run.leaseUntil - now } }
      : {};
  return {
    tenant,
    runId,
    key,
    graphId,
    graphHash: run.graphHash,
    status: run.status,
    head: run.head,
    createdAt: run.createdAt,
    updatedAt: run.updatedAt,
    ...(parent === undefined ? {} : { parent: { ...parent } }),
    meta: handOut(meta),
    ...claim,
    hasMessages: hasMessages(run),
    hasForks: run.forks > 0,
    hasTags: run.tags.size > 0,
    prunedBelow: run.prunedBelow,
    schedule: { ...run.schedule },
  };
}
