/** What `cairn.config.*` may say, and whether it does: every fault at once. */
import type { CheckpointSettings } from '../../dialects/text-workflow.ts';
import { CairnError } from '../../errors.ts';
import type { NodeType } from '../../graph/contracts/node-type.ts';
import type { LimitsByProvider, ModelLimits, ModelPrice, ModelPrices, ModelProfile } from '../../models/index.ts';
import type { Models } from '../../ports/model.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import { schemaFaults, type Schema } from '../../schema/json-schema.ts';

/** The configuration of a working folder: docs/guide/cli.md. Options of a command come before it. */
export interface Config {
  /** Where runs are kept: a store URL; paths start at the configuration's folder. */
  readonly store?: string;
  /** Folders of workflows; later ones override earlier ones. */
  readonly workflows?: readonly string[];
  /** How checkpoints of runs are kept, for what a workflow leaves open. */
  readonly checkpoint?: CheckpointSettings;
  /** What is kept out of the store: names of keys, and places (`inputs.card.number`); nothing may read it. Default: nothing is. */
  readonly redact?: { readonly store?: readonly string[] };
  /** What workflows given as texts may reach for, as `--allow` takes it. */
  readonly allow?: readonly string[];
  /** Blocks of your own; only where the configuration is code. */
  readonly nodeTypes?: readonly NodeType[];
  /** Models by names of your own; or where answers come from, if the configuration is code. Default: any `provider:model` of the AI SDK. */
  readonly models?: Models | ModelNames;
  /** What a million tokens of a model cost, by `provider:model`. Default: no cost is told. */
  readonly prices?: ModelPrices;
  /** What each provider allows this process, by its name. Default: no bounds. */
  readonly limits?: LimitsByProvider;
  /** Told of runs, attempts, and calls of models and tools; only where the configuration is code. Default: nobody is. */
  readonly telemetry?: Telemetry;
}

/** `provider:model`, or that with settings, by the name that `LLMCall` uses. */
export type ModelNames = Readonly<Record<string, string | ModelProfile>>;

/** Whether models are a source of answers rather than names. */
export function isModels(models: Models | ModelNames): models is Models {
  return 'generate' in models && typeof models.generate === 'function';
}

const texts: Schema = { type: 'array', items: { type: 'string', minLength: 1 } };
const positive: Schema = { type: 'number', exclusiveMinimum: 0 };

const checkpointFields: Readonly<Record<keyof CheckpointSettings, Schema>> = {
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
  cached: price,
  cacheWrite: price,
};

const limitFields: Readonly<Record<keyof ModelLimits, Schema>> = {
  concurrency: { type: 'integer', minimum: 1 },
  requestsPerMinute: { type: 'integer', minimum: 1 },
  tokensPerMinute: { type: 'integer', minimum: 1 },
};

const dataFields: Readonly<Record<string, Schema>> = {
  store: { type: 'string', minLength: 1 },
  workflows: texts,
  checkpoint: { type: 'object' },
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
  redact: { type: 'object', properties: { store: texts }, additionalProperties: false },
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
    const given = (value as Readonly<Record<string, unknown>>)[name];
    return given === undefined ? [] : schemaFaults(schema, given, `${path}${name}`);
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

function modelFaults(models: unknown): readonly string[] {
  if (models === undefined) return [];
  if (typeof models !== 'object' || models === null || Array.isArray(models)) return ['models is no mapping of names'];
  if (isModels(models as ModelNames)) return [];
  return Object.entries(models).flatMap(([name, given]: readonly [string, unknown]) => {
    const path = `models.${name}`;
    if (typeof given !== 'object' || given === null) return schemaFaults(modelName, given, path);
    return [
      ...unknownKeys(given, Object.keys(modelFields), `${path}.`),
      ...fieldFaults(given, modelFields, `${path}.`),
      ...('model' in given ? [] : [`${path}.model is missing`]),
    ];
  });
}

/**
 * @param file - for messages
 * @param isCode - whether the value comes from a module
 * @throws CONFIG_INVALID with every fault
 */
export function checkConfig(value: unknown, file: string, isCode: boolean): Config {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CairnError('CONFIG_INVALID', { path: file, reason: 'it holds no settings by name' });
  const { checkpoint = {}, nodeTypes, models, telemetry } = value as { readonly [Key in keyof Config]?: unknown };
  const hasSettings = typeof checkpoint === 'object' && checkpoint !== null && !Array.isArray(checkpoint);
  const faults = [
    ...unknownKeys(value, [...Object.keys(dataFields), 'nodeTypes', 'models', 'telemetry'], ''),
    ...fieldFaults(value, dataFields, ''),
    ...(hasSettings ? unknownKeys(checkpoint, Object.keys(checkpointFields), 'checkpoint.') : []),
    ...(hasSettings ? fieldFaults(checkpoint, checkpointFields, 'checkpoint.') : []),
    ...nodeTypeFaults(nodeTypes, isCode),
    ...modelFaults(models),
    ...telemetryFaults(telemetry, isCode),
  ];
  if (faults.length > 0) throw new CairnError('CONFIG_INVALID', { path: file, reason: faults.join('; '), faults });
  return value;
}
