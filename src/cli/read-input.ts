/** The input of a run, from a file and from parts. */
import { readFileSync } from 'node:fs';
import { decodeText } from '../app/process/decode-text.ts';
import { CairnError } from '../errors.ts';
import { parsePath } from '../operations/declare/state-path.ts';
import type { KnownWorkflow } from '../operations/declare/workflows.ts';
import { fileFault } from './file-fault.ts';
import { splitAssignment } from './parse.ts';

function readInputFile(file: string): unknown {
  let text: string;
  try {
    text = decodeText(readFileSync(file === '-' ? 0 : file));
  } catch (error) {
    const reason = `cannot read ${file}: ${fileFault(error, 'read')}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name a file of JSON, or - for standard input.' });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = `it is no JSON: ${(error as Error).message.replaceAll(/\s+/g, ' ')}`;
    throw new CairnError('INPUT_INVALID', { path: file, reason }, { cause: error });
  }
}

type Keyed = Record<string, unknown>;

function isKeyed(value: unknown): value is Keyed {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy with a value set at a path; a key such as __proto__ is a key like any other. */
function withValueAt(target: unknown, [key = '', ...rest]: readonly string[], value: unknown): Keyed {
  const copy = new Map(Object.entries(isKeyed(target) ? target : {}));
  copy.set(key, rest.length === 0 ? value : withValueAt(copy.get(key), rest, value));
  return Object.fromEntries(copy);
}

/** The input that `--input` or `--input-file` gives. */
interface GivenInput {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly inputFile?: string;
}

/** @returns undefined if neither was given. @throws USAGE_INVALID, INPUT_INVALID */
export function readInput({ input, inputFile }: GivenInput): unknown {
  const start = inputFile === undefined ? undefined : readInputFile(inputFile);
  if (input === undefined) return start;
  if (start !== undefined && !isKeyed(start))
    throw new CairnError('USAGE_INVALID', {
      reason: 'the input in the file is no object, so --input cannot change a part of it',
    });
  let merged: unknown = start;
  for (const [path, value] of Object.entries(input)) merged = withValueAt(merged, parsePath(path), value);
  return merged;
}

/** An input that is declared as a text is what was typed: `1.0` is no number then. */
export function withTypedTexts(
  input: unknown,
  { inputs }: KnownWorkflow['workflow'],
  typed: readonly string[],
): unknown {
  const texts = new Set(inputs.filter(({ type }) => type === 'str').map(({ name }) => name));
  const given = typed.map((text) => splitAssignment(text, 'input')).filter(([name]) => texts.has(name));
  return given.reduce((merged: unknown, [name, text]) => withValueAt(merged, [name], text), input);
}
