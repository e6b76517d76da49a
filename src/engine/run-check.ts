/** What is told of an open run that is checked under other code (X5.4). */
import type { Graph } from '../graph/graph.ts';
import type { RunStatus } from '../state/tree.ts';

/**
 * What other code would do to a run. `bricks`: it cannot go on, or fails. `loses`: what it recorded is read by nobody any more. `asks`: a
 * person is asked anew, or an approval is closed. `agent`: an agent goes on with other instructions or tools. `again`: a function of other
 * code is repeated. `differs`: what is added or removed where nothing is lost.
 */
export type FindingKind = (typeof findingKinds)[number];

/** The gravest first. */
export const findingKinds = ['bricks', 'loses', 'asks', 'agent', 'again', 'differs'] as const;

/** One thing that other code would do to a run, and why. */
export interface RunFinding {
  readonly kind: FindingKind;
  /** The path of the node, joined by `/`; absent if it is about the run. */
  readonly node?: string;
  readonly why: string;
}

/** What a run would do under other code. Without findings it goes on unchanged. */
export interface RunCheck {
  readonly runId: string;
  readonly graphId: string;
  readonly graphHash: string;
  readonly status: RunStatus;
  readonly findings: readonly RunFinding[];
  /**
   * Nodes at which it is, or has been, that are taken to be the same by the source of their function alone: what that takes from elsewhere is
   * not known, since neither `uses` nor a version says it.
   */
  readonly sameSource: readonly string[];
}

export interface CheckOptions {
  /** The code to check the run under. Default: the one that `findGraph` gives. */
  readonly graph?: Graph;
  /**
   * Repeat the functions of visits in progress against their record, with each call that is not recorded refused. Default false: only those
   * of questions are.
   */
  readonly replay?: boolean;
  /** Whether to take it that each resume says so too. Default false, as of a worker: effects that would be left out are in the way. */
  readonly leaveOutAdded?: boolean;
}
