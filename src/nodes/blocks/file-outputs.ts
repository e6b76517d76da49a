/** Reads files that a command wrote as fields of its output. */
import { isAbsolute } from 'node:path';
import type { FileOutput, Need } from '../../graph/contracts/node-type.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import { isInside, resolveLinks, resolveLocalPath } from '../file/local-path.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';
import { readRegularFile } from '../file/read-regular-file.ts';
import { parseJson } from './parse-json.ts';

const limitBytes = 10 * 1024 * 1024;

export interface FileOutputs {
  readonly values: Readonly<Record<string, unknown>>;
  /** Why required files could not be read, by the output's name. */
  readonly faults: Readonly<Record<string, string>>;
}

/** Reads the files that exist. A faulty file that is not required is left out. Secrets in the contents are masked. */
export async function readFileOutputs(
  outputs: readonly FileOutput[],
  folder: string,
  mask: TextMask,
): Promise<FileOutputs> {
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
