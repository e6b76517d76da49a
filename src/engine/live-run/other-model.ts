/** In a fork that cannot act, a node may ask another model than its own (X7). */
import type { ModelAccess } from '../../graph/contracts/model-messages.ts';
import type { NoEffects } from '../../state/tree.ts';

/** The model that a node asks in place of its own: the rule nearest to the node counts, and one for a node holds for all within it. */
export function otherModelOf({ nodeModels }: NoEffects, path: readonly string[]): string | undefined {
  if (nodeModels === undefined) return undefined;
  for (let length = path.length; length > 0; length -= 1) {
    const name = [path.slice(0, length).join('/'), path[length - 1] ?? ''].find((key) =>
      Object.hasOwn(nodeModels, key),
    );
    if (name !== undefined) return nodeModels[name];
  }
  return undefined;
}

/** Calls another language model, whichever is named. */
export function asOtherModel(access: ModelAccess, model: string): ModelAccess {
  return {
    ...access,
    generate: (call, options) => access.generate({ ...call, model }, options),
    costOf: (_, usage) => access.costOf?.(model, usage),
    tokensMaxOf: () => access.tokensMaxOf?.(model),
  };
}
