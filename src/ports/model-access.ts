/** Models as the code of a node sees them: under its attempt's key and signal, with pieces of the answer as live events. */
import type { ModelAccess, ModelDeltaEvent } from '../graph/model-contract.ts';
import { NodeFailure, type NodeContext } from '../graph/node-contract.ts';
import type { Models } from './model.ts';

/** @param models - without them every call fails with MODEL_UNKNOWN */
export function accessModels(
  models: Models | undefined,
  attempt: Pick<NodeContext, 'idempotencyKey' | 'signal' | 'emit'>,
): ModelAccess {
  return {
    async generate(call, { idempotencyKey = attempt.idempotencyKey, signal = attempt.signal } = {}) {
      if (models === undefined)
        throw new NodeFailure('no models are configured', { code: 'MODEL_UNKNOWN', applied: 'no' });
      return models.generate({
        ...call,
        idempotencyKey,
        signal,
        onDelta: (delta) =>
          attempt.emit({ type: 'model-delta', call: idempotencyKey, delta } satisfies ModelDeltaEvent),
      });
    },
  };
}
