/** Runs one process in a group of its own, and leaves nothing of that group behind. POSIX only. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openDeathWatch } from './group-watcher.ts';

export interface ProcessRequest {
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment; nothing else is passed. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Bytes of stdin; absent: empty. */
  readonly input?: string | Uint8Array;
  readonly signal: AbortSignal;
  /** Between SIGTERM and SIGKILL. */
  readonly killGraceMs: number;
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Buffer) => void;
}

export interface ProcessEnd {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** Groups that run now: they must not outlive this process when it exits in an orderly way. If it is killed, the watcher sees to it. */
const liveGroups = new Set<number>();
let isExitWatched = false;

/**
 * Resolves when the process is dead and its output is read. When `signal` is aborted, the whole group gets SIGTERM, then SIGKILL, and
 * the promise still resolves only after that. Rejects only if the process could not be started.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessEnd> {
  const watchForDeath = openDeathWatch();
  const child = spawn(request.file, request.args, {
    detached: true,
    env: request.env,
    stdio: [request.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(request.cwd !== undefined && { cwd: request.cwd }),
  });
  child.stdout?.on('data', (bytes: Buffer) => request.onOutput('stdout', bytes));
  child.stderr?.on('data', (bytes: Buffer) => request.onOutput('stderr', bytes));
  const closed = once(child, 'close') as Promise<[number | null, string | null]>;
  const group = child.pid;
  if (group === undefined) {
    await closed; // Rejects with the reason why it could not be started.
    throw new Error(`${request.file} could not be started`);
  }
  const stopWatching = watchGroup(child, group, request, watchForDeath(group));
  // A process that does not read its input is no failure of ours.
  child.stdin?.on('error', () => undefined).end(request.input);
  try {
    const [exitCode, signal] = await closed;
    return { exitCode, signal };
  } finally {
    stopWatching();
  }
}

/** Kills the group on abort, and what is left of it once its leader is gone. */
function watchGroup(
  child: ChildProcess,
  group: number,
  { signal, killGraceMs }: ProcessRequest,
  onGone: () => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    killGroup(group, 'SIGTERM');
    timer = setTimeout(() => killGroup(group, 'SIGKILL'), killGraceMs);
  };
  watchExit();
  liveGroups.add(group);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  child.once('exit', () => {
    clearTimeout(timer);
    liveGroups.delete(group);
    // What the leader left running would hold our pipes open for as long as it likes.
    killGroup(group, 'SIGKILL');
    onGone();
    // A descendant that moved to another group may still hold them.
    timer = setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, killGraceMs);
  });
  return () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    liveGroups.delete(group);
  };
}

function killGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // ESRCH: nobody is left in it.
  }
}

function watchExit(): void {
  if (isExitWatched) return;
  isExitWatched = true;
  process.once('exit', () => {
    for (const group of liveGroups) killGroup(group, 'SIGKILL');
  });
}
