/**
 * Models as a node's code sees them: calls carry the attempt's key and signal, streamed pieces become live events, and the cost is added to
 * the attempt's (Q7). All secrets that the run knows are masked in what a model is sent, whatever brought them there (N6.4).
 */
import { readableThrown } from '../errors.ts';
import type { Amounts } from '../graph/amounts.ts';
import type {
  ModelAccess,
  ModelDelta,
  ModelDeltaEvent,
  ModelResponse,
  ModelUsage,
} from '../graph/contracts/model-contract.ts';
import type { SecretReader } from '../graph/contracts/context-access.ts';
import { NodeFailure, type NodeContext } from '../graph/contracts/node-contract.ts';
import { TextMask } from '../state/secrecy/text-mask.ts';
import { beginChat, endChat, endFailed } from './gen-ai-spans.ts';
import { MessageFiles } from './message-files.ts';
import type { Models } from '../ports/model.ts';

/**
 * Makes the `models` of a node's context.
 * @param models - if absent, every call fails with MODEL_UNKNOWN
 */
export function accessModels(
  models: Models | undefined,
  attempt: Pick<NodeContext, 'idempotencyKey' | 'signal' | 'emit' | 'spend' | 'secrets' | 'files' | 'trace'>,
): ModelAccess {
  const stored = new MessageFiles();
  return {
    async generate(call, options = {}) {
      const { idempotencyKey = attempt.idempotencyKey, signal = attempt.signal, span = attempt } = options;
      const tell = (delta: ModelDelta): void =>
        attempt.emit({ type: 'model-delta', call: idempotencyKey, delta } satisfies ModelDeltaEvent);
      if (models === undefined)
        throw new NodeFailure('no models are configured', { code: 'MODEL_UNKNOWN', applied: 'no' });
      const chat = beginChat(span, call, () => call.messages);
      try {
        const response = sound(
          await models.generate({
            ...call,
            messages: await stored.withBytes(withoutSecrets(call.messages, attempt.secrets), attempt.files),
            idempotencyKey,
            signal,
            onDelta: options.onDelta ?? tell,
          }),
          call.model,
        );
        attempt.spend(costsOf(response));
        endChat(chat, response);
        return response;
      } catch (thrown) {
        endFailed(chat, thrown);
        throw readableThrown(thrown);
      }
    },
    costOf: (model, usage) => models?.costOf?.(model, usage),
    tokensMaxOf: (model) => models?.tokensMaxOf?.(model),
  };
}

/**
 * The answer as the port describes it. Token counts that are none are 0: the call was paid for, and the answer is worth more than the count.
 * @throws NodeFailure MODEL_UNAVAILABLE it is no answer, and must not be recorded as one
 */
function sound(response: ModelResponse | undefined, model: string): ModelResponse {
  if (!Array.isArray(response?.content) || !response.content.every(isPart))
    throw new NodeFailure(`the adapter of ${model} gave no answer: its content must be a list of parts`, {
      code: 'MODEL_UNAVAILABLE',
    });
  const { inputTokens, outputTokens } = (response.usage ?? {}) as Partial<ModelUsage>;
  if (isAmount(inputTokens) && isAmount(outputTokens)) return response;
  const amount = (count: number | undefined): number => (isAmount(count) ? count : 0);
  return {
    ...response,
    usage: { ...response.usage, inputTokens: amount(inputTokens), outputTokens: amount(outputTokens) },
  };
}

function isPart(part: unknown): boolean {
  return typeof (part as { readonly type?: unknown } | null)?.type === 'string';
}

function isAmount(count: number | undefined): count is number {
  return Number.isFinite(count) && (count as number) >= 0;
}

/** The request with all secrets that the run knows masked. */
export function withoutSecrets<Asked>(asked: Asked, reader: SecretReader): Asked {
  const secrets = [...(reader.known?.() ?? [])];
  return secrets.length === 0 ? asked : (new TextMask(secrets).all(asked) as Asked);
}

/**
 * The cost of a call, by unit. Counts that are invalid are left out and do not fail the call: it was paid for, and the answer is worth more
 * than the count.
 */
export function costsOf({
  usage: { inputTokens, outputTokens },
  cost = 0,
}: Pick<ModelResponse, 'usage' | 'cost'>): Amounts {
  const isSpent = ([, amount]: readonly [string, number]): boolean => Number.isFinite(amount) && amount > 0;
  return Object.fromEntries(Object.entries({ inputTokens, outputTokens, cost }).filter(isSpent));
}
