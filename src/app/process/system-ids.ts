/** The id port over the system's random numbers. Names of workers tell whether their process is dead. */
import { randomUUID } from 'node:crypto';
import type { Ids } from '../../ports/ids.ts';
import { isWorkerDead, ownProcessName } from './process-name.ts';

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
    // If the clock stands still or goes back, the last time is kept and the counter goes on, so that ids stay sorted.
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
