/** The blocks ReadJSONState, WriteJSONState and MergeJSONState: a JSON object kept in a file. */
import type { InputField, Inputs, NodeType } from '../../../graph/contracts/node-type.ts';
import { isPlainObject } from '../../../state/values/plain.ts';
import { beforeEffect } from '../../draft/before-effect.ts';
import { fileFailure } from '../../file/file-failure.ts';
import { changeInTurn, lookAtTarget } from '../../file/local-file.ts';
import { pathNeeds, resolveLocalPath } from '../../file/local-path.ts';
import { fieldsOf, flagOption, optionFaults, outputField, refuseInput, requireText, textField } from '../fields.ts';
import { mergeDeep, readJsonFile, writeJsonFile, type JsonObject } from './json-file.ts';

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
