/** The block Shell: runs a command. Values reach it as data and never become shell syntax. */
import { isAbsolute } from 'node:path';
import type {
  FileOutput,
  Need,
  CommandText,
  InputFault,
  Inputs,
  NodeType,
  TypedNodeContext,
} from '../../graph/contracts/node-type.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { isInside, resolveLinks, resolveLocalPath, makeFolder } from '../file/local-path.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';
import { readRegularFile } from '../file/files.ts';
import {
  parseJson,
  fieldsOf,
  flagOption,
  literal,
  optionFaults,
  outputField,
  readText,
  refuseInput,
  secondsOption,
  textField,
  timeoutOf,
} from './block-options.ts';
import { constants } from 'node:os';
import { isOwnVariable } from '../../graph/command-variables.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { beforeEffect } from '../draft/before-effect.ts';
import {
  createShellRequest,
  describeEnd,
  endedBy,
  runCommand,
  type CommandEnd,
  type ShellRequest,
} from '../shell/run-command.ts';
import { resolveSecrets } from '../secrets/secret.ts';

// Reads files that a command wrote as fields of its output.

const limitBytes = 10 * 1024 * 1024;

export interface FileOutputs {
  readonly values: Readonly<Record<string, unknown>>;
  /** Why required files could not be read, by the output's name. */
  readonly faults: Readonly<Record<string, string>>;
}

/** Reads the files that exist. A faulty file that is not required is ignored. Secrets in the contents are masked. */
async function readFileOutputs(outputs: readonly FileOutput[], folder: string, mask: TextMask): Promise<FileOutputs> {
  const values: Record<string, unknown> = {};
  const faults: Record<string, string> = {};
  for (const output of outputs) {
    try {
      values[output.name] = mask.all(await readFileOutput(output, folder));
    } catch (error) {
      if (output.isRequired) faults[output.name] = mask.text((error as Error).message);
    }
  }
  return { values, faults };
}

async function readFileOutput(output: FileOutput, workingDir: string): Promise<unknown> {
  const { path, type, isUnsafe, folder = workingDir } = output;
  const full = resolveLocalPath(path, workingDir);
  if (!isUnsafe) {
    const isElsewhere = isAbsolute(path) && output.folder === undefined;
    if (isElsewhere || !isInside(folder, full)) throw new Error(`${path} is outside the working directory`);
    if (!isInside(resolveLinks(folder), resolveLinks(full)))
      throw new Error(`${path} leads out of its folder over a symbolic link`);
  }
  // Resolved now, after the command has run, and compared with where each opened file really is.
  const top = resolveLinks(folder);
  const isGranted = (need: Need): boolean => isUnsafe || (need.kind === 'fs' && isInside(top, need.path ?? '/'));
  const bytes = await readRegularFile(full, { limitBytes, refusesLink: true, isGranted });
  return parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes).trim(), type, path);
}

function parse(text: string, type: FileOutput['type'], path: string): unknown {
  if (type === 'str') return text;
  const found = type === 'num' ? parseNumber(text) : type === 'bool' ? parseFlag(text) : parseCollection(text, type);
  if (found === undefined) throw new Error(`${path} holds no ${type}`);
  return found;
}

