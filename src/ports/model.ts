/** The model port: one call of a language model. A call is `external` and `idempotent`: one in flight may be paid twice, and is counted (X6). */
import type { ModelCall, ModelDelta, ModelResponse, ModelUsage } from '../graph/contracts/model-contract.ts';

/** A call, and how it is made. */
export interface ModelRequest extends ModelCall {
  /** Handed to the provider where it has use for it. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Told of each piece of the answer as it comes. Without it the answer is asked for in one piece. */
  readonly onDelta?: (delta: ModelDelta) => void;
}

/** A source of answers. */
export interface Models {
  /**
   * One turn of a model: tools are offered, never run. The response's text is whatever came, whether it fits the schema or not.
   * @throws NodeFailure MODEL_UNAVAILABLE (may be tried again), MODEL_REFUSED (`applied: 'no'`), MODEL_UNKNOWN (`applied: 'no'`, names those there are)
   */
  generate(request: ModelRequest): Promise<ModelResponse>;
  /** What a call of a model costs that takes so much, where its price is known. */
  costOf?(model: string, usage: ModelUsage): number | undefined;
}
