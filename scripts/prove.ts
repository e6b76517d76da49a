/**
 * `npm run prove [-- STEP...]`: what is too long for the gate. Without a name all steps but those that are part of `suite`. Each is a
 * command; what it prints is shown, and a line a step is the end.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

interface Step {
  readonly about: string;
  readonly command: string;
  /** A part of the suite, to run it alone. */
  readonly isPart?: true;
}

const vitest = 'vitest run';

const steps: Readonly<Record<string, Step>> = {
  check: { about: 'the checks of the gate', command: 'node scripts/check.ts' },
  suite: { about: 'every test at its large scale', command: vitest },
  simulation: { about: '10,000 seeds of the simulation', command: 'node scripts/simulate.ts --seeds 10000' },
  'fail-last': {
    about: '10,000 seeds of the simulation in which nodes fail last',
    command: 'node scripts/simulate.ts --seeds 10000 --fail-last',
  },
  mutants: { about: 'changes of meaning that the gate must notice', command: 'node scripts/mutants.ts' },
  crashes: {
    about: 'processes and runs killed at every point',
    command: `${vitest} test/crash test/dot/crashes test/agents/crash test/agents/ai-sdk-crash test/mcp/kills test/stores/file-kills test/stores/redis-kills test/sandboxes/killed test/agents/browser crash-points pipelines`,
    isPart: true,
  },
  conformance: { about: 'the conformance suite of MCP', command: `${vitest} test/mcp/conformance`, isPart: true },
  docs: { about: 'the documentation site, built', command: 'npm run -s docs' },
  install: {
    about: 'the package, installed and bundled by all bundlers',
    command: `${vitest} test/package test/offline-install test/bundles test/bundlers`,
    isPart: true,
  },
};

const root = resolve(import.meta.dirname, '..');
const named = process.argv.slice(2);
const unknown = named.filter((name) => !Object.hasOwn(steps, name));
if (unknown.length > 0) {
  process.stderr.write(`there is no step ${unknown.join(', ')}; steps:\n`);
  for (const [name, { about, isPart }] of Object.entries(steps))
    process.stderr.write(`  ${name.padEnd(13)} ${about}${isPart ? ' (part of suite)' : ''}\n`);
  process.exit(2);
}

const chosen = Object.entries(steps).filter(([name, { isPart }]) =>
  named.length > 0 ? named.includes(name) : isPart !== true,
);
const ends: string[] = [];
for (const [name, { command }] of chosen) {
  process.stdout.write(`\n${name}: ${command}\n`);
  const startedMs = performance.now();
  // Mutants must be noticed at the scale of the gate.
  const scale = name === 'mutants' ? {} : { CAIRN_PROVE: '1' };
  const { status } = spawnSync(command, {
    cwd: root,
    shell: true,
    stdio: 'inherit',
    env: { ...process.env, ...scale },
  });
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  ends.push(`${name.padEnd(13)} ${status === 0 ? 'ok' : 'FAILED'}  ${seconds} s`);
  if (status !== 0) process.exitCode = 1;
}
process.stdout.write(`\n${ends.join('\n')}\n`);
