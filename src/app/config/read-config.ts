/** Reads the configuration of a folder, in whatever format. */
import { readFileSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { decodeText } from '../process/decode-text.ts';
import { CairnError } from '../../errors.ts';
import { checkConfig, type Config } from './config.ts';
import { findConfig, readJsonConfig, type ConfigChoice } from './find-config.ts';
import { importModule } from '../process/import-module.ts';

/** A configuration with its paths made absolute. */
export interface FoundConfig extends Config {
  /** Undefined if there is no file, so that everything has its default. */
  readonly file: string | undefined;
}

async function readModule(path: string): Promise<unknown> {
  try {
    const module = await importModule(pathToFileURL(path).href);
    return module['default'] ?? module['config'];
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message.split('\n')[0]}` : String(error);
    throw new CairnError('CONFIG_INVALID', { path, reason }, { cause: error });
  }
}

async function readYaml(path: string): Promise<unknown> {
  const { readDocument } = await import('../../dialects/yaml/file/read-document.ts');
  const { document, faults } = readDocument(decodeText(readFileSync(path)), path);
  const [first] = faults;
  if (document === undefined || first?.severity === 'error')
    throw new CairnError('CONFIG_INVALID', {
      path: first?.place ?? path,
      reason: first === undefined ? 'it holds no settings by name' : `${first.message} (${first.fix})`,
    });
  return document.data;
}

async function readValue(path: string): Promise<{ readonly value: unknown; readonly isCode: boolean }> {
  const extension = extname(path);
  if (extension === '.json') return { value: readJsonConfig(path), isCode: false };
  if (extension === '.yaml' || extension === '.yml') return { value: await readYaml(path), isCode: false };
  return { value: await readModule(path), isCode: true };
}

/** Paths in a store's URL start at the configuration's folder. */
function resolveStore(store: string, folder: string): string {
  const [, scheme, path = ''] = /^(?:(sqlite):)?(?!\/\/)(.*)$/s.exec(store) ?? [];
  if (/^[a-z][a-z0-9+]+:/.test(store) && scheme === undefined) return store;
  return path === '' ? store : `sqlite:${resolve(folder, path)}`;
}

/** Reads and validates it. @throws CONFIG_INVALID the file cannot be read, or with every fault in it */
export async function readConfig(choice: ConfigChoice): Promise<FoundConfig> {
  const file = findConfig(choice);
  if (file === undefined) return { file };
  const { value, isCode } = await readValue(file);
  const config = checkConfig(value, file, isCode);
  const folder = dirname(file);
  const { store, workflows } = config;
  return {
    ...config,
    file,
    ...(store !== undefined && { store: resolveStore(store, folder) }),
    ...(workflows !== undefined && { workflows: workflows.map((each) => resolve(folder, each)) }),
  };
}
