/** Completion, in the shells themselves: those that are not installed are left out, bash is everywhere. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { main, openFolder, releaseGraph } from '../../../test/cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const folder = openFolder();
folder.cairn('run', releaseGraph, '--run-id', 'first-run');

/** A `cairn` on the path, as it is installed. */
const bin = join(folder.path, 'bin');
mkdirSync(bin);
writeFileSync(join(bin, 'cairn'), `#!/bin/sh\nexec ${JSON.stringify(process.execPath)} ${JSON.stringify(main)} "$@"\n`);
chmodSync(join(bin, 'cairn'), 0o755);

function isThere(shell: string): boolean {
  return spawnSync(shell, ['-c', ':']).status === 0;
}

function inShell(shell: string, script: string): readonly string[] {
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}`, HOME: folder.path };
  const { stdout, stderr } = spawnSync(shell, ['-c', script], { cwd: folder.path, encoding: 'utf8', env });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

/** What each shell offers for words of a command line, the last of which is being typed. */
const offers: Readonly<Record<string, (words: readonly string[]) => readonly string[]>> = {
  bash: (words) =>
    inShell(
      'bash',
      `source <(cairn completion bash); COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _cairn; printf '%s\n' "\${COMPREPLY[@]}"`,
    ),
  // Its completion needs a terminal: what is handed to it is looked at, which it would narrow down to what was typed.
  zsh: (words) =>
    inShell(
      'zsh',
      `compdef() { :; }; _files() { print -l -- *(N); }; _describe() { [[ $1 == -o ]] && shift; print -l -- "\${(@P)2}"; }; compadd() { shift; print -l -- "$@"; }
source <(cairn completion zsh); words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; _cairn`,
    )
      .map((line) => line.replace(/(?<!\\):.*$/, ''))
      .filter((line) => line.startsWith(words.at(-1) ?? '')),
  fish: (words) =>
    inShell('fish', `cairn completion fish | source; complete -C '${words.join(' ')}'`).map(
      (line) => line.split('\t')[0] ?? '',
    ),
};

test.each(['bash', 'zsh', 'fish'].filter(isThere))(
  'P6 %s completes commands, options, choices, runs and files',
  (shell) => {
    const offered = offers[shell] ?? (() => []);
    expect([...offered(['cairn', 're'])].sort()).toEqual(['release', 'restore', 'resume']);
    expect(offered(['cairn', 'prune', '--keep'])).toEqual(expect.arrayContaining(['--keep-every', '--keep-last']));
    expect(offered(['cairn', 'prune', '--keep'])).toHaveLength(2);
    expect(offered(['cairn', 'ls', '--status', 'pa'])).toEqual(['paused']);
    expect(offered(['cairn', 'resume', 'fi'])).toEqual(['first-run']);
    expect(offered(['cairn', 'completion', 'z'])).toEqual(['zsh']);
    folder.write('deploy.yaml', '');
    expect(offered(['cairn', 'run', 'dep'])).toEqual(['deploy.yaml']);
    expect(offered(['cairn', 'run', '--input-file', 'dep'])).toEqual(['deploy.yaml']);
  },
);

test('P6 a shell that is not known is named with those that are', () => {
  const { code, err } = folder.cairn('completion', 'tcsh');
  expect(code).toBe(2);
  expect(err).toMatch(/"tcsh".*\n?.*bash, zsh, fish/s);
  expect(folder.cairn('completion', 'runs').out).toBe('first-run\n');
});
