/** Vectors and rankings as steps of a node: each is paid for once, and known by its request (X4, X6). */
import type { EmbedCall, ModelUsage, RerankCall, RerankResponse } from '../../graph/contracts/model-messages.ts';
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import type { NodeContext, StepContext } from '../../graph/contracts/node-contract.ts';
import { spendSeconds, spendTokens } from '../../graph/contracts/spend-counted.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { checkModel } from '../check-options.ts';
import { tokensOfText } from '../../model-calls/message-tokens.ts';
import { MessageKeys } from '../../model-calls/model-access.ts';
import { boundsOf, defaultRetry } from './model-step.ts';

/** How the calls are made. */
export interface VectorStepOptions {
  /** Default: three attempts if the model is not available. */
  readonly retry?: RetryPolicy;
  /** Timeout of one attempt in milliseconds. */
  readonly timeoutMs?: number;
}

export interface EmbedOptions extends VectorStepOptions {
  /** How many texts one step sends at most. What was bought before a crash is bought in steps of this size. Default 100. */
  readonly batch?: number;
}

/**
 * Turns texts into vectors, one for each, in their order. Each batch of texts is a recorded step: after a crash, and in a fork, it is not
 * bought again.
 * @throws NodeFailure as `ctx.models.embed`; CONFIG_INVALID
 */
export async function embedTexts(
  ctx: NodeContext,
  call: EmbedCall,
  options: EmbedOptions = {},
): Promise<readonly (readonly number[])[]> {
  refuseUnknownKeys('embedTexts', call, ['model', 'texts', 'dimensions', 'provider']);
  refuseUnknownKeys('embedTexts', options, ['retry', 'timeoutMs', 'batch']);
  checkModel('embedTexts', call.model);
  const { batch = 100 } = options;
  const vectors: (readonly number[])[] = [];
  const size = Math.max(1, Math.floor(batch));
  for (let from = 0; from < call.texts.length; from += size) {
    const part = { ...call, texts: call.texts.slice(from, from + size) };
    const bought = await buy(ctx, 'embed', part, part.texts, options, async (step) => {
      const { idempotencyKey, signal } = step;
      const { vectors: own, usage } = await ctx.models.embed(part, { idempotencyKey, signal });
      return { usage, value: own };
    });
    vectors.push(...bought);
  }
  return vectors;
}

/**
 * Orders documents by how well they answer a query, the best first, in one recorded step.
 * @returns places of the documents in the call, with their scores
 * @throws NodeFailure as `ctx.models.rerank`; CONFIG_INVALID
 */
export async function rerankDocuments(
  ctx: NodeContext,
  call: RerankCall,
  options: VectorStepOptions = {},
): Promise<RerankResponse['ranking']> {
  refuseUnknownKeys('rerankDocuments', call, ['model', 'query', 'documents', 'top', 'provider']);
  refuseUnknownKeys('rerankDocuments', options, ['retry', 'timeoutMs']);
  checkModel('rerankDocuments', call.model);
  if (call.documents.length === 0) return [];
  return buy(ctx, 'rerank', call, [call.query, ...call.documents], options, async ({ idempotencyKey, signal }) => {
    const { ranking, usage } = await ctx.models.rerank(call, { idempotencyKey, signal });
    return { usage, value: ranking };
  });
}

export interface Bought<Value> {
  readonly usage: ModelUsage;
  readonly value: Value;
}

/** Makes the call in a step that is named by its content, and reserves in budgets what it may spend. @param call - what identifies it */
export function buy<Value>(
  ctx: NodeContext,
  kind: string,
  call: { readonly model: string },
  texts: readonly string[],
  { retry = defaultRetry, timeoutMs }: VectorStepOptions,
  make: (step: StepContext) => Promise<Bought<Value>>,
): Promise<Value> {
  const key = new MessageKeys().keyOf(call, []);
  const inputTokens = texts.reduce((sum, text) => sum + tokensOfText(text), 0);
  const bounds = { ...(timeoutMs !== undefined && { timeoutMs }) };
  return ctx.step(
    `${kind} ${key}`,
    {
      effect: 'external',
      idempotent: true,
      isModelCall: true,
      about: `a call of the model ${call.model}`,
      input: key,
      retry,
      ...bounds,
      atMost: () => boundsOf(ctx.models, { model: call.model, tokensMax: 0 }, inputTokens, bounds),
    },
    (step) =>
      spendSeconds(ctx, ctx, async () => {
        const { usage, value } = await make(step);
        spendTokens(ctx, ctx, usage);
        return value;
      }),
  );
}
