/** The block `Sandbox`: commands in a place of their own, whose folder is part of the history. */
import type { FileRef } from '../graph/file-ref.ts';
import type { Inputs, Need, NodeType } from '../graph/contracts/node-type.ts';
import {
  choiceOption,
  fieldsOf,
  flagOption,
  literal,
  numberOption,
  optionFaults,
  outputField,
  readText,
  secondsOption,
  textField,
} from '../nodes/blocks/block-options.ts';
import type { Sandboxes } from '../ports/sandboxes.ts';
import type { SandboxNodeOutput } from './sandbox-node.ts';

const kind = choiceOption('kind', 'Of what kind it is.', ['bubblewrap', 'docker'], literal);
const network = flagOption(
  'network',
  'Whether commands may reach the network. Then a person is asked before each, and hosts must be granted.',
  false,
  literal,
);
const timeout = secondsOption('timeout', 'Of one command, in seconds.', { default: 120, min: 0.001, max: 86_400 });
const mebibyte = 1024 * 1024;
const memory = numberOption('memory_mb', 'The most memory, in MiB.', { default: 512, min: 1, max: 1_048_576 }, literal);
const disk = numberOption(
  'disk_mb',
  'The most in its folder, in MiB.',
  { default: 256, min: 1, max: 1_048_576 },
  literal,
);
const options = [kind, network, timeout, memory, disk];

export const sandboxBlock: NodeType = {
  name: 'Sandbox',
  description: 'Runs commands that reach nothing but a folder of their own.',
  inputs: {
    commands: {
      schema: {
        type: 'array',
        minItems: 1,
        items: { type: 'array', minItems: 1, items: { type: 'string' } },
      },
      description:
        'Programs with their arguments, one after the other, until one fails; no shell reads them. A script: [sh, -c, "…"].',
      isRequired: true,
    },
    files: {
      schema: { type: 'object' },
      description: 'Files that are there when it begins, by path: texts, or files of the run.',
    },
    stdin: textField('What the last command reads.'),
    env: {
      schema: { type: 'object', additionalProperties: { type: 'string' } },
      description: 'Environment variables.',
    },
    image: textField('The image of a sandbox of Docker, which must be there.', literal),
    ...fieldsOf(options),
  },
  outputs: {
    exit_code: outputField('integer', 'That of the last command: 0.'),
    stdout: outputField('string', 'What the last command printed: beginning and end.'),
    stderr: outputField('string', 'The same of its errors.'),
    files: { schema: { type: 'object' }, description: 'All files of its folder, by path, as files of the run.' },
  },
  // Each command is a step. What reaches the network is told as a tool, since a person is asked before it.
  effect: (literals) => (isNetworked(literals) ? 'human' : 'read'),
  isComposed: true,
  tools: (literals) => (isNetworked(literals) ? [{ name: 'exec', effect: 'external', asks: true }] : []),
  needs: needsOf,
  check: (inputs) => [
    ...optionFaults(options, inputs),
    ...((inputs['kind'] === 'docker') === (inputs['image'] === undefined)
      ? [{ input: 'image', message: 'image is of `kind: docker`, and needed there', fix: 'give both, or none' }]
      : []),
  ],
  run: async (ctx) => {
    const { inputs } = ctx;
    // Most files have no sandbox: what works for one is loaded when it is needed.
    const { sandboxNode } = await import('./sandbox-node.ts');
    const stdin = readText(inputs, 'stdin');
    const node = sandboxNode({
      sandboxes: await sandboxesOf(inputs),
      commands: inputs['commands'] as readonly (readonly string[])[],
      files: (inputs['files'] ?? {}) as Readonly<Record<string, string | FileRef>>,
      env: (inputs['env'] ?? {}) as Readonly<Record<string, string>>,
      network: network.read(inputs),
      timeoutMs: timeout.read(inputs),
      limits: { memoryBytes: memory.read(inputs) * mebibyte, diskBytes: disk.read(inputs) * mebibyte },
      ...(stdin !== undefined && { input: stdin }),
    });
    const { exitCode, stdout, stderr, files } = (await node.implementation.run(ctx)) as SandboxNodeOutput;
    return { exit_code: exitCode, stdout, stderr, files };
  },
};

const isNetworked = (inputs: Inputs): boolean => inputs['network'] === true || inputs['network'] === 'true';

/** A network is one to any host. */
function needsOf(inputs: Inputs): readonly Need[] {
  return [{ kind: 'sandbox' }, ...(isNetworked(inputs) ? [{ kind: 'net', host: '*' } as const] : [])];
}

async function sandboxesOf(inputs: Inputs): Promise<Sandboxes> {
  if (kind.read(inputs) === 'bubblewrap') return (await import('./bubblewrap.ts')).bubblewrap();
  return (await import('./docker.ts')).docker({ image: readText(inputs, 'image') ?? '' });
}
