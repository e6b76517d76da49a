/** What the models of the AI SDK are told beforehand. */

/** How a provider is reached. What is not given, its package takes from the environment. */
export interface ProviderSettings {
  /** Default: that of a known provider, else `@ai-sdk/NAME`. */
  readonly package?: string;
  /** A function is asked at each call, so that a key may change while a process runs. */
  readonly apiKey?: string | (() => string | Promise<string>);
  readonly baseURL?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of an OpenAI-compatible server: it can be asked for answers that fit a schema, and not for any JSON only. */
  readonly supportsStructuredOutputs?: boolean;
  /** Bytes of the largest image that it takes. Default: what is known of the provider. */
  readonly imageBytesMax?: number;
}

/** A model by another name, with settings that hold where a request has none. */
export interface ModelProfile {
  /** `provider:model`. */
  readonly model: string;
  readonly temperature?: number;
  readonly tokensMax?: number;
}
