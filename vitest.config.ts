import { defineConfig } from 'vitest/config';
import { CompactReporter } from './scripts/compact-reporter.ts';

export default defineConfig({
  test: {
    passWithNoTests: true,
    // Processes, not threads: tests kill children, change folders and open databases.
    pool: 'forks',
    maxWorkers: 2,
    // A busy machine is no failure; this ends only what hangs. `npm run prove` does ten times as much in a test.
    testTimeout: process.env['CAIRN_PROVE'] === '1' ? 600_000 : 60_000,
    hookTimeout: 60_000,
    projects: [
      // The files of a worker share one process, so that each module is loaded once and not by each file.
      { extends: true, test: { name: 'shared', isolate: false, include: ['src/**/*.test.ts'] } },
      // Tests of the whole may change their process: its folder, its environment.
      { extends: true, test: { name: 'alone', include: ['test/**/*.test.ts', 'examples/**/*.test.ts'] } },
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
