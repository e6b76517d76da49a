/** Starts a process and measures it as a whole. */
import { spawnSync } from 'node:child_process';
import { cpuOfEndedChildren } from './process-cpu.ts';

export interface Finished {
  readonly tookMs: number;
  /** User and system, in steps of 10 ms: of use as a sum over several. */
  readonly cpuMs: number;
  readonly stdout: string;
}

/** How a process is started. */
export interface SpawnOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What it reads; then its input ends. */
  readonly input?: string;
}

/** Runs Node with these arguments, one process after another being how they are compared. */
export function spawnNode(args: readonly string[], { env, ...options }: SpawnOptions = {}): Finished {
  const startMs = performance.now();
  const startCpuMs = cpuOfEndedChildren();
  const { status, error, stdout, stderr } = spawnSync(process.execPath, args, {
    ...options,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  const tookMs = performance.now() - startMs;
  if (status !== 0) throw new Error(`node ${args.join(' ')} failed: ${error?.message ?? stderr}`);
  return { tookMs, cpuMs: cpuOfEndedChildren() - startCpuMs, stdout };
}
