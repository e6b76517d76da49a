/** The contents of `cairn.config.*`, and their validation, which reports every fault at once. */
import type { RunWaker } from '../../engine/api.ts';
import type { Versioning } from '../../engine/worker.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { CheckpointSettings } from '../../dialects/text-workflow.ts';
import { CairnError } from '../../errors.ts';
import type { NodeType } from '../../graph/contracts/node-type.ts';
import { retentionFaults, type RetentionSettings } from '../../graph/retention.ts';
import type { LimitsByProvider, ModelLimits, ModelPrice, ModelPrices, ModelProfile } from '../../models/index.ts';
import type { Models } from '../../ports/model.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { webhookFaults, type Webhook } from '../../graph/webhooks.ts';
import { schemaFaults, type Schema } from '../../schema/json-schema.ts';
import { hookFaults, type Hook } from '../webhooks/hook.ts';
import { withProvider, costOf, type AllModels } from '../../models/ai-sdk.ts';

// The secret port over the environment: `secret:NAME` is the variable NAME.

export const environmentSecrets: Secrets = {
  read: (name) => process.env[name],
};

/** Reads what a reference (`secret:NAME`) stands for. @throws SECRET_MISSING */
export async function readReference(reference: string, secrets: Secrets = environmentSecrets): Promise<string> {
  const name = reference.slice('secret:'.length);
  const value = await secrets.read(name);
  if (value === undefined) throw new CairnError('SECRET_MISSING', { name });
  return value;
}

/** The configuration of a folder: docs/guide/cli.md. Options of a command override it. */
export interface Config {
  /** URL of the store for runs. Paths are relative to the configuration's folder. */
  readonly store?: string;
  /** URL of the folder of its large values, `file:FOLDER`; a bucket is named by options and the environment. Default: beside the store. */
  readonly blobs?: string;
  /** Folders of workflows. If two have the same name, the one in the later folder is used. */
  readonly workflows?: readonly string[];
  /** Modules of graphs. A preview may import them for runs that name them; of other modules only the one of `--file`. */
  readonly modules?: readonly string[];
  /** Default settings for keeping checkpoints; a workflow may override them. */
  readonly checkpoint?: CheckpointSettings;
  /** Which runs that ended are kept, of graphs that do not say it themselves. */
  readonly retention?: RetentionSettings;
  /** Values that must never be stored: names of keys, and paths (`inputs.card.number`). Nothing can read them. Default: none. */
  readonly redact?: { readonly store?: readonly string[] };
  /** Permissions of workflows that are passed as text, in the syntax of `--allow`. */
  readonly allow?: readonly string[];
  /** Blocks of your own. Only if the configuration is code. */
  readonly nodeTypes?: readonly NodeType[];
  /** Aliases for models; or, if the configuration is code, the source of models itself. Default: any `provider:model` of the AI SDK. */
  readonly models?: Models | ModelNames;
  /** Prices of models per million tokens, by `provider:model`. Default: costs are not reported. */
  readonly prices?: ModelPrices;
  /** Rate limits by provider. Default: no limits. */
  readonly limits?: LimitsByProvider;
  /** The host that advances runs. Whoever starts, answers, signals or cancels one wakes it. Default: none. */
  readonly host?: ConfiguredHost;
  /** Answers by links, at the servers of this folder. */
  readonly answerLinks?: ConfiguredLinks;
  /** What the ends and questions of all runs are told to, beside what their graphs say. */
  readonly webhooks?: readonly Webhook[];
  /** Deliveries of other systems, which `serve` takes at `/v1/hooks/NAME`. Only if the configuration is code. Default: none. */
  readonly hooks?: Readonly<Record<string, Hook>>;
  /** Which graph of the modules people chat with, by the id of its agent's node. For `serve` and `studio`. Default: none. */
  readonly chat?: ConfiguredChat;
  /** How long a node may hold the event loop of a command before its leases are renewed no longer, in ms. Default 5 minutes; 0: they never are. */
  readonly busyMaxMs?: number;
  /**
   * Which runs of other code `cairn worker` takes up, by the hash of their graph and its version: those that no live worker has the code of
   * (`prefer`), or none (`pinned`). Default `prefer`.
   */
  readonly versioning?: Versioning;
  /** Receives spans of runs, attempts, and model and tool calls. Only if the configuration is code. Default: no telemetry. */
  readonly telemetry?: Telemetry;
}

/** A host by its address: one of `fetch` (see `wakeByFetch`) and `restate` (the server's ingress), and `secret:NAME` for its token. */
export interface ConfiguredHost {
  readonly fetch?: string;
  readonly restate?: string;
  readonly token?: string;
}

/** How answer links are signed (`secret:NAME`), and where the server is for those who get them. */
export interface ConfiguredLinks {
  readonly secret: string;
  readonly url: string;
}

/** A graph whose runs are chats: see `ChatOptions`. */
export interface ConfiguredChat {
  readonly node: string;
  /** Default: the only graph of the modules. */
  readonly graph?: string;
  /** Default `message`. */
  readonly signal?: string;
}

