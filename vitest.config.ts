import { defineConfig } from 'vitest/config';
import { CompactReporter } from './scripts/compact-reporter.ts';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    passWithNoTests: true,
    // Processes, not threads: tests kill children, change folders and open databases.
    pool: 'forks',
    maxWorkers: 2,
    // A busy machine is no failure; this ends only what hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
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
