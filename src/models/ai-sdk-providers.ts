/** Finds and opens the AI SDK package for a provider's name. */
import type { EmbeddingModel, ImageModel, LanguageModel, RerankingModel, TranscriptionModel } from 'ai';
import { CairnError } from '../errors.ts';
import { importPeer } from '../optional-peers.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';

// Settings of the AI SDK's providers and models.

/** How to reach a provider. What is missing, its package reads from the environment. */
export interface ProviderSettings {
  /** npm package of the provider. Default: that of a known provider, else `@ai-sdk/NAME`. */
  readonly package?: string;
  /** API key. A function is called for each request, so that a key may change while the process runs. */
  readonly apiKey?: string | (() => string | Promise<string>);
  readonly baseURL?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** For OpenAI-compatible servers: whether the server accepts a schema for the answer. If not, only JSON is requested. */
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

/** Providers whose package has another name, or that need further settings. */
const known: Readonly<Record<string, ProviderSettings>> = {
  gemini: { package: '@ai-sdk/google' },
  ollama: {
    package: '@ai-sdk/openai-compatible',
    baseURL: 'http://localhost:11434/v1',
    supportsStructuredOutputs: true,
  },
};

/** What a provider's package makes: a function that opens language models, with others for other kinds where it has them. */
export interface Provider {
  (model: string): LanguageModel;
  readonly embeddingModel?: (model: string) => EmbeddingModel;
  readonly textEmbeddingModel?: (model: string) => EmbeddingModel;
  readonly rerankingModel?: (model: string) => RerankingModel;
  readonly transcriptionModel?: (model: string) => TranscriptionModel;
  readonly imageModel?: (model: string) => ImageModel;
}
type CreateProvider = (settings: Readonly<Record<string, unknown>>) => Provider;

/** Opened providers. Each is opened once, and again when its key changes. */
export class OpenProviders {
  readonly #settings: Readonly<Record<string, ProviderSettings>>;
  readonly #opened = new Map<string, { readonly apiKey: string | undefined; readonly provider: Promise<Provider> }>();
  readonly #keys = new Set<string>();

  constructor(settings: Readonly<Record<string, ProviderSettings>>) {
    this.#settings = settings;
    for (const { apiKey } of Object.values(settings)) if (typeof apiKey === 'string') this.#keys.add(apiKey);
  }

  /** Every key used so far. Messages are checked against them, because no message may contain one. */
  get keys(): readonly string[] {
    return [...this.#keys];
  }

  /** Opens a provider. @throws CairnError CONFIG_MISSING_PEER, CONFIG_INVALID; the errors of a function that supplies the key */
  async open(name: string): Promise<Provider> {
    const { apiKey: configuredKey, ...settings } = (Object.hasOwn(this.#settings, name) && this.#settings[name]) || {};
    const apiKey = typeof configuredKey === 'function' ? await configuredKey() : configuredKey;
    if (apiKey !== undefined) this.#keys.add(apiKey);
    const known = this.#opened.get(name);
    if (known !== undefined && known.apiKey === apiKey) return known.provider;
    const provider = openProvider(name, { ...settings, ...(apiKey !== undefined && { apiKey }) });
    this.#opened.set(name, { apiKey, provider });
    return provider;
  }
}

async function openProvider(name: string, configured: ProviderSettings): Promise<Provider> {
  const { package: packageName = `@ai-sdk/${name}`, ...settings } = { ...known[name], ...configured };
  const module = await importPeer<Readonly<Record<string, unknown>>>(packageName, `ai ${packageName}`);
  // Each package exports one function of this kind: createOpenAI, createAnthropic, createGoogleGenerativeAI …
  const create = Object.entries(module).find(
    ([key, value]) => /^create[A-Z]/u.test(key) && typeof value === 'function',
  );
  if (create === undefined)
    throw new CairnError('CONFIG_INVALID', {
      path: `models.providers.${name}`,
      reason: `${packageName} is no provider of the AI SDK`,
    });
  // Servers that imitate OpenAI's protocol count the tokens of a stream only on request.
  return (create[1] as CreateProvider)({ name, includeUsage: true, ...settings });
}

/** Splits `provider:model`. @throws NodeFailure MODEL_UNKNOWN */
export function splitModel(model: string, profiles: readonly string[]): readonly [provider: string, name: string] {
  const colon = model.indexOf(':');
  if (colon > 0 && colon < model.length - 1) return [model.slice(0, colon), model.slice(colon + 1)];
  const there = profiles.length === 0 ? 'there are no profiles' : `profiles: ${profiles.join(', ')}`;
  throw new NodeFailure(`no model ${JSON.stringify(model)}: name one as provider:model, or a profile (${there})`, {
    code: 'MODEL_UNKNOWN',
    applied: 'no',
  });
}
