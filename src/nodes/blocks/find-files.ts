/** Finds the files of a folder that patterns name. The one place that knows the `picomatch` package. */
import { readdir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import picomatch from 'picomatch';
import { refuseInput } from './fields.ts';
import type { IsIgnored } from './ignored-files.ts';

/**
 * Walks a folder. Symbolic links are neither followed nor found, so nothing outside is; folders that cannot be read are passed over.
 * @param folder - absolute, links resolved
 * @returns paths relative to the folder, sorted
 */
export async function findFiles(
  folder: string,
  patterns: readonly string[],
  isIgnored: IsIgnored,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const isNamed = picomatch(patterns.map((pattern) => pattern.replace(/^\.\//, '')));
  const found: string[] = [];
  const walk = async (below: string): Promise<void> => {
    signal.throwIfAborted();
    for (const entry of await readdir(join(folder, below), { withFileTypes: true }).catch(() => [])) {
      const path = join(below, entry.name);
      if (entry.isDirectory() && !isIgnored(join(folder, path), true)) await walk(path);
      else if (entry.isFile() && isNamed(path) && !isIgnored(join(folder, path), false)) found.push(path);
    }
  };
  await walk('');
  return found.sort();
}

/** @throws NodeFailure INPUT_INVALID a pattern that could only match outside of the folder */
export function checkPatterns(name: string, patterns: readonly string[]): void {
  for (const pattern of patterns) {
    if (isAbsolute(pattern) || pattern.split(/[\\/]/).includes('..'))
      throw refuseInput(name, `must not lead out of base_path: ${pattern}`);
  }
}
