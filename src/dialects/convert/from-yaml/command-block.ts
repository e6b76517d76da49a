/** `Shell` blocks. A command of a pipeline has every input as a variable of its environment, and no other values. */
import { same } from '../../../schema/json-schema.ts';
import { assignedNames } from '../../yaml/command/shell-names.ts';
import type { BlockFile } from '../../yaml/file/workflow-file.ts';
import { completed, failed, literalOf, lost, textIn, type BlockReading, type Done } from './block-reading.ts';
import { piecesOf, scriptOf } from './plain-text.ts';

export function readCommand(block: BlockFile, reading: BlockReading): Done | undefined {
  const { command, working_dir: folder, env = {}, timeout = 120, capture_output: capture = true } = block.inputs;
  const script = typeof command === 'string' ? scriptOf(command, reading.names) : undefined;
  const stdin = block.inputs['stdin'] === undefined ? undefined : textIn(block, 'stdin', reading);
  const workdir = folder === undefined ? undefined : literalOf(folder, reading);
  const isPlain =
    script !== undefined &&
    (folder === undefined || workdir !== undefined) &&
    (block.inputs['stdin'] === undefined || stdin !== undefined) &&
    isOwnEnvironment(env, reading);
  if (!isPlain) return undefined;
  noteVariables(block, Object.keys(env as object), reading);
  if (String(capture) !== 'true')
    reading.notes.changed(
      'SETTING',
      reading.place,
      `the output of ${block.id} is kept`,
      'send it to a file where it is large',
    );
  const isPassed = ['continue-on-error', 'continue_on_error'].some((name) => String(block.inputs[name]) === 'true');
  const failedWith = Array.from({ length: 255 }, (_, code) => completed({ exit_code: code + 1, success: false }));
  return {
    work: {
      kind: 'command',
      script,
      ...(workdir !== undefined && { folder: workdir }),
      ...(stdin !== undefined && { stdin }),
    },
    ends: [
      { on: 'success', views: [completed({ exit_code: 0, success: true })], isFatal: false },
      { on: 'fail', views: isPassed ? failedWith : [failed], isFatal: !isPassed && !block.continuesOnError },
    ],
    fields: ['exit_code', 'success'],
    timeoutMs: Number(timeout) * 1_000,
    isTriedOnce: isPassed,
  };
}

/** In a pipeline every input is a variable of each command: a name that was the shell's own before is one no more. */
function noteVariables({ id, inputs }: BlockFile, given: readonly string[], reading: BlockReading): void {
  const command = String(inputs['command']);
  const own = assignedNames(command);
  for (const name of reading.names.inputs)
    if (!given.includes(name) && !own.has(name) && new RegExp(`\\$${name}\\b|\\$\\$\\{[#!]?${name}\\b`).test(command))
      lost(
        reading,
        'TEXT',
        `$${name} in the command of ${id} is the input ${name}, and no longer a variable of the shell's`,
        'give that variable another name',
      );
}

/** Whether every variable is an input under its own name. */
function isOwnEnvironment(env: unknown, { known }: BlockReading): boolean {
  if (typeof env !== 'object' || env === null) return false;
  return Object.entries(env).every(([name, value]) => {
    const pieces = typeof value === 'string' ? piecesOf(value, known) : undefined;
    return same(pieces, [{ input: name }]);
  });
}
