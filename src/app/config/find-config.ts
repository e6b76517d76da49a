/** Finds the configuration of a folder without reading more of it than a command needs. */
import { existsSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { readRegularText } from '../process/decode-text.ts';
import { CairnError } from '../../errors.ts';

/** Possible names of the file that is data, and of the one that is code; of each, the first that exists is used. */
const dataNames = ['cairn.config.json', 'cairn.config.yaml', 'cairn.config.yml'];
const codeNames = ['cairn.config.ts', 'cairn.config.mjs', 'cairn.config.js'];

export interface ConfigChoice {
  readonly cwd: string;
  /** A configuration named by the user; undefined means the folder's own. */
  readonly configFile?: string | undefined;
  /**
   * Whether the folder's own configuration may be run if it is code. Commands that only read do not run it: a folder that somebody unpacked
   * would run its code at `cairn ls`. A file that the user named is always run. Default false.
   */
  readonly runsConfig?: boolean;
}

/** The files of one configuration, as absolute paths. Both undefined means that everything has its default. */
export interface ConfigFiles {
  readonly data: string | undefined;
  readonly code: string | undefined;
  /** Whether the code may be run. */
  readonly runsCode: boolean;
}

function firstIn(folder: string, names: readonly string[]): string | undefined {
  return names.map((name) => join(folder, name)).find((path) => existsSync(path));
}

/** Finds the files without reading them. @throws CONFIG_INVALID the named file does not exist */
export function findConfig({ cwd, configFile, runsConfig = false }: ConfigChoice): ConfigFiles {
  if (configFile === undefined)
    return { data: firstIn(cwd, dataNames), code: firstIn(cwd, codeNames), runsCode: runsConfig };
  const path = resolve(cwd, configFile);
  if (!existsSync(path)) throw new CairnError('CONFIG_INVALID', { path: configFile, reason: 'there is no such file' });
  if (isDataName(path)) return { data: path, code: undefined, runsCode: false };
  // The code of a folder belongs to the data beside it: without that, its runs would be looked for in another store.
  const data = codeNames.includes(basename(path)) ? firstIn(dirname(path), dataNames) : undefined;
  return { data, code: path, runsCode: true };
}

function isDataName(path: string): boolean {
  return ['.json', '.yaml', '.yml'].includes(extname(path));
}

/** Parses a JSON file. @throws CONFIG_INVALID */
export function readJsonConfig(path: string): unknown {
  try {
    return JSON.parse(readRegularText(path));
  } catch (error) {
    throw new CairnError('CONFIG_INVALID', { path, reason: (error as Error).message }, { cause: error });
  }
}
