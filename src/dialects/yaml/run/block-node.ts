/** The node of a block that does its own work. */
import type { NodeImplementation } from '../../../graph/node-contract.ts';
import { BlockContext } from './block-context.ts';
import { resolveFileOutputs, scopeOf, scopeOfState, type BlockParts } from './block-parts.ts';

/** Resolves the inputs in each attempt, from the state that the attempt sees, and runs the block's type. */
export function blockImplementation({ type, inputs, fileOutputs, workflow }: BlockParts): NodeImplementation {
  const { reconcile } = type;
  return {
    run: (ctx) => {
      const scope = scopeOf(workflow, ctx);
      const resolved = inputs.resolve(scope);
      const files = fileOutputs.length === 0 ? noFiles : resolveFileOutputs(fileOutputs, scope);
      return orEmpty(type.run(new BlockContext({ ctx, workflow, inputs: resolved, fileOutputs: files })));
    },
    ...(reconcile !== undefined && {
      reconcile: ({ idempotencyKey, state }) =>
        reconcile({ idempotencyKey, inputs: inputs.resolve(scopeOfState(workflow, state)) }),
    }),
    codeText: String(type.run),
  };
}

const noFiles: readonly never[] = Object.freeze([]);

/** The output of a block is a mapping, so that one that gave nothing is told apart from one that did not complete. */
export function orEmpty(returned: unknown): unknown {
  if (returned === undefined) return {};
  if (typeof returned === 'object' && returned !== null && 'then' in returned)
    return (returned as Promise<unknown>).then((value) => value ?? {});
  return returned;
}
