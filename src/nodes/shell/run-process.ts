/** Runs a process in a process group of its own, and leaves nothing of that group behind. POSIX only. */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import { once } from 'node:events';

// Makes sure that process groups do not outlive this process, even if it is killed.

/**
 * A shell that keeps a list of running process groups. Only this process holds its pipe open: when the pipe ends, this process is gone, and
 * the shell kills the groups. It uses only built-in commands. Without a shell, everything else still works.
 */
const script = `
groups=' '
while read -r op id; do
  case $op in
    add) groups="$groups$id " ;;
    end) groups="\${groups%% "$id" *} \${groups#* "$id" }" ;;
  esac
done
for id in $groups; do kill -s KILL -- "-$id"; done
`;

let watcher: Writable | undefined;

/** Registers a group with the watcher. Call the returned function when the group is dead, because its id may then be reused. */
type WatchForDeath = (group: number) => () => void;

/** Prepares a registration. Call it before a group is started, to keep the time short during which the watcher does not know the group. */
function openDeathWatch(): WatchForDeath {
  watcher ??= startWatcher();
  const started = watcher;
  return (group) => {
    started?.write(`add ${group}\n`);
    return () => void started?.write(`end ${group}\n`);
  };
}

/**
 * Starts the watcher in a process group of its own, so that keys typed at the terminal do not end it. It does not keep this process alive.
 */
function startWatcher(): Writable | undefined {
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: {} });
  const pipe = child.stdin;
  const forget = (): void => {
    if (watcher === pipe) watcher = undefined;
  };
  child.on('error', forget).on('exit', forget).unref();
  pipe?.on('error', forget);
  (pipe as Partial<{ unref(): void }> | null)?.unref?.();
  return pipe ?? undefined;
}

interface ProcessRequest {
  readonly file: string;
  readonly args: readonly string[];
  /** All environment variables; no others are passed. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Input on stdin; absent means empty. */
  readonly input?: string | Uint8Array;
  readonly signal: AbortSignal;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killGraceMs: number;
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Buffer) => void;
  /** Called with what the process writes to descriptor 3, which is open only if this is given. */
  readonly onStatus?: (bytes: Buffer) => void;
}

export interface ProcessEnd {
  /** Null if the process was ended by a signal. */
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** Process groups that are running. They are killed when this process exits normally; if it is killed, the group watcher does that. */
const liveGroups = new Set<number>();
let isExitWatched = false;

/**
 * Runs a process. Resolves when it is dead and its output has been read. When `signal` is aborted, the whole group gets SIGTERM, then
 * SIGKILL, and the promise resolves after that. Rejects only if the process could not be started.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessEnd> {
  const watchForDeath = openDeathWatch();
  const child = spawn(request.file, request.args, {
    detached: true,
    env: request.env,
    stdio: [
      request.input === undefined ? 'ignore' : 'pipe',
      'pipe',
      'pipe',
      ...(request.onStatus === undefined ? [] : (['pipe'] as const)),
    ],
    ...(request.cwd !== undefined && { cwd: request.cwd }),
  });
  child.stdout?.on('data', (bytes: Buffer) => request.onOutput('stdout', bytes));
  child.stderr?.on('data', (bytes: Buffer) => request.onOutput('stderr', bytes));
  if (request.onStatus !== undefined) child.stdio[3]?.on('data', request.onStatus);
  const closed = once(child, 'close') as Promise<[number | null, string | null]>;
  const group = child.pid;
  if (group === undefined) {
    await closed; // Rejects with the reason why it could not be started.
    throw new Error(`${request.file} could not be started`);
  }
  const stopWatching = watchGroup(child, group, request, watchForDeath(group));
  // A process that does not read its input is not a failure.
  child.stdin?.on('error', () => undefined).end(request.input);
  try {
    const [exitCode, signal] = await closed;
    return { exitCode, signal };
  } finally {
    stopWatching();
  }
}

/** Kills the group on abort, and kills the rest of it when its leader has ended. */
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
    // Processes that outlive the leader could hold our pipes open for any time.
    killGroup(group, 'SIGKILL');
    onGone();
    // A descendant that moved to another group may still hold the pipes open, so they are closed here.
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
    // ESRCH: the group is empty.
  }
}

function watchExit(): void {
  if (isExitWatched) return;
  isExitWatched = true;
  process.once('exit', () => {
    for (const group of liveGroups) killGroup(group, 'SIGKILL');
  });
}
