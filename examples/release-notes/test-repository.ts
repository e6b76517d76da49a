/** Git repositories for tests. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** Runs git as a person of our own, whatever the machine's settings. */
export function git(folder: string, ...args: readonly string[]): void {
  const person = { NAME: 'Ada', EMAIL: 'ada@example.org' };
  const env = Object.fromEntries(
    Object.entries(person).flatMap(([key, value]) => [
      [`GIT_AUTHOR_${key}`, value],
      [`GIT_COMMITTER_${key}`, value],
    ]),
  );
  execFileSync('git', ['-C', folder, ...args], {
    env: { ...process.env, ...env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    stdio: 'ignore',
  });
}

/** A repository with a commit for each subject. */
export function makeRepository(folder: string, ...subjects: readonly string[]): string {
  mkdirSync(folder);
  git(folder, 'init', '--quiet');
  for (const subject of subjects) git(folder, 'commit', '--quiet', '--allow-empty', '-m', subject);
  return folder;
}
