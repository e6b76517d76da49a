/** A process that runs one command, and is killed by a test while it does. */
import { runProcess } from '../../src/nodes/shell/run-process.ts';

const script = process.argv[2] ?? '';
const { exitCode } = await runProcess({
  file: '/bin/sh',
  args: ['-c', script],
  env: { PATH: process.env['PATH'] ?? '' },
  signal: new AbortController().signal,
  killGraceMs: 1_000,
  onOutput: () => process.send?.('running'),
});
process.disconnect?.();
process.exitCode = exitCode ?? 1;
