import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { CompactReporter } from './scripts/compact-reporter.ts';

/**
 * Tests that change their process or its folder, measure what it takes, or start so many processes that it had better be a small one:
 * starting a process copies the page tables of the one that starts it.
 */
const alone = [
  'examples/**/*.test.ts',
  'test/crash/{real-processes,shipped-nodes}.test.ts',
  'test/guide.test.ts',
  'test/http/raw-sockets.test.ts',
  'test/live/use-chat.test.ts',
  'test/mcp/kills.test.ts',
  'test/memory/*.test.ts',
  'test/package.test.ts',
  'test/sandboxes/*.test.ts',
  'test/security/{foreign-stores,hostile-texts}.test.ts',
  'test/simulation/*.test.ts',
  'test/stores/{killed-on-each,postgres-connections}.test.ts',
  'test/studio/large.test.ts',
  'test/trace/long-stories.test.ts',
];

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
      {
        extends: true,
        test: {
          name: 'shared',
          isolate: false,
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: alone,
          // Young objects are collected less often, with a twentieth less CPU.
          execArgv: ['--max-semi-space-size=64'],
        },
      },
      { extends: true, test: { name: 'alone', include: alone } },
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