function parseNumber(text: string): number | undefined {
  const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

function parseFlag(text: string): boolean | undefined {
  if (/^(true|1|yes)$/i.test(text)) return true;
  return /^(false|0|no)$/i.test(text) ? false : undefined;
}

function parseCollection(text: string, type: 'list' | 'dict' | 'json'): unknown {
  const value = parseJson(text);
  if (type === 'json') return value;
  return (type === 'list' ? Array.isArray(value) : isPlainObject(value)) ? value : undefined;
}

const timeout = secondsOption('timeout', 'Seconds until the command and all that it started are killed.', {
  default: 120,
  min: 1,
  max: 86_400,
  isWhole: true,
});
const captureOutput = flagOption('capture_output', 'Keep stdout and stderr; false only shows them as they come.', true);
const continueOnError = flagOption('continue-on-error', 'An exit code other than 0 is no failure.', false, {
  aliases: ['continue_on_error'],
});
const shell = flagOption('shell', 'Always true: the command is text for /bin/sh.', true, literal);
const options = [timeout, captureOutput, continueOnError, shell];

/** The `Shell` of docs/spec/blocks.md. */
export const shellBlock: NodeType = {
  name: 'Shell',
  description: 'Runs a command with /bin/sh.',
  inputs: {
    command: textField('The command; values in it are data, never syntax.', {
      isRequired: true,
      kind: 'command',
      takesSecrets: true,
    }),
    working_dir: textField('Where it runs; made if it is not there. Default: where the process was started.'),
    env: {
      schema: { type: 'object' },
      description: 'Variables beside PATH, HOME and LANG. Lists and objects are given as JSON, null is left out.',
      takesSecrets: true,
    },
    stdin: textField('Text on its standard input. Default: nothing.'),
    ...fieldsOf(options),
  },
  outputs: {
    exit_code: outputField('integer', 'Of a command that a signal ended, 128 and the number of the signal.'),
    stdout: outputField('string', 'Its head and its tail, of at most 1 MiB.'),
    stderr: outputField('string', 'Its head and its tail, of at most 1 MiB.'),
    success: outputField('boolean', 'Whether the exit code is 0.'),
  },
  takesFileOutputs: true,
  effect: 'external',
  timeoutMs: timeoutOf(timeout),
  needs: () => [{ kind: 'shell' }],
  check: (inputs) => [...optionFaults(options, inputs), ...shellFaults(inputs), ...envFaults(inputs)],
  run,
};

function shellFaults(inputs: Inputs): readonly InputFault[] {
  const isOff = inputs['shell'] === false || inputs['shell'] === 'false';
  if (!isOff) return [];
  return [{ input: 'shell', message: 'shell must be true', fix: 'leave it out: values never become shell syntax' }];
}

function envFaults({ env }: Inputs): readonly InputFault[] {
  if (typeof env !== 'object' || env === null) return [];
  return Object.keys(env)
    .filter((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || isOwnVariable(name))
    .map((name) => ({
      input: 'env',
      message: `${JSON.stringify(name)} cannot be set as an environment variable`,
      fix: 'use letters, digits and _, and none of the names of Cairn: CAIRN_V1, …, CAIRN_IDEMPOTENCY_KEY',
    }));
}

async function run(ctx: TypedNodeContext): Promise<unknown> {
  const { request, folder, mask } = await beforeEffect(() => prepare(ctx));
  const end = await runCommand(ctx, request, { mask });
  const { values, faults } = await readFileOutputs(ctx.fileOutputs, folder, mask);
  const output = { ...values, ...describeOutput(end, captureOutput.read(ctx.inputs)) };
  const faulty = Object.keys(faults);
  const data = faulty.length === 0 ? output : { ...output, output_faults: faults };
  if (!output.success && !continueOnError.read(ctx.inputs))
    throw new NodeFailure(`the command ${describeEnd(end)}`, { code: 'EXIT_CODE', data, ...endedBy(end) });
  if (faulty.length === 0) return output;
  const reasons = faulty.map((name) => `${name}: ${faults[name] ?? ''}`).join('; ');
  throw new NodeFailure(`the command ended, but not all of its outputs are there: ${reasons}`, {
    code: 'FILE_OUTPUT_INVALID',
    data,
    ...endedBy(end),
  });
}

interface Prepared {
  readonly request: ShellRequest;
  readonly folder: string;
  readonly mask: TextMask;
}

async function prepare({ inputs, fileOutputs, idempotencyKey, secrets, signal }: TypedNodeContext): Promise<Prepared> {
  for (const option of options) option.read(inputs);
  const taken = fileOutputs.find(({ name }) => Object.hasOwn(shellBlock.outputs, name));
  if (taken !== undefined) throw new TypeError(`an output cannot be named ${taken.name}`);
  const command = inputs['command'] as CommandText | undefined;
  // A plain text is refused: values inserted in it could act as shell syntax.
  if (typeof command?.script !== 'string') throw refuseInput('command', 'is no command');
  const { value, mask } = await resolveSecrets({ named: inputs['env'] ?? {}, own: command.env }, secrets);
  const { named, own } = value as { readonly named: Inputs; readonly own: Inputs };
  const folder = resolveLocalPath(readText(inputs, 'working_dir') || '.');
  const env = { ...writeVariables(named), ...own };
  const input = readText(inputs, 'stdin');
  const process = { command: command.script, env, cwd: folder, ...(input !== undefined && { input }) };
  const request = createShellRequest(process, idempotencyKey);
  signal.throwIfAborted();
  await makeFolder(folder);
  return { request, folder, mask };
}

/** Variables as text. Lists and objects become JSON; null is omitted. */
function writeVariables(named: Inputs): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(named)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) : value]),
  );
}

interface ShellFields {
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly success: boolean;
}

function describeOutput({ exitCode, signal, stdout, stderr }: CommandEnd, storesOutput: boolean): ShellFields {
  const signals: Readonly<Record<string, number>> = constants.signals;
  const code = exitCode ?? 128 + (signals[signal ?? ''] ?? 0);
  return {
    exit_code: code,
    stdout: storesOutput ? stdout : '',
    stderr: storesOutput ? stderr : '',
    success: code === 0,
  };
}
