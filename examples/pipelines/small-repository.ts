/** A small real repository for the example pipelines: one module, its checks, and a bug in it unless it was mended. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the module says once every number is added. */
export const mendedSum = `/** Adds numbers. */
export function sum(numbers) {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
`;

/** Makes the repository in a folder, once. */
export function makeRepository(folder: string, isMended: boolean): void {
  if (existsSync(join(folder, '.git'))) return;
  cpSync(join(import.meta.dirname, 'project'), folder, { recursive: true });
  if (isMended) writeFileSync(join(folder, 'sum.js'), mendedSum);
  git(folder, 'init', '--quiet', '--initial-branch=main');
  git(folder, 'add', 'sum.js', 'check.js', 'coder.js', 'package.json');
  git(folder, 'commit', '--quiet', '--message=A module that adds');
}

/** What it holds: its commits, its tags, and the module. */
export function describeRepository(folder: string): string {
  const log = git(folder, 'log', '--format=%s %D');
  return `${log}${readFileSync(join(folder, 'sum.js'), 'utf8')}`;
}

function git(folder: string, ...args: readonly string[]): string {
  const who = ['-c', 'user.name=cairn', '-c', 'user.email=cairn@localhost'];
  return execFileSync('git', [...who, ...args], { cwd: folder, encoding: 'utf8' });
}
