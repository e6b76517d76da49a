/** How builders make drafts: what each knows of its node, and what its user says on top. */
import { functionCondition } from '../../graph/condition.ts';
import type { Condition, ConditionScope, Graph, Join, NodeCheckpoint, OnFailure } from '../../graph/graph.ts';
import type { NodeDraft } from '../../graph/node-draft.ts';
import type { EffectClass, NodeImplementation, RetryPolicy } from '../../graph/contracts/node-contract.ts';

export type { NodeDraft } from '../../graph/node-draft.ts';

/** What every builder takes beside its own configuration; each has an effect or is refused when the graph is compiled (G9). */
export interface NodeOptions {
  /** What recovery may do with the node (table X). Default: see each builder. */
  readonly effectClass?: EffectClass;
  /** Version of the node's code, part of the graph's hash: raise it when a changed function must not reuse old outcomes. Default `1`. */
  readonly version?: string;
  /** Channels the node reads, such as `scratch.topic`. Default: those it is seen to read. */
  readonly reads?: readonly string[];
  /** Read once the join is satisfied; if false, the node is skipped (G2). A function is known by its name. */
  readonly when?: Condition | ((scope: ConditionScope) => boolean);
  readonly join?: Join;
  readonly retry?: RetryPolicy;
  /** Per attempt; its signal is aborted when it runs out (E6). */
  readonly timeoutMs?: number;
  readonly onFailure?: OnFailure;
  /** When its checkpoint is written under the graph's policies `explicit` and `none`. */
  readonly checkpoint?: NodeCheckpoint;
  /** A second call with the same idempotency key has no second effect, so one in doubt is tried again instead of asked about (X3). */
  readonly idempotent?: boolean;
  readonly maxVisits?: number;
  /** Name under which the output is also seen in `state.artifacts`. */
  readonly outputAs?: string;
}

/** What a builder knows of its node; options come on top. */
export interface DraftParts {
  readonly type: string;
  readonly effect: EffectClass;
  /** Plain data, hashed. */
  readonly config?: unknown;
  readonly subgraph?: Graph;
  readonly retry?: RetryPolicy | undefined;
  readonly timeoutMs?: number | undefined;
  readonly outputAs?: string | undefined;
  readonly implementation: NodeImplementation;
}

/** Joins a builder's parts and its user's options into a draft; options win. The type parameters are what the builder knows of it. */
export function draftNode<State, Output, Answer = unknown>(
  parts: DraftParts,
  options: NodeOptions = {},
): NodeDraft<State, Output, Answer> {
  const { effectClass, when, ...rest } = options;
  return {
    type: parts.type,
    effect: effectClass ?? parts.effect,
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

/** An option given as `undefined` is an option not given. */
function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as T;
}
