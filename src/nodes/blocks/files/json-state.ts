/** The blocks ReadJSONState, WriteJSONState and MergeJSONState: a JSON object in a file. */
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import { isPlainObject } from '../../../state/values/plain-object.ts';
import { fileFailure, type IsGranted, readRegularFile } from '../../file/files.ts';
import { writeLocalFile, changeInTurn, lookAtTarget, pathNeeds, resolveLocalPath } from '../../file/local-path.ts';
import { fileLimitBytes } from './read-file.ts';
import type { InputField, Inputs, NodeType } from '../../../graph/contracts/node-type.ts';
import { beforeEffect } from '../../draft/before-effect.ts';
import {
  fieldsOf,
  flagOption,
  optionFaults,
  outputField,
  refuseInput,
  requireText,
  textField,
} from '../block-options.ts';

// Files that hold a JSON object. They are parsed strictly, and written atomically with sorted keys.

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads a file; undefined if it does not exist. @throws NodeFailure JSON_INVALID, FILE_TOO_LARGE, NOT_A_FILE, or the code of the operating
 * system
 */
async function readJsonFile(path: string, isGranted: IsGranted): Promise<JsonObject | undefined> {
  const bytes = await readRegularFile(path, { limitBytes: fileLimitBytes, isGranted }).catch((error: unknown) => {
    if (error instanceof NodeFailure && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (bytes === undefined) return undefined;
  const value = parse(bytes, path);
  if (!isPlainObject(value)) throw fileFailure('JSON_INVALID', path, 'holds no JSON object');
  return value;
}

export interface JsonWrite {
  readonly path: string;
  readonly data: JsonObject;
  readonly createParents: boolean;
  readonly key: string;
  readonly isGranted: IsGranted;
}

/**
 * Writes a file with sorted keys, two spaces of indentation, and a newline at the end. @returns bytes written. @throws NodeFailure
 * JSON_INVALID `data` contains what JSON cannot express
 */
async function writeJsonFile({ path, data, createParents, key, isGranted }: JsonWrite): Promise<number> {
  const bytes = Buffer.from(`${JSON.stringify(sortKeys(data), undefined, 2)}\n`);
  await writeLocalFile({ path, bytes, createParents, key, isGranted });
  return bytes.length;
}

/** Merges objects key by key. Any other value, lists and null included, replaces the old one. */
export function mergeDeep(before: JsonObject, updates: JsonObject): JsonObject {
  const merged = new Map<string, unknown>(Object.entries(before));
  for (const [key, update] of Object.entries(updates)) {
    const old = merged.get(key);
    merged.set(key, isPlainObject(old) && isPlainObject(update) ? mergeDeep(old, update) : update);
  }
  // Object.fromEntries treats `__proto__` like any other key.
  return Object.fromEntries(merged);
}

function sortKeys(value: unknown, place = 'data'): unknown {
  if (Array.isArray(value)) return value.map((item, index) => sortKeys(item, `${place}[${index}]`));
  if (!isPlainObject(value)) return isJson(value) ? value : refuseValue(place);
  const keys = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort();
  return Object.fromEntries(keys.map((key) => [key, sortKeys(value[key], `${place}.${key}`)]));
}

function isJson(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

function refuseValue(place: string): never {
  throw new NodeFailure(`${place} is a value that JSON does not have`, {
    code: 'JSON_INVALID',
    applied: 'no',
    data: { place },
  });
}

function parse(bytes: Buffer, path: string): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return JSON.parse(text, keepExact) as unknown;
  } catch (error) {
    throw fileFailure('JSON_INVALID', path, error instanceof RangeError ? error.message : 'is no valid JSON');
  }
}

/** Refuses integers that a number cannot hold exactly: they would be written back changed. */
function keepExact(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const isRounded = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '');
  if (isRounded) throw new RangeError(`holds ${context?.source ?? ''}, which is too large to be kept exactly`);
  return value;
}

const path: InputField = textField('The file; `~/` is the home folder.', { isRequired: true });
const pathOutput = outputField('string', 'Absolute.');
const required = flagOption('required', 'Fail with ENOENT if it is not there.', false);
const createParents = flagOption('create_parents', 'Make missing folders.', true);
const createIfMissing = flagOption('create_if_missing', 'Begin with an empty object; false fails with ENOENT.', true);
const mergeOptions = [createIfMissing, createParents];

/** The `ReadJSONState` of docs/spec/blocks.md. */
export const readJsonState: NodeType = {
  name: 'ReadJSONState',
  description: 'Reads a JSON object from a file.',
  inputs: { path, ...fieldsOf([required]) },
  outputs: {
    data: outputField('object', 'What the file holds; empty if it is not there.'),
    found: outputField('boolean', 'Whether the file is there.'),
    path: pathOutput,
    state: { ...outputField('object', 'The same as data, in older files.'), aliasOf: 'data' },
  },
  effect: 'read',
  needs: ({ path }) => pathNeeds(path),
  check: (inputs) => optionFaults([required], inputs),
  run: async ({ inputs, signal, isGranted }) => {
    signal.throwIfAborted();
    const file = resolveLocalPath(requireText(inputs, 'path'));
    const data = await readJsonFile(file, isGranted);
    if (data === undefined && required.read(inputs)) throw fileFailure('ENOENT', file, 'is not there');
    return { data: data ?? {}, found: data !== undefined, path: file };
  },
};

/** The `WriteJSONState` of docs/spec/blocks.md. */
export const writeJsonState: NodeType = {
  name: 'WriteJSONState',
  description: 'Writes a JSON object to a file.',
  inputs: {
    path,
    data: { schema: { type: 'object' }, description: 'What the file is to hold.', isRequired: true },
    ...fieldsOf([createParents]),
  },
  outputs: { path: pathOutput, size_bytes: outputField('integer', 'Bytes of the file.') },
  effect: 'write',
  idempotent: true,
  needs: ({ path }) => pathNeeds(path),
  check: (inputs) => optionFaults([createParents], inputs),
  run: async ({ inputs, idempotencyKey: key, signal, isGranted }) => {
    const { file, object: data } = await beforeEffect(() => readInputs(inputs, 'data'));
    return changeInTurn(file, async () => {
      signal.throwIfAborted();
      await lookAtTarget(file);
      const sizeBytes = await writeJsonFile({
        path: file,
        data,
        createParents: createParents.read(inputs),
        key,
        isGranted,
      });
      return { path: file, size_bytes: sizeBytes };
    });
  },
};

/** The `MergeJSONState` of docs/spec/blocks.md. */
export const mergeJsonState: NodeType = {
  name: 'MergeJSONState',
  description: 'Merges an object into the JSON object of a file.',
  inputs: {
    path,
    updates: {
      schema: { type: 'object' },
      description: 'Objects are merged key by key; anything else replaces what was there.',
      isRequired: true,
    },
    ...fieldsOf(mergeOptions),
  },
  outputs: {
    path: pathOutput,
    created: outputField('boolean', 'Whether the file was not there before.'),
    merged_data: outputField('object', 'What the file holds now.'),
  },
  effect: 'write',
  idempotent: true,
  needs: ({ path }) => pathNeeds(path),
  check: (inputs) => optionFaults(mergeOptions, inputs),
  run: async ({ inputs, idempotencyKey: key, signal, isGranted }) => {
    const { file, object: updates } = await beforeEffect(() => readInputs(inputs, 'updates'));
    return changeInTurn(file, async () => {
      signal.throwIfAborted();
      await lookAtTarget(file);
      const before = await readJsonFile(file, isGranted);
      if (before === undefined && !createIfMissing.read(inputs)) throw fileFailure('ENOENT', file, 'is not there');
      const data = mergeDeep(before ?? {}, updates);
      await writeJsonFile({ path: file, data, createParents: createParents.read(inputs), key, isGranted });
      return { path: file, created: before === undefined, merged_data: data };
    });
  },
};

function readInputs(inputs: Inputs, name: string): { readonly file: string; readonly object: JsonObject } {
  const object = inputs[name];
  if (!isPlainObject(object)) throw refuseInput(name, 'is no object');
  return { file: resolveLocalPath(requireText(inputs, 'path')), object };
}
