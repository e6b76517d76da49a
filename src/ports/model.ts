/**
 * The model port: one call of a language model. A call has class `external` and is `idempotent`: after a crash in the middle it is made
 * again, so it may be paid twice, and both count as spent (X6).
 */
import type {
  EmbedCall,
  EmbedResponse,
  ImageCall,
  ImageResponse,
  ModelCall,
  ModelDelta,
  ModelResponse,
  ModelUsage,
  RerankCall,
  RerankResponse,
  TranscribeCall,
  TranscribeResponse,
} from '../graph/contracts/model-messages.ts';

/** A call together with its key, signal and listener. */
export interface ModelRequest extends ModelCall {
  /** Passed to providers that support idempotency keys. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Called with each piece of the answer as it arrives. If absent, the answer is requested in one piece. */
  readonly onDelta?: (delta: ModelDelta) => void;
  /** Waits for a place of the provider's limit over all workers. Absent, or without a place: such limits are not used here. */
  readonly enter?: EnterProvider;
}

/** A place at a provider that all workers share. */
export interface ProviderPlace {
  /** Gives it back. @param tokens - what the call used; if undefined, what was reserved */
  leave(tokens?: number): void;
  /** The provider wants no call for this long. */
  hold(forMs: number): void;
}

/** @param provider - the part of a model's name before the colon. @param tokens - what the call uses, as far as is known */
export type EnterProvider = (
  provider: string,
  tokens: number,
  signal: AbortSignal,
) => Promise<ProviderPlace | undefined>;

export type EmbedRequest = EmbedCall & Pick<ModelRequest, 'idempotencyKey' | 'signal' | 'enter'>;
export type RerankRequest = RerankCall & Pick<ModelRequest, 'idempotencyKey' | 'signal' | 'enter'>;
export type TranscribeRequest = TranscribeCall & Pick<ModelRequest, 'idempotencyKey' | 'signal' | 'enter'>;
export type ImageRequest = ImageCall & Pick<ModelRequest, 'idempotencyKey' | 'signal' | 'enter'>;

/** Answers model calls. */
export interface Models {
  /**
   * Makes one turn of a model. Tools are only offered, never run. The text is returned as it came, whether or not it fits the schema.
   * @throws NodeFailure MODEL_UNAVAILABLE (may be retried), MODEL_REFUSED (`applied: 'no'`), MODEL_UNKNOWN (`applied: 'no'`, lists the
   * known ones)
   */
  generate(request: ModelRequest): Promise<ModelResponse>;
  /** Turns texts into vectors, one for each, in their order. If absent, such a call fails with MODEL_UNKNOWN. @throws as `generate` */
  embed?(request: EmbedRequest): Promise<EmbedResponse>;
  /** Orders documents, the best first. If absent, such a call fails with MODEL_UNKNOWN. @throws as `generate` */
  rerank?(request: RerankRequest): Promise<RerankResponse>;
  /** Turns speech into text. If absent, such a call fails with MODEL_UNKNOWN. @throws as `generate` */
  transcribe?(request: TranscribeRequest): Promise<TranscribeResponse>;
  /** Makes images. If absent, such a call fails with MODEL_UNKNOWN. @throws as `generate` */
  generateImages?(request: ImageRequest): Promise<ImageResponse>;
  /** The price of a call with this usage; undefined if the model's prices are not known. */
  costOf?(model: string, usage: ModelUsage): number | undefined;
  /** The most tokens of an answer where a call names no bound; undefined: the provider decides. */
  tokensMaxOf?(model: string): number | undefined;
}
