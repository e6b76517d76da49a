/** The function node: the author's own code. */
import { CairnError } from '../errors.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { NodeImplementation, StateView } from '../graph/contracts/node-contract.ts';
import type { TypedContext } from './draft/computed.ts';

/** Options of a function node. */
export interface FunctionNodeOptions extends NodeOptions {
  /** Finds out whether the effect with this key happened, and its result. Called first for an effect in doubt (X3). */
  readonly reconcile?: NodeImplementation['reconcile'];
}

/**
 * Makes a node that runs a function. The function's return value is the node's output; or it returns an `outcome(…)`, with updates of the
 * state and routing. The effect class is `pure` by default. A function that calls `ctx.step`, `ask`, `sleepUntil`, `receive` or `run` must
 * be `pure`, `read` or `human` (X4).
 * @throws CONFIG_INVALID `fn` is not a function
 */
export function functionNode<S extends StateView = StateView, Result = unknown>(
  fn: (ctx: TypedContext<S>) => Result,
  { reconcile, ...options }: FunctionNodeOptions = {},
): NodeDraft<S, Result> {
  if (typeof fn !== 'function') throw new CairnError('CONFIG_INVALID', { reason: 'functionNode(fn) needs a function' });
  const run = fn as unknown as NodeDraft['implementation']['run'];
  return draftNode(
    { type: 'function', effect: 'pure', isDeclared: false, implementation: { run, ...(reconcile && { reconcile }) } },
    options,
  );
}
