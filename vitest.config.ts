import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { CompactReporter } from './scripts/compact-reporter.ts';

/** Tests of the whole that leave their process as it was. */
const sharing = ['agents', 'bad-input', 'checkpoints', 'convert', 'dot', 'history', 'maps', 'preview', 'yaml'].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

// Processes that tests start share what they have compiled: a program that imports the sources takes a third of the CPU. Coverage would
// lose precision by it.
if (!process.argv.includes('--coverage'))
  process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'dist.test/compiled');

export default defineConfig({
  test: {
    passWithNoTests: true,
    // Processes, not threads: tests kill children, change folders and open databases.
    pool: 'forks',
    // Node loads the sources, as it does for users: a transform by Vite costs up to a quarter of the CPU of a file.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Three on two cores: tests wait a quarter of their time for servers, other processes and disks.
    maxWorkers: 3,
    // A busy machine is no failure; this ends only what hangs. `npm run prove` does ten times as much in a test.
    testTimeout: process.env['CAIRN_PROVE'] === '1' ? 600_000 : 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 40_000 } },
    projects: [
      // The files of a worker share one process, so that each module is loaded once and not by each file.
      { extends: true, test: { name: 'shared', isolate: false, include: ['src/**/*.test.ts', ...sharing] } },
      // Other tests may change their process, its folder or its environment, or measure what it takes.
      {
        extends: true,
        test: { name: 'alone', include: ['test/**/*.test.ts', 'examples/**/*.test.ts'], exclude: sharing },
      },
    ],
    reporters: [new CompactReporter()],
    coverage: {
      provider: 'v8',
      include: ['src/{graph,state,history,engine}/**/*.ts'],
      exclude: ['**/*.test.ts'],
      reporter: ['text', 'json-summary'],
      thresholds: { lines: 95, branches: 90 },
    },
  },
});
