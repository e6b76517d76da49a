/** Starts a process and measures it as a whole. */
import { spawnSync } from 'node:child_process';

export interface Finished {
  readonly tookMs: number;
  readonly stdout: string;
}

/** Runs Node with these arguments, one process after another being how they are compared. */
export function spawnNode(args: readonly string[], env: Readonly<Record<string, string>> = {}): Finished {
  const startMs = performance.now();
  const { status, error, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  const tookMs = performance.now() - startMs;
  if (status !== 0) throw new Error(`node ${args.join(' ')} failed: ${error?.message ?? stderr}`);
  return { tookMs, stdout };
}
