/**
 * Runs every check except the tests, one line each; a failed one prints what it said, and the others still run. The package, with its types,
 * and the architecture are checked by tests.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

type Step = { readonly name: string; readonly commands: readonly string[] };

const root = resolve(import.meta.dirname, '..');

const steps: readonly Step[] = [
  { name: 'format', commands: ['oxfmt --check .'] },
  { name: 'lint', commands: ['oxlint --deny-warnings'] },
  // The last one: types of the package are written file by file, so what is exported says its type.
  {
    name: 'types',
    commands: ['tsc --noEmit', 'tsc -p studio --noEmit', 'tsc -p tsconfig.build.json --noEmit --noCheck'],
  },
  { name: 'unused', commands: ['knip --no-progress --no-config-hints'] },
  { name: 'links', commands: ['node scripts/check-links.ts'] },
  { name: 'site', commands: ['node scripts/ensure-installed.mjs site', 'node scripts/check-site.ts'] },
];

/** @returns what the failed commands printed; empty if none failed */
function runStep({ commands }: Step): string {
  return commands
    .map((command) =>
      spawnSync(command, { cwd: root, shell: true, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    )
    .filter(({ status }) => status !== 0)
    .map(({ stdout, stderr }) => stripVTControlCharacters(`${stdout}${stderr}`).trimEnd() || 'failed without a word')
    .join('\n');
}

let failedCount = 0;
for (const step of steps) {
  const startedMs = performance.now();
  const complaint = runStep(step);
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`${step.name.padEnd(13)} ${complaint === '' ? 'ok' : 'FAILED'}  ${seconds} s`);
  if (complaint === '') continue;
  failedCount += 1;
  console.log(complaint.replace(/^/gm, '  '));
}
process.exitCode = failedCount > 0 ? 1 : 0;
