/** Finds the configuration of a folder without reading more of it than a command needs. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { decodeText } from '../process/decode-text.ts';
import { CairnError } from '../../errors.ts';

/** Possible names of the file; the first that exists is used. */
const names = ['cairn.config.ts', 'cairn.config.mjs', 'cairn.config.js', 'cairn.config.json', 'cairn.config.yaml'];

export interface ConfigChoice {
  readonly cwd: string;
  /** A configuration named by the user; undefined means the folder's own. */
  readonly configFile?: string | undefined;
}

/** Path of the configuration; undefined if there is none. @throws CONFIG_INVALID the named file does not exist */
export function findConfig({ cwd, configFile }: ConfigChoice): string | undefined {
  if (configFile === undefined) return names.map((name) => join(cwd, name)).find((path) => existsSync(path));
  const path = resolve(cwd, configFile);
  if (!existsSync(path)) throw new CairnError('CONFIG_INVALID', { path: configFile, reason: 'there is no such file' });
  return path;
}

/** Parses a JSON file. @throws CONFIG_INVALID */
export function readJsonConfig(path: string): unknown {
  try {
    return JSON.parse(decodeText(readFileSync(path)));
  } catch (error) {
    throw new CairnError('CONFIG_INVALID', { path, reason: (error as Error).message }, { cause: error });
  }
}
