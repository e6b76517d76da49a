/** The function node: the author's own code. */
import { CairnError } from '../errors.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { NodeImplementation, StateView } from '../graph/contracts/node-contract.ts';
import type { TypedContext } from './draft/typed-context.ts';

/** What a function node may be given beside its function. */
export interface FunctionNodeOptions extends NodeOptions {
  /** Did the effect under this key happen, and what came of it? Asked for an effect in doubt before anything else (X3). */
  readonly reconcile?: NodeImplementation['reconcile'];
}

/**
 * A node that runs a function. What it returns is the node's output, or an `outcome(…)` with updates of the state and routing.
 * Effect class `pure` unless said otherwise; a function that calls `ctx.step`, `ask`, `sleepUntil`, `receive` or `run` must be
 * `pure`, `read` or `human` (X4).
 * @throws CONFIG_INVALID `fn` is no function
 */
export function functionNode<S extends StateView = StateView, Result = unknown>(
  fn: (ctx: TypedContext<S>) => Result,
  { reconcile, ...options }: FunctionNodeOptions = {},
): NodeDraft<S, Result> {
  if (typeof fn !== 'function') throw new CairnError('CONFIG_INVALID', { reason: 'functionNode(fn) needs a function' });
  const run = fn as unknown as NodeDraft['implementation']['run'];
  return draftNode(
    { type: 'function', effect: 'pure', implementation: { run, ...(reconcile && { reconcile }) } },
    options,
  );
}
