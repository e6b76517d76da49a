/** The block ReadFile: reads one file. It keeps the names of inputs and outputs that older workflows use. */
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { pathNeeds, resolveLocalPath } from '../../file/local-path.ts';
import { readEntry } from './file-entries.ts';
import { fieldsOf, flagOption, optionFaults, outputField, requireText, textField } from '../fields.ts';
import { encodingOption, fileLimitBytes } from './text-encoding.ts';

const required = flagOption('required', 'Fail with ENOENT if it is not there.', true);
const options = [encodingOption, required];

/** The `ReadFile` of docs/spec/blocks.md. */
export const readFile: NodeType = {
  name: 'ReadFile',
  description: 'Reads one file. ReadFiles does more.',
  inputs: { path: textField('The file; `~/` is the home folder.', { isRequired: true }), ...fieldsOf(options) },
  outputs: {
    content: outputField('string', 'Its text; empty if it is not there.'),
    path: outputField('string', 'Absolute.'),
    size_bytes: outputField('integer', 'Bytes of the file.'),
    found: outputField('boolean', 'Whether the file is there.'),
  },
  effect: 'read',
  needs: ({ path }) => pathNeeds(path),
  check: (inputs) => optionFaults(options, inputs),
  run: async ({ inputs, signal, isGranted }) => {
    signal.throwIfAborted();
    const path = resolveLocalPath(requireText(inputs, 'path'));
    const isRequired = required.read(inputs);
    const encoding = encodingOption.read(inputs);
    try {
      const reading = { mode: 'full', limitBytes: fileLimitBytes, encoding, lines: undefined, isGranted } as const;
      const { content, size_bytes: sizeBytes } = await readEntry(path, path, reading);
      return { content, path, size_bytes: sizeBytes, found: true };
    } catch (error) {
      if (isRequired || (error as { readonly code?: unknown }).code !== 'ENOENT') throw error;
      return { content: '', path, size_bytes: 0, found: false };
    }
  },
};
