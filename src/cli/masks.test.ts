/** The command line as a process: what it shows of values under names of secrets (C2.1). */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openFolder } from '../../test/cli/cairn.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 90_000 });

const planted = 'hunter2-planted';
const folder = openFolder();
writeFileSync(
  join(folder.path, 'w.yaml'),
  `name: w
inputs: { password: { type: str } }
blocks:
  - { id: use, type: Shell, effect: read, inputs: { command: 'test "$X" = ${planted} && echo right', env: { X: "\${inputs.password}" } } }
outputs: { token: "\${inputs.password}", said: "\${trim(use.stdout)}" }
`,
);

test('C2.1 run, state, log, show, diff and ls show no value under the name of a secret; a masked export is for reading', () => {
  const shown = [folder.cairn('run', 'w.yaml', '--run-id', 'r', '--input', `password=${planted}`)];
  expect(shown[0]?.out).toContain('right');
  for (const args of [
    ['state', 'r'],
    ['state', 'r', '--json'],
    ['state', 'r', 'input.password', '--json'],
    ['show', 'r', '--json'],
    ['log', 'r', '--json'],
    ['diff', 'r@0', 'r'],
    ['diff', 'r@0', 'r', '--json'],
    ['ls', '--json'],
    ['fork', 'r@0', '--set', 'input.password=[redacted]'],
  ])
    shown.push(folder.cairn(...args));
  for (const { out, err } of shown) expect(`${out}${err}`).not.toContain(planted);
  expect(shown[3]?.out).toBe('"[redacted]"\n');
  expect(shown.at(-1)?.err).toContain('[VALUE_MASKED]');
  const whole = folder.cairn('export', 'r', 'r.jsonl');
  expect(whole.err).toContain('Nothing in it is masked: only you may read the file');
  expect(statSync(join(folder.path, 'r.jsonl')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder.path, 'r.jsonl'), 'utf8')).toContain(planted);
  folder.cairn('export', 'r', 'm.jsonl', '--masked');
  const masked = readFileSync(join(folder.path, 'm.jsonl'), 'utf8');
  expect(masked).toContain('"password":"[redacted]"');
  expect(masked).not.toContain(planted);
  expect(folder.cairn('import', 'm.jsonl').err).toContain('[EXPORT_MASKED]');
});

test('C2.1 diff and post-mortem say how a block named like a secret did', () => {
  writeFileSync(
    join(folder.path, 'reset.yaml'),
    "name: reset\nblocks:\n  - { id: reset_password, type: Shell, effect: read, inputs: { command: 'echo gone >&2; exit 3' } }\n",
  );
  folder.cairn('run', 'reset.yaml', '--run-id', 'reset');
  expect(folder.cairn('diff', 'reset@0', 'reset').out).toContain('  reset_password: not started → failed');
  expect(folder.cairn('post-mortem', 'reset').out).toContain(
    'reset_password failed: the command exited with 3: gone [EXIT_CODE]',
  );
});