/** Models by the name that `LLMCall` uses: each is `provider:model`, alone or with settings. */
export type ModelNames = Readonly<Record<string, string | ModelProfile>>;

/** Whether `models` is a source of models and not a table of aliases. */
function isModels(models: Models | ModelNames): models is Models {
  return 'generate' in models && typeof models.generate === 'function';
}

const texts: Schema = { type: 'array', items: { type: 'string', minLength: 1 } };
const positive: Schema = { type: 'number', exclusiveMinimum: 0 };

const checkpointFields: Readonly<Record<Exclude<keyof CheckpointSettings, 'retention'>, Schema>> = {
  enabled: { type: 'boolean' },
  max_per_workflow: { type: 'integer', minimum: 1 },
  ttl_seconds: positive,
  keep_paused: { type: 'boolean' },
  auto_cleanup: { type: 'boolean' },
  cleanup_interval_seconds: positive,
  max_checkpoint_size_mb: positive,
};

const price: Schema = { type: 'number', minimum: 0 };
const priceFields: Readonly<Record<keyof ModelPrice, Schema>> = {
  input: price,
  output: price,
  call: price,
  cached: price,
  cacheWrite: price,
};

const limitFields: Readonly<Record<keyof ModelLimits, Schema>> = {
  concurrency: { type: 'integer', minimum: 1 },
  requestsPerMinute: { type: 'integer', minimum: 1 },
  tokensPerMinute: { type: 'integer', minimum: 1 },
};

const address: Schema = { type: 'string', pattern: '^https?://.+$' };
const hostFields: Readonly<Record<keyof ConfiguredHost, Schema>> = {
  fetch: address,
  restate: address,
  token: { type: 'string', pattern: '^secret:.+$' },
};

const linkFields: Readonly<Record<keyof ConfiguredLinks, Schema>> = {
  secret: { type: 'string', pattern: '^secret:.+$' },
  url: address,
};

const chatFields: Readonly<Record<keyof ConfiguredChat, Schema>> = {
  node: { type: 'string', minLength: 1 },
  graph: { type: 'string', minLength: 1 },
  signal: { type: 'string', minLength: 1 },
};

const dataFields: Readonly<Record<string, Schema>> = {
  store: { type: 'string', minLength: 1 },
  blobs: { type: 'string', minLength: 1 },
  workflows: texts,
  modules: texts,
  checkpoint: { type: 'object' },
  retention: { type: 'object' },
  allow: texts,
  prices: {
    type: 'object',
    additionalProperties: {
      type: 'object',
      properties: priceFields,
      required: ['input', 'output'],
      additionalProperties: false,
    },
  },
  limits: {
    type: 'object',
    additionalProperties: { type: 'object', properties: limitFields, additionalProperties: false },
  },
  busyMaxMs: { type: 'number', minimum: 0 },
  versioning: { type: 'string', enum: ['prefer', 'pinned'] satisfies readonly Versioning[] },
  redact: { type: 'object', properties: { store: texts }, additionalProperties: false },
  host: { type: 'object', properties: hostFields, additionalProperties: false },
  answerLinks: { type: 'object', properties: linkFields, required: ['secret', 'url'], additionalProperties: false },
  webhooks: { type: 'array' },
  chat: { type: 'object', properties: chatFields, required: ['node'], additionalProperties: false },
};
const modelName: Schema = { type: 'string', pattern: '^[^:]+:.+$' };
const modelFields: Readonly<Record<string, Schema>> = {
  model: modelName,
  temperature: { type: 'number', minimum: 0 },
  tokensMax: { type: 'integer', minimum: 1 },
};

function unknownKeys(value: object, known: readonly string[], path: string): readonly string[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `${path}${key} is not known; known are ${known.join(', ')}`);
}

function fieldFaults(value: object, fields: Readonly<Record<string, Schema>>, path: string): readonly string[] {
  return Object.entries(fields).flatMap(([name, schema]) => {
    const field = (value as Readonly<Record<string, unknown>>)[name];
    return field === undefined ? [] : schemaFaults(schema, field, `${path}${name}`);
  });
}

function nodeTypeFaults(nodeTypes: unknown, isCode: boolean): readonly string[] {
  if (nodeTypes === undefined) return [];
  if (!isCode) return ['nodeTypes is code: say it in cairn.config.ts'];
  const isType = (each: unknown): boolean =>
    typeof each === 'object' && each !== null && 'name' in each && 'run' in each && typeof each.run === 'function';
  return Array.isArray(nodeTypes) && nodeTypes.every(isType) ? [] : ['nodeTypes is no list of node types'];
}

function telemetryFaults(telemetry: unknown, isCode: boolean): readonly string[] {
  if (telemetry === undefined) return [];
  if (!isCode) return ['telemetry is code: say it in cairn.config.ts'];
  const { startSpan, count } = (telemetry ?? {}) as { readonly startSpan?: unknown; readonly count?: unknown };
  return typeof startSpan === 'function' && typeof count === 'function'
    ? []
    : ['telemetry has no startSpan and count: it is no telemetry'];
}

