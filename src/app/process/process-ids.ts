/** The id port over the system's random numbers. Names of workers tell whether their process is dead. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import type { Ids } from '../../ports/ids.ts';

// Names for processes that let another process find out later whether the named process is dead.

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

export function isPidInUse(pid: number): boolean {
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

let workers = 0;

/** Workers of this process that have closed, by id, with whether nothing of them runs any more. */
const closed = new Map<string, () => boolean>();

/** Makes ids for one worker. Each call makes another worker, so that two engines in one process do not share a claim. */
export function createSystemIds(): Ids {
  workers += 1;
  const workerId = `${ownProcessName()}:${workers}`;
  const createRunId = createUuidV7Source();
  return {
    createRunId,
    workerId,
    random: Math.random,
    isWorkerDead: (id) => closed.get(id)?.() ?? isWorkerDead(id),
    close: (isIdle) => void closed.set(workerId, isIdle),
  };
}

/** Makes UUIDs of version 7 (RFC 9562) that sort in the order of their creation, also within one millisecond. */
function createUuidV7Source(): (nowMs: number) => string {
  let lastMs = 0;
  let counter = 0;
  return (nowMs) => {
    // A random UUID of version 4, which Node generates in advance. Its random parts are copied to the same positions of the new UUID.
    const random = randomUUID();
    const isLater = nowMs > lastMs;
    // If the clock stands still or goes back, the last time is used again and the counter goes on, so that ids stay sorted.
    counter = isLater ? parseInt(random.slice(0, 3), 16) >> 1 : counter + 1;
    lastMs = isLater ? nowMs : lastMs;
    if (counter > 0xfff) {
      counter = 0;
      lastMs += 1;
    }
    const time = lastMs.toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${random.slice(19)}`;
  };
}
