/** Sees to it that process groups do not outlive this process, even if it is killed. */
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/**
 * One shell for this process, with a pipe that only we hold open. It keeps the list of groups that run; when the pipe ends, we are gone,
 * and it kills what is left. It needs nothing but what is built into the shell; where there is no shell, all else works.
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

/** Tells the watcher of a group. What it returns is to be called when the group is dead, since its id may then be given to another. */
export type WatchForDeath = (group: number) => () => void;

/** Call it before a group is started, so that as little as can be passes between its start and the watcher's knowing of it. */
export function openDeathWatch(): WatchForDeath {
  watcher ??= startWatcher();
  const told = watcher;
  return (group) => {
    told?.write(`add ${group}\n`);
    return () => void told?.write(`end ${group}\n`);
  };
}

/** It has a group of its own, so that what is typed at our terminal does not end it, and it never keeps us from ending. */
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