function hostFaults(host: unknown): readonly string[] {
  if (typeof host !== 'object' || host === null) return [];
  return 'fetch' in host === 'restate' in host ? ['host needs one of fetch and restate: where it is reached'] : [];
}

function modelFaults(models: unknown): readonly string[] {
  if (models === undefined) return [];
  if (typeof models !== 'object' || models === null || Array.isArray(models)) return ['models is no mapping of names'];
  if (isModels(models as ModelNames)) return [];
  return Object.entries(models).flatMap(([name, model]: readonly [string, unknown]) => {
    const path = `models.${name}`;
    if (typeof model !== 'object' || model === null) return schemaFaults(modelName, model, path);
    return [
      ...unknownKeys(model, Object.keys(modelFields), `${path}.`),
      ...fieldFaults(model, modelFields, `${path}.`),
      ...('model' in model ? [] : [`${path}.model is missing`]),
    ];
  });
}

/**
 * Validates a configuration.
 * @param file - the file's path, for messages
 * @param isCode - whether the value was exported by a module
 * @throws CONFIG_INVALID with every fault
 */
export function checkConfig(value: unknown, file: string, isCode: boolean): Config {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CairnError('CONFIG_INVALID', { path: file, reason: 'it holds no settings by name' });
  const {
    checkpoint = {},
    retention,
    nodeTypes,
    models,
    telemetry,
    hooks,
    host,
    webhooks,
  } = value as { readonly [Key in keyof Config]?: unknown };
  const hasSettings = typeof checkpoint === 'object' && checkpoint !== null && !Array.isArray(checkpoint);
  const faults = [
    ...unknownKeys(value, [...Object.keys(dataFields), 'nodeTypes', 'models', 'telemetry', 'hooks'], ''),
    ...fieldFaults(value, dataFields, ''),
    ...(hasSettings ? unknownKeys(checkpoint, Object.keys(checkpointFields), 'checkpoint.') : []),
    ...(hasSettings ? fieldFaults(checkpoint, checkpointFields, 'checkpoint.') : []),
    ...(retention === undefined ? [] : retentionFaults(retention)),
    ...nodeTypeFaults(nodeTypes, isCode),
    ...modelFaults(models),
    ...hostFaults(host),
    ...(Array.isArray(webhooks) ? webhookFaults(webhooks) : []),
    ...telemetryFaults(telemetry, isCode),
    ...hookFaults(hooks, isCode),
  ];
  if (faults.length > 0) throw new CairnError('CONFIG_INVALID', { path: file, reason: faults.join('; '), faults });
  return value;
}

// The models of a configuration. The code that calls them is loaded at the first call.

/** @param models - a source of models, or aliases of models of the AI SDK, where any `provider:model` can be used too */
export function openModels(
  models: Models | ModelNames = {},
  prices: ModelPrices = {},
  limits: LimitsByProvider = {},
): Models {
  if (isModels(models)) return models;
  const profiles = profilesOf(models);
  let opened: Promise<AllModels> | undefined;
  const open = async (): Promise<AllModels> => {
    const { createAiSdkModels } = await import('../../models/index.ts');
    return createAiSdkModels({ profiles, prices, limits });
  };
  return {
    generate: async (request) => (await (opened ??= open())).generate(request),
    embed: async (request) => (await (opened ??= open())).embed(request),
    rerank: async (request) => (await (opened ??= open())).rerank(request),
    transcribe: async (request) => (await (opened ??= open())).transcribe(request),
    generateImages: async (request) => (await (opened ??= open())).generateImages(request),
    costOf: (model, usage) => costOf(prices, withProvider(profiles[model]?.model ?? model), usage).cost,
    tokensMaxOf: (model) => (Object.hasOwn(profiles, model) ? profiles[model]?.tokensMax : undefined),
  };
}

function profilesOf(models: ModelNames): Readonly<Record<string, ModelProfile>> {
  return Object.fromEntries(
    Object.entries(models).map(([name, model]) => [name, typeof model === 'string' ? { model } : model]),
  );
}

// The host of a configuration.

/** Wakes a host by its address; undefined if none is configured. Its code is loaded, and its secret read, at the first wake. */
export function openHost(host: ConfiguredHost | undefined, secrets: Secrets): RunWaker | undefined {
  if (host === undefined) return undefined;
  const open = async (): Promise<RunWaker> => {
    const { wakeByFetch, wakeByRestate } = await import('../wake-host.ts');
    const token = host.token && (await secrets.read(host.token.slice('secret:'.length)));
    const { fetch: url, restate: ingress = '' } = host;
    return url === undefined ? wakeByRestate({ ingress, token }) : wakeByFetch({ url, token });
  };
  let opened: Promise<RunWaker> | undefined;
  return { wake: async (...wake) => (await (opened ??= open())).wake(...wake) };
}
