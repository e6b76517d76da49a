/** Names for processes that let another process find out later whether the named process is dead. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * This process as `place:pid:start`. `place` identifies where pids are comparable: host, boot and, on Linux, the pid namespace, so that a
 * process in another container is not taken for a dead one here. `start` tells the process from a later one with the same pid.
 */
export function ownProcessName(): string {
  return [placeName(), process.pid, readStat(process.pid)?.start ?? ''].join(':');
}

/** Whether the named process is dead; undefined if that cannot be known from here. */
export function isProcessDead(name: string): boolean | undefined {
  const [place, pidText = '', start = ''] = name.split(':');
  const pid = Number(pidText);
  if (place !== placeName() || !Number.isInteger(pid) || pid <= 0) return undefined;
  if (!isPidInUse(pid)) return true;
  if (start === '') return undefined;
  const stat = readStat(pid);
  return stat === undefined ? undefined : stat.isZombie || stat.start !== start;
}

/** Whether a worker is dead, which it is if its process is. Workers are named `process:number`. */
export function isWorkerDead(workerId: string): boolean | undefined {
  return isProcessDead(workerId.slice(0, workerId.lastIndexOf(':')));
}

/** A worker in words for people: its process and host. Ids in other formats are returned unchanged. */
export function describeWorker(workerId: string): string {
  const [place = '', pid = '', ...rest] = workerId.split(':');
  return rest.length > 0 && /^\d+$/.test(pid) ? `process ${pid} on ${place.split('/', 1)[0]}` : workerId;
}

let place: string | undefined;

function placeName(): string {
  place ??= [hostname(), read('/proc/sys/kernel/random/boot_id')?.slice(0, 8), readNamespace()]
    .filter((part) => part !== undefined)
    .join('/')
    .replaceAll(':', '_');
  return place;
}

function isPidInUse(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // We may not signal it, so it exists.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

interface ProcessStat {
  /** Whether the process is dead but not yet removed by its parent. */
  readonly isZombie: boolean;
  /** When it started, in clock ticks since boot. */
  readonly start: string;
}

/** Reads fields 3 and 22 of a stat line. The process's name before them may contain spaces and brackets. */
function readStat(pid: number): ProcessStat | undefined {
  const stat = read(`/proc/${pid}/stat`);
  const [state = '', ...rest] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  const start = rest[18];
  return start === undefined ? undefined : { isZombie: state === 'Z' || state === 'X', start };
}

function readNamespace(): string | undefined {
  try {
    return /\d+/u.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
  } catch {
    return undefined;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
