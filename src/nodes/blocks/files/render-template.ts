/** The block RenderTemplate: writes a file from a template, for older workflows. It is CreateFile with other names. */
import type { Reconciliation } from '../../../graph/contracts/node-contract.ts';
import type { InputFault, Inputs, NodeType, TypedNodeContext } from '../../../graph/contracts/node-type.ts';
import { beforeEffect } from '../../draft/before-effect.ts';
import { changeInTurn, lookAtTarget, writeLocalFile, pathNeeds, resolveLocalPath } from '../../file/local-path.ts';
import { readRegularFile } from '../../file/files.ts';
import {
  fieldsOf,
  flagOption,
  inputFault,
  optionFaults,
  outputField,
  readText,
  refuseInput,
  requireText,
  textField,
} from '../block-options.ts';
import { encodeText, encodingOption, fileLimitBytes } from './read-file.ts';

// The block CreateFile: writes a file completely or not at all.

const overwrite = flagOption('overwrite', 'Replace a file that is there; false fails with EEXIST.', true);
const createParents = flagOption('create_parents', 'Make missing folders.', true);
const options = [encodingOption, overwrite, createParents];

/** The `CreateFile` of docs/spec/blocks.md. */
export const createFile: NodeType = {
  name: 'CreateFile',
  description: 'Writes a file, whole or not at all.',
  inputs: {
    path: textField('The file; `~/` is the home folder.', { isRequired: true }),
    content: textField('The text.', { isRequired: true }),
    mode: {
      schema: { type: ['string', 'integer', 'null'] },
      description: "Permissions as octal text, `'644'`. Default: those of the file it replaces, else by the umask.",
    },
    ...fieldsOf(options),
  },
  outputs: {
    path: outputField('string', 'Absolute.'),
    size_bytes: outputField('integer', 'Bytes of the file.'),
    created: outputField('boolean', 'False if it was there before.'),
    content: outputField('string', 'The text.'),
  },
  effect: 'write',
  idempotent: true,
  needs: ({ path }) => pathNeeds(path),
  check: (inputs) => [...optionFaults(options, inputs), ...modeFaults(inputs)],
  run,
  reconcile,
};

function modeFaults(inputs: Inputs): readonly InputFault[] {
  return inputFault('mode', () => readMode(inputs)).map((fault) => ({ ...fault, fix: "write it as text: '644'" }));
}

/** Reads the mode, which must be a text. Numbers are refused, because 0644, 0o644 and 644 are three different numbers in YAML. */
function readMode({ mode }: Inputs): number | undefined {
  if (mode === undefined || mode === null) return undefined;
  const digits = typeof mode === 'string' ? /^(?:0o?)?([0-7]{3,4})$/.exec(mode)?.[1] : undefined;
  if (digits === undefined) throw refuseInput('mode', 'must be octal digits as text');
  return Number.parseInt(digits, 8);
}

interface Target {
  readonly path: string;
  readonly content: string;
  readonly bytes: Buffer;
}

function readTarget(inputs: Inputs): Target {
  const content = readText(inputs, 'content') ?? '';
  const path = resolveLocalPath(requireText(inputs, 'path'));
  return { path, content, bytes: encodeText(content, encodingOption.read(inputs)) };
}

async function run({ inputs, idempotencyKey, signal, isGranted }: TypedNodeContext): Promise<unknown> {
  const { path, content, bytes } = await beforeEffect(() => readTarget(inputs));
  const mode = readMode(inputs);
  const isExclusive = !overwrite.read(inputs);
  return changeInTurn(path, async () => {
    signal.throwIfAborted();
    const before = await lookAtTarget(path);
    await writeLocalFile({
      path,
      bytes,
      mode,
      key: idempotencyKey,
      isExclusive,
      createParents: createParents.read(inputs),
      isGranted,
    });
    return { path, size_bytes: bytes.length, created: before === undefined, content };
  });
}

/**
 * Finds out whether the write happened. If existing files must not be overwritten, a file with exactly this content is taken for our own;
 * writing again would only fail.
 */
async function reconcile({
  inputs,
  isGranted,
}: Parameters<NonNullable<NodeType['reconcile']>>[0]): Promise<Reconciliation> {
  const { path, content, bytes } = readTarget(inputs);
  if (overwrite.read(inputs)) return { happened: false };
  const found = await readRegularFile(path, { limitBytes: fileLimitBytes, isGranted }).catch(() => undefined);
  if (found?.equals(bytes) !== true) return { happened: false };
  return { happened: true, output: { path, size_bytes: bytes.length, created: true, content } };
}

const { encoding, overwrite: overwrite2, create_parents: createParents2 } = createFile.inputs;

/** Converts its inputs to those of CreateFile. */
function fileInputs({ template, output_path: path, ...rest }: Inputs): Inputs {
  return { ...rest, ...(path === undefined ? {} : { path }), ...(template === undefined ? {} : { content: template }) };
}

/** The `RenderTemplate` of docs/spec/blocks.md. */
export const renderTemplate: NodeType = {
  ...createFile,
  name: 'RenderTemplate',
  description: 'Writes a file from a template. CreateFile does the same with references in its content.',
  inputs: {
    template: textField('The text; {{ name }} stands for a variable.', { isRequired: true, kind: 'template' }),
    variables: { schema: { type: 'object' }, description: 'What the names of the template stand for.' },
    output_path: textField('The file; `~/` is the home folder.', { isRequired: true }),
    ...(encoding !== undefined && { encoding }),
    ...(overwrite2 !== undefined && { overwrite: overwrite2 }),
    ...(createParents2 !== undefined && { create_parents: createParents2 }),
  },
  outputs: {
    content: outputField('string', 'The text that was written.'),
    path: outputField('string', 'Absolute.'),
    output_path: { ...outputField('string', 'The same as path.'), aliasOf: 'path' },
    size_bytes: outputField('integer', 'Bytes of the file.'),
    created: outputField('boolean', 'False if it was there before.'),
  },
  needs: (inputs, pending) => createFile.needs?.(fileInputs(inputs), pending) ?? [],
  check: (inputs) => createFile.check?.(fileInputs(inputs)) ?? [],
  run: (ctx) => createFile.run(Object.create(ctx, { inputs: { value: fileInputs(ctx.inputs) } }) as typeof ctx),
  reconcile: ({ idempotencyKey, inputs }) =>
    createFile.reconcile?.({ idempotencyKey, inputs: fileInputs(inputs) }) ?? { happened: false },
};
