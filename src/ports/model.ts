/** The model port: one call of a language model. A call is `external` and `idempotent`: one in flight may be paid twice, and is counted (X6). */

export interface ModelMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface ModelRequest {
  /** Which model, as `provider:name` or a name that the configuration maps. */
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly temperature?: number;
  /** Tokens of the answer. */
  readonly tokensMax?: number;
  /** JSON Schema that the answer must fit; the adapter asks the provider for it where it can. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** Handed to the provider where it has use for it. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Told of each piece of the answer as it comes. */
  readonly onText?: (text: string) => void;
}

export interface ModelResponse {
  readonly text: string;
  /** The model that answered. */
  readonly model: string;
  readonly finishReason: string;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
}

/** A source of answers. */
export interface Models {
  /** @throws NodeFailure MODEL_UNAVAILABLE (retried), MODEL_REFUSED (`applied: 'no'`), MODEL_UNKNOWN (`applied: 'no'`, names those there are) */
  generate(request: ModelRequest): Promise<ModelResponse>;
}
