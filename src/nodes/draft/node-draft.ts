/** Makes node drafts from what a builder knows about its node and the options that its user gives. */
import type { MemoryConsistency } from '../../graph/contracts/memory-consistency.ts';
import { functionCondition } from '../../graph/condition.ts';
import type { Condition, ConditionScope, Graph, Join, NodeCheckpoint, OnFailure } from '../../graph/graph.ts';
import type { NodeDraft } from '../../graph/node-draft.ts';
import type { EffectClass, NodeImplementation } from '../../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';

export type { NodeDraft } from '../../graph/node-draft.ts';

/**
 * Options of every node builder, in addition to its own configuration. An option that would have no effect is refused when the graph is
 * compiled (G9).
 */
export interface NodeOptions {
  /** Effect class: what recovery may do with the node (table X). Default: see each builder. */
  readonly effectClass?: EffectClass;
  /**
   * Version of the node's code; part of the graph's hash. Change it when a changed function must not reuse earlier outcomes. Default `1`.
   */
  readonly version?: string;
  /** Channels that the node reads, such as `scratch.topic`. Default: the channels that it is seen to read. */
  readonly reads?: readonly string[];
  /**
   * A condition that is evaluated when the join is satisfied. If it is false, the node is skipped (G2). A function is identified by its
   * name.
   */
  readonly when?: Condition | ((scope: ConditionScope) => boolean);
  readonly join?: Join;
  readonly retry?: RetryPolicy;
  /** Timeout of each attempt in milliseconds. When it is over, the attempt's signal is aborted (E6). */
  readonly timeoutMs?: number;
  readonly onFailure?: OnFailure;
  /** When the node's checkpoint is written, under the checkpoint policies `explicit` and `none`. */
  readonly checkpoint?: NodeCheckpoint;
  /**
   * Whether a second call with the same idempotency key has no second effect. If so, an effect in doubt is retried; otherwise a person is
   * asked (X3).
   */
  readonly idempotent?: boolean;
  readonly maxVisits?: number;
  /** How the node remembers over sessions (A43). Default: as the graph says. */
  readonly memoryConsistency?: MemoryConsistency;
  /** Name under which `state.artifacts` shows the output. */
  readonly outputAs?: string;
}

/** What a builder knows about its node. Options override it. */
export interface DraftParts {
  readonly type: string;
  readonly effect: EffectClass;
  /** False if the class is only a default. */
  readonly isDeclared?: false;
  /** The node's settings: plain data, part of the graph's hash. */
  readonly config?: unknown;
  readonly subgraph?: Graph;
  readonly retry?: RetryPolicy | undefined;
  readonly timeoutMs?: number | undefined;
  readonly outputAs?: string | undefined;
  readonly implementation: NodeImplementation;
}

/** Combines a builder's parts and its user's options into a draft; options win. The type parameters come from the builder. */
export function draftNode<State, Output, Answer = unknown>(
  parts: DraftParts,
  options: NodeOptions = {},
): NodeDraft<State, Output, Answer> {
  const { effectClass, when, ...rest } = options;
  return {
    type: parts.type,
    effect: effectClass ?? parts.effect,
    ...(parts.isDeclared === false && effectClass === undefined && { isDeclared: false as const }),
    implementation: parts.implementation,
    ...(parts.config !== undefined && { config: parts.config }),
    ...(parts.subgraph && { subgraph: parts.subgraph }),
    ...(parts.retry && { retry: parts.retry }),
    ...(parts.timeoutMs !== undefined && { timeoutMs: parts.timeoutMs }),
    ...(parts.outputAs !== undefined && { outputAs: parts.outputAs }),
    ...(when && { when: typeof when === 'function' ? functionCondition(when) : when }),
    ...withoutUndefined(rest),
  };
}

/** Removes options that are `undefined`, which count as missing. */
function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as T;
}
