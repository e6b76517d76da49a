/** Packages that only `npm run prove` needs, such as bundlers: installed once on a machine, when a test first asks for them. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const installMs = 10 * 60_000;

/**
 * Installs packages from the registry into a folder that later calls use again.
 * @param packages - names and exact versions
 * @returns the folder, whose `node_modules` has them
 */
export function installOnDemand(packages: Readonly<Record<string, string>>): string {
  const manifest = JSON.stringify({ private: true, dependencies: packages }, undefined, 2);
  const parent = join(tmpdir(), 'cairn-on-demand');
  const folder = join(parent, createHash('sha256').update(manifest).digest('hex').slice(0, 16));
  if (existsSync(folder)) return folder;
  mkdirSync(parent, { recursive: true });
  const made = mkdtempSync(join(parent, 'new-'));
  writeFileSync(join(made, 'package.json'), manifest);
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  execFileSync('npm', args, { cwd: made, stdio: ['ignore', 'ignore', 'inherit'], timeout: installMs });
  try {
    renameSync(made, folder);
  } catch (error) {
    // Another process was faster.
    rmSync(made, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/**
 * Makes a project that has packages: hard links of those that were installed, since bundlers follow symbolic links out of it.
 * @param installed - folders whose `node_modules` it gets, one over the other
 */
export function copyModules(project: string, ...installed: readonly string[]): void {
  const modules = join(project, 'node_modules');
  mkdirSync(modules, { recursive: true });
  for (const folder of installed)
    execFileSync('cp', ['--archive', '--link', '--force', `${join(folder, 'node_modules')}/.`, modules]);
}
