/** Finds the configuration of a folder, and reads no more of it than a command needs. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CairnError } from '../../errors.ts';

/** Where a configuration may be; the first that is there counts. */
const names = ['cairn.config.ts', 'cairn.config.mjs', 'cairn.config.js', 'cairn.config.json', 'cairn.config.yaml'];

export interface ConfigChoice {
  readonly cwd: string;
  /** A file named by the user; undefined: that of the folder. */
  readonly configFile?: string | undefined;
}

/** Path of the configuration; undefined: there is none. @throws CONFIG_INVALID the file that was named is not there */
export function findConfig({ cwd, configFile }: ConfigChoice): string | undefined {
  if (configFile === undefined) return names.map((name) => join(cwd, name)).find((path) => existsSync(path));
  const path = resolve(cwd, configFile);
  if (!existsSync(path)) throw new CairnError('CONFIG_INVALID', { path: configFile, reason: 'there is no such file' });
  return path;
}

/** The JSON of a file. @throws CONFIG_INVALID */
export function readJsonConfig(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new CairnError('CONFIG_INVALID', { path, reason: (error as Error).message }, { cause: error });
  }
}
