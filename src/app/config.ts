/** What `cairn.config.*` may say, and whether it does: every fault at once. */
import type { CheckpointSettings } from '../dialects/yaml/yaml-workflow.ts';
import { CairnError } from '../errors.ts';
import type { NodeType } from '../graph/node-type.ts';
import type { Models } from '../ports/model.ts';
import { schemaFault, type Schema } from '../state/json-schema.ts';

/** The configuration of a working folder: docs/guide/cli.md. Options of a command come before it. */
export interface Config {
  /** Where runs are kept: a store URL; paths start at the configuration's folder. */
  readonly store?: string;
  /** Folders of workflows; later ones override earlier ones. */
  readonly workflows?: readonly string[];
  /** How checkpoints of runs are kept, for what a workflow leaves open. */
  readonly checkpoint?: CheckpointSettings;
  /** What workflows given as texts may reach for, as `--allow` takes it. */
  readonly allow?: readonly string[];
  /** Blocks of your own; only where the configuration is code. */
  readonly nodeTypes?: readonly NodeType[];
  /** Where `LLMCall` gets its answers; only where the configuration is code. */
  readonly models?: Models;
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

const dataFields: Readonly<Record<string, Schema>> = {
  store: { type: 'string', minLength: 1 },
  workflows: texts,
  checkpoint: { type: 'object' },
  allow: texts,
};
/** Values with code in them, which text cannot hold. */
const codeFields: readonly string[] = ['nodeTypes', 'models'];

function unknownKeys(value: object, known: readonly string[], path: string): readonly string[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `${path}${key} is not known; known are ${known.join(', ')}`);
}

function fieldFaults(value: object, fields: Readonly<Record<string, Schema>>, path: string): readonly string[] {
  return Object.entries(fields).flatMap(([name, schema]) => {
    const given = (value as Readonly<Record<string, unknown>>)[name];
    const fault = given === undefined ? undefined : schemaFault(schema, given, `${path}${name}`);
    return fault === undefined ? [] : [fault];
  });
}

function codeFaults({ nodeTypes, models }: Readonly<Record<string, unknown>>, isCode: boolean): readonly string[] {
  const inText = codeFields.filter((name) => !isCode && { nodeTypes, models }[name] !== undefined);
  if (inText.length > 0) return inText.map((name) => `${name} is code: say it in cairn.config.ts`);
  const isType = (each: unknown): boolean =>
    typeof each === 'object' && each !== null && 'name' in each && 'run' in each && typeof each.run === 'function';
  const isModels =
    models === undefined ||
    (typeof models === 'object' && models !== null && 'generate' in models && typeof models.generate === 'function');
  return [
    ...(nodeTypes === undefined || (Array.isArray(nodeTypes) && nodeTypes.every(isType))
      ? []
      : ['nodeTypes is no list of node types']),
    ...(isModels ? [] : ['models has no function generate']),
  ];
}

/**
 * @param file - for messages
 * @param isCode - whether the value comes from a module
 * @throws CONFIG_INVALID with every fault
 */
export function checkConfig(value: unknown, file: string, isCode: boolean): Config {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CairnError('CONFIG_INVALID', { path: file, reason: 'it holds no settings by name' });
  const { checkpoint = {} } = value as { readonly checkpoint?: unknown };
  const hasSettings = typeof checkpoint === 'object' && checkpoint !== null && !Array.isArray(checkpoint);
  const faults = [
    ...unknownKeys(value, [...Object.keys(dataFields), ...codeFields], ''),
    ...fieldFaults(value, dataFields, ''),
    ...(hasSettings ? unknownKeys(checkpoint, Object.keys(checkpointFields), 'checkpoint.') : []),
    ...(hasSettings ? fieldFaults(checkpoint, checkpointFields, 'checkpoint.') : []),
    ...codeFaults(value as Readonly<Record<string, unknown>>, isCode),
  ];
  if (faults.length > 0) throw new CairnError('CONFIG_INVALID', { path: file, reason: faults.join('; '), faults });
  return value;
}
