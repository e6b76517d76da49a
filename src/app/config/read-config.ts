/** Reads the configuration of a folder, in whatever format. */
import { basename, dirname, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readRegularText } from '../process/decode-text.ts';
import { CairnError } from '../../errors.ts';
import { checkConfig, type Config } from './config.ts';
import { findConfig, readJsonConfig, type ConfigChoice } from './find-config.ts';
import { importModule } from '../process/import-module.ts';

/** A configuration with its paths made absolute. */
export interface FoundConfig extends Config {
  /** Undefined if there is no file, so that everything has its default. */
  readonly file: string | undefined;
  /** Code that stands beside the data and was not run, because the command only reads. */
  readonly skippedCode?: string;
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
  const { document, faults } = readDocument(readRegularText(path), path);
  const [first] = faults;
  if (document === undefined || first?.severity === 'error')
    throw new CairnError('CONFIG_INVALID', {
      path: first?.place ?? path,
      reason: first === undefined ? 'it holds no settings by name' : `${first.message} (${first.fix})`,
    });
  return document.data;
}

function readData(path: string): unknown {
  return extname(path) === '.json' ? readJsonConfig(path) : readYaml(path);
}

/** Paths in a store's URL start at the configuration's folder. */
function resolveStore(store: string, folder: string): string {
  const [, scheme, path = ''] = /^(?:(sqlite|file):)?(?!\/\/)(.*)$/s.exec(store) ?? [];
  if (/^[a-z][a-z0-9+]+:/.test(store) && scheme === undefined) return store;
  return path === '' ? store : `${scheme ?? 'sqlite'}:${resolve(folder, path)}`;
}

/** Makes the paths of a configuration absolute. */
function resolvePaths(config: Config, folder: string): Config {
  const { store, blobs, workflows, modules } = config;
  return {
    ...config,
    ...(store !== undefined && { store: resolveStore(store, folder) }),
    ...(blobs?.startsWith('file:') === true && { blobs: resolveStore(blobs, folder) }),
    ...(workflows !== undefined && { workflows: workflows.map((each) => resolve(folder, each)) }),
    ...(modules !== undefined && { modules: modules.map((each) => resolve(folder, each)) }),
  };
}

/** What code leaves to data that stands beside it, so that commands that run no code know it too. */
const ofData: readonly (keyof Config)[] = ['store', 'blobs', 'workflows', 'modules', 'allow'];

/** @throws CONFIG_INVALID the code says what the data says, or what only the data may say */
function checkBeside(code: Config, data: Config, codeFile: string, dataFile: string): void {
  const faults = Object.keys(code)
    .filter((key) => key in data || ofData.includes(key as keyof Config))
    .map((key) => `${key} belongs into ${basename(dataFile)}, which stands beside it`);
  if (faults.length > 0) throw new CairnError('CONFIG_INVALID', { path: codeFile, reason: faults.join('; '), faults });
}

/**
 * Reads and validates it. Code is run only if that is allowed.
 * @throws CONFIG_INVALID a file cannot be read, or with every fault in it; CODE_NOT_RUN all there is is code that may not be run
 */
export async function readConfig(choice: ConfigChoice): Promise<FoundConfig> {
  const { data, code, runsCode } = findConfig(choice);
  const ofFile = data === undefined ? {} : resolvePaths(checkConfig(await readData(data), data, false), dirname(data));
  if (code === undefined) return { ...ofFile, file: data };
  if (!runsCode && data === undefined)
    throw new CairnError('CODE_NOT_RUN', {
      what: basename(code),
      hint: `Name it, and it is run: --config ${basename(code)}. Or say store and workflows as data, in cairn.config.json beside it.`,
    });
  if (!runsCode) return { ...ofFile, file: data, skippedCode: code };
  const ofCode = checkConfig(await readModule(code), code, true);
  if (data !== undefined) checkBeside(ofCode, ofFile, code, data);
  return { ...ofFile, ...resolvePaths(ofCode, dirname(code)), file: data ?? code };
}
