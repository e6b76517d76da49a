/** Settings of the AI SDK's providers and models. */

/** How to reach a provider. For what is not given, its package reads the environment. */
export interface ProviderSettings {
  /** npm package of the provider. Default: that of a known provider, else `@ai-sdk/NAME`. */
  readonly package?: string;
  /** API key. A function is called for each request, so that a key may change while the process runs. */
  readonly apiKey?: string | (() => string | Promise<string>);
  readonly baseURL?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** For OpenAI-compatible servers: whether the server accepts a schema for the answer. If not, it is only asked for JSON. */
  readonly supportsStructuredOutputs?: boolean;
  /** Size limit of images in bytes. Default: the known limit of the provider. */
  readonly imageBytesMax?: number;
}

/** An alias for a model, with default settings for requests that give none. */
export interface ModelProfile {
  /** The model, as `provider:model`. */
  readonly model: string;
  readonly temperature?: number;
  readonly tokensMax?: number;
}
