/** The types of a post-mortem: the history of a run as data, in the order in which things happened. */
import type { Amounts } from '../../graph/amounts.ts';
import type { AgentChange } from '../../graph/contracts/agent-change.ts';
import type { NodeStatus, WaitRecord } from '../../state/tree.ts';
import type { ChangeKind } from '../stored/change.ts';
import type { Failure } from '../read/failures.ts';
import type { BegunAgain } from '../stored/change.ts';
import type { ExplainedEdge } from './explain-edges.ts';

/** The checkpoint that recorded something, and its time. */
export interface StoryPoint {
  /** The run, or the ancestor from which it was forked. */
  readonly runId: string;
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
}

/**
 * A value that a visit changed. Of a large value, which is stored apart, only the size is shown. What stood there before is also absent if
 * there was nothing, or if it was pruned.
 */
export interface ValueChange {
  /** Path of the value within the visit's run, beginning with the partition. */
  readonly path: readonly string[];
  readonly before?: unknown;
  /** Size of a large value as JSON, in place of `before`; `afterBytes` in place of `after`. */
  readonly beforeBytes?: number;
  readonly after?: unknown;
  readonly afterBytes?: number;
  /** Whether the value was deleted. */
  readonly isDeleted?: true;
  /** Whether `after` holds only what was added: items at the end of a list, or text at the end of a text. */
  readonly isAppended?: true;
  /**
   * Set if one of both is large (from 1 KiB on) and the same checkpoint wrote there more than once, so that the states before and after it
   * may have others.
   */
  readonly isPassing?: true;
}

/** An error; that of an attempt has all that is recorded of it. */
export interface StoryError extends Pick<Failure, 'name' | 'stack' | 'causes' | 'worker' | 'again'> {
  readonly code: string;
  readonly message: string;
}

/** An attempt that failed and was followed by another. */
export interface StoryRetry extends StoryPoint {
  readonly attempt: number;
  /** The step that was tried again. Absent for the node itself. */
  readonly step?: string;
  readonly error?: StoryError;
  /** Who decided on another attempt. Absent if the policy did. */
  readonly by?: string;
}

/** A beginning that may be the second one: a process that is gone may have begun it before. `by` says what allowed it. */
export interface StoryRepeat extends StoryPoint, BegunAgain {
  /** The step that was begun again. Absent for the node itself. */
  readonly step?: string;
  /** Which attempt may have begun before, and its idempotency key. Absent in older histories. */
  readonly attempt?: number;
  readonly key?: string;
}

/** A step that ended, as it was recorded. */
export interface StoryStep extends StoryPoint {
  readonly step: string;
  readonly status: string;
  readonly effect?: string;
  readonly error?: StoryError;
  readonly durationMs?: number;
  readonly spent?: Amounts;
}

/** A question and its answer. Also a wait for a time or a signal. */
export interface StoryQuestion extends StoryPoint {
  readonly kind: WaitRecord['kind'];
  readonly name: string;
  readonly prompt?: string;
  /** The checkpoint that closed it. Absent while it is open. */
  readonly closedAt?: StoryPoint;
  readonly by?: string;
  readonly answer?: unknown;
  /** Set if the node asked or waited for something else in its place when it was repeated. Its answer was not used. */
  readonly isChanged?: true;
}

/** A visit of a node: how it ended, what it cost, what it changed, and where the run went on. */
/** A change of an agent: the first model call that was made with it, and what has changed, in words. */
export type StoryAgentChange = StoryPoint & Pick<AgentChange, 'call' | 'changes'>;

export interface StoryVisit extends StoryPoint {
  readonly kind: 'visit';
  /** Node ids from the root, with the names of child runs between them. */
  readonly path: readonly string[];
  readonly visit: number;
  /** Type of the node in the graph. Absent if the graph is not known. */
  readonly type?: string;
  readonly status: NodeStatus;
  /** What the node says of its own work, if it completed and did not quite succeed, such as `fail`. */
  readonly verdict?: string;
  /** Absent if the visit has not ended. */
  readonly attempts?: number;
  /** Whether the run, or the visit that it is within, ended before the visit did, so that its questions are closed; or a fork begins it anew. */
  readonly isUnfinished?: true;
  readonly durationMs?: number;
  readonly spent?: Amounts;
  readonly saved?: Amounts;
  readonly error?: StoryError;
  /** The output of the node. */
  readonly value?: unknown;
  /** Set if `value` is large (from 1 KiB on) and in no state, since the next visit of the node began in the same checkpoint. */
  readonly isPassing?: true;
  /** For a skipped node: its condition. */
  readonly when?: string;
  readonly retries: readonly StoryRetry[];
  /** Absent if nothing was. */
  readonly repeats?: readonly StoryRepeat[];
  /** How its agent changed in the middle of it. Absent if it did not. */
  readonly agentChanges?: readonly StoryAgentChange[];
  readonly steps: readonly StoryStep[];
  readonly questions: readonly StoryQuestion[];
  readonly changes: readonly ValueChange[];
  /** Every edge that leaves the node, and why it was taken or not. */
  readonly edges: readonly ExplainedEdge[];
  /** Who settled the visit from outside. */
  readonly by?: string;
  /** The original record of an outcome that a fork took over. */
  readonly takenFrom?: { readonly runId: string; readonly seq: number };
}

/** Something that happened to the run as a whole. */
export interface StoryEvent extends StoryPoint {
  readonly kind: Extract<ChangeKind, 'start' | 'fork' | 'resume' | 'pause' | 'cancel' | 'fail' | 'end' | 'fold'>;
  readonly by?: string;
  readonly status?: string;
  readonly from?: { readonly runId: string; readonly seq: number };
  readonly detail?: unknown;
  /**
   * For a `fold`, the checkpoints that were pruned into one. Without `after`, before the oldest checkpoint that remains: all earlier ones.
   */
  readonly pruned?: { readonly after?: number; readonly upTo: number };
}

export type StoryEntry = StoryVisit | StoryEvent;

/** What happened in a run. */
export interface PostMortem {
  readonly runId: string;
  readonly graphId: string;
  /** Of the newest checkpoint as it is shown in lists: `stopped` if the run's process has died. */
  readonly status: string;
  /** The last checkpoint that the post-mortem covers. */
  readonly seq: number;
  /** Epoch ms of the first checkpoint, also if that is pruned. `endedAt` is that of the last. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly forkedFrom?: { readonly runId: string; readonly seq: number };
  readonly spent?: Amounts;
  readonly saved?: Amounts;
  /** How many workers in a row ended at the newest checkpoint without giving the run back, if it is told up to that. */
  readonly deaths?: number;
  /** The entries in order. Visits that have not ended come last. */
  readonly entries: readonly StoryEntry[];
  /** The errors that made the run fail, by node path joined with `/`. */
  readonly failures: Readonly<Record<string, StoryError>>;
  /** The outputs that the workflow's text declares, if the run reached them. For a pipeline: its status, goal gates and failures. */
  readonly result?: unknown;
}
