/** Makes sure that process groups do not outlive this process, even if it is killed. */
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

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
export type WatchForDeath = (group: number) => () => void;

/** Prepares a registration. Call it before a group is started, to keep the time short during which the watcher does not know the group. */
export function openDeathWatch(): WatchForDeath {
  watcher ??= startWatcher();
  const told = watcher;
  return (group) => {
    told?.write(`add ${group}\n`);
    return () => void told?.write(`end ${group}\n`);
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
