/** Finds the files in a folder that match patterns. No other file imports the `picomatch` package. */
import { readdir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import picomatch from 'picomatch';
import { refuseInput } from '../block-options.ts';
import type { IsIgnored } from './ignored-files.ts';

/** How many paths are matched at once, and the time limit for that: some patterns take exponential time on some names. */
const batchSize = 500;
const batchMs = 1_000;

/**
 * Finds files by walking through a folder. Symbolic links are neither followed nor returned, so the result is always inside the folder.
 * Folders that cannot be read are skipped.
 * @param folder - absolute, links resolved
 * @returns paths relative to the folder, sorted
 * @throws NodeFailure INPUT_INVALID patterns that take too long
 */
export async function findFiles(
  folder: string,
  patterns: readonly string[],
  isIgnored: IsIgnored,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const paths: string[] = [];
  const walk = async (below: string): Promise<void> => {
    signal.throwIfAborted();
    for (const entry of await readdir(join(folder, below), { withFileTypes: true }).catch(() => [])) {
      const path = join(below, entry.name);
      if (entry.isDirectory() && !isIgnored(join(folder, path), true)) await walk(path);
      else if (entry.isFile()) paths.push(path);
    }
  };
  await walk('');
  return matchPaths(paths, patterns, signal)
    .filter((path) => !isIgnored(join(folder, path), false))
    .sort();
}

/** The relative paths that match the patterns. @throws NodeFailure INPUT_INVALID patterns that take too long */
export function matchPaths(paths: readonly string[], patterns: readonly string[], signal: AbortSignal): string[] {
  const globs = patterns.map((pattern) => pattern.replace(/^\.\//, ''));
  const sources = globs.map((glob) => picomatch.makeRe(glob).source);
  const found: string[] = [];
  for (let at = 0; at < paths.length; at += batchSize) {
    signal.throwIfAborted();
    const batch = paths.slice(at, at + batchSize);
    const isNamed = matchBatch(batch, sources);
    found.push(...batch.filter((path, index) => isNamed[index] === true || globs.includes(path)));
  }
  return found;
}

/** Runs in a separate V8 context, the only way to stop a regular expression that is being matched. */
const script =
  'const all = sources.map((source) => new RegExp(source)); JSON.stringify(paths.map((path) => all.some((one) => one.test(path))))';

function matchBatch(paths: readonly string[], sources: readonly string[]): readonly boolean[] {
  try {
    return JSON.parse(runInNewContext(script, { paths, sources }, { timeout: batchMs }) as string) as boolean[];
  } catch (error) {
    if ((error as { readonly code?: string }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw refuseInput('patterns', `take over ${batchMs} ms on the names of these files: use fewer *`);
  }
}

/** Refuses patterns that could only match outside of the folder. @throws NodeFailure INPUT_INVALID */
export function checkPatterns(name: string, patterns: readonly string[]): void {
  for (const pattern of patterns) {
    if (isAbsolute(pattern) || pattern.split(/[\\/]/).includes('..'))
      throw refuseInput(name, `must not lead out of base_path: ${pattern}`);
  }
}
