/** What a post-mortem tells: a run's history as data, in the order in which it happened. */
import type { Amounts } from '../../graph/amounts.ts';
import type { NodeStatus, WaitRecord } from '../../state/tree.ts';
import type { ChangeKind } from '../stored/change.ts';
import type { ExplainedEdge } from './explain-edges.ts';

/** Where and when something is on record. */
export interface ToldAt {
  /** An ancestor's, before the run was forked. */
  readonly runId: string;
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
}

/** A value that a visit wrote. A side that is absent: it was not there, it is gone, or it is large and kept apart. */
export interface ValueChange {
  /** From the partition on, within the visit's run. */
  readonly path: readonly string[];
  readonly before?: unknown;
  readonly after?: unknown;
  /** `after` are items that were added to a list, or a text that was added to a text. */
  readonly isAppended?: true;
}

export interface ToldError {
  readonly code: string;
  readonly message: string;
}

/** An attempt that failed and was tried again. */
export interface ToldRetry extends ToldAt {
  readonly attempt: number;
  /** Of a step; absent: of the node. */
  readonly step?: string;
  readonly error?: ToldError;
  /** Who decided that it is tried again, if not the policy alone. */
  readonly by?: string;
}

/** A step that ended, as it is on record. */
export interface ToldStep extends ToldAt {
  readonly step: string;
  readonly status: string;
  readonly effect?: string;
  readonly error?: ToldError;
  readonly durationMs?: number;
  readonly spent?: Amounts;
}

/** A question, and who answered; also waits for times and signals. */
export interface ToldQuestion extends ToldAt {
  readonly kind: WaitRecord['kind'];
  readonly name: string;
  readonly prompt?: string;
  /** Where it was closed. Absent: it is open. */
  readonly closedAt?: ToldAt;
  readonly by?: string;
  readonly answer?: unknown;
}

/** A visit of a node: how it ended, what it cost, what it changed, and where it led. */
export interface ToldVisit extends ToldAt {
  readonly kind: 'visit';
  /** Node ids from the root, with the names of child runs between them. */
  readonly path: readonly string[];
  readonly visit: number;
  /** As the graph names it; absent: the graph is not known. */
  readonly type?: string;
  readonly status: NodeStatus;
  /** Absent: it has not ended. */
  readonly attempts?: number;
  readonly durationMs?: number;
  readonly spent?: Amounts;
  readonly saved?: Amounts;
  readonly error?: ToldError;
  /** What it gave. */
  readonly value?: unknown;
  /** Of a node that was skipped: its condition. */
  readonly when?: string;
  readonly retries: readonly ToldRetry[];
  readonly steps: readonly ToldStep[];
  readonly questions: readonly ToldQuestion[];
  readonly changes: readonly ValueChange[];
  /** Every edge that leaves the node, and why it was taken or not. */
  readonly edges: readonly ExplainedEdge[];
  /** Who settled it from outside. */
  readonly by?: string;
  /** Where the outcome was recorded that a fork took over. */
  readonly takenFrom?: { readonly runId: string; readonly seq: number };
}

/** Something that happened to the run as a whole. */
export interface ToldEvent extends ToldAt {
  readonly kind: Extract<ChangeKind, 'start' | 'fork' | 'resume' | 'pause' | 'cancel' | 'end' | 'fold'>;
  readonly by?: string;
  readonly status?: string;
  readonly from?: { readonly runId: string; readonly seq: number };
  readonly detail?: unknown;
  /** Of a `fold`, and of the oldest checkpoint that is kept: what was pruned into it; without `after`: all before. */
  readonly pruned?: { readonly after?: number; readonly upTo: number };
}

export type ToldEntry = ToldVisit | ToldEvent;

/** What happened in a run. */
export interface PostMortem {
  readonly runId: string;
  readonly graphId: string;
  readonly status: string;
  /** The checkpoint up to which is told. */
  readonly seq: number;
  /** Epoch ms, of the first and the last checkpoint. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly forkedFrom?: { readonly runId: string; readonly seq: number };
  readonly spent?: Amounts;
  readonly saved?: Amounts;
  /** In order. Visits that have not ended come last. */
  readonly entries: readonly ToldEntry[];
  /** What failed the run, by node path joined with `/`. */
  readonly failures: Readonly<Record<string, ToldError>>;
  /** What its text declares as outputs, if it came to them: of a pipeline, its status, goal gates and failures. */
  readonly result?: unknown;
}
