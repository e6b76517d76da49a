/** The block RenderTemplate: writes a file from a template, for older workflows. It is CreateFile with other names. */
import type { Inputs, NodeType } from '../../../graph/contracts/node-type.ts';
import { createFile } from './create-file.ts';
import { outputField, textField } from '../fields.ts';

const { encoding, overwrite, create_parents: createParents } = createFile.inputs;

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
    ...(overwrite !== undefined && { overwrite }),
    ...(createParents !== undefined && { create_parents: createParents }),
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
