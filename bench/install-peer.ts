/** Other systems, installed on demand beside the modules: they are compared with, never depended on. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { NotMeasured } from './group.ts';

const cache = resolve(import.meta.dirname, '../node_modules/.cache/cairn-bench');

/**
 * Installs packages into a folder of their own, once.
 *
 * @param files - modules to be written beside them, by name
 * @returns the folder
 * @throws NotMeasured they cannot be installed here
 */
export function installPeer(
  name: string,
  packages: readonly string[],
  files: Readonly<Record<string, string>>,
): string {
  const folder = join(cache, name);
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, 'node_modules/.package-lock.json'))) {
    const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', ...packages];
    const { status, error, stderr } = spawnSync('npm', args, { encoding: 'utf8', timeout: 180_000 });
    if (status !== 0) {
      const reason = error?.message ?? stderr.trim().split('\n')[0] ?? '';
      throw new NotMeasured(`${name} could not be installed: ${reason}`);
    }
  }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}
