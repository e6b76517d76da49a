/** The id port over the machine's randomness, with worker names that tell whether their process has died. */
import { randomUUID } from 'node:crypto';
import type { Ids } from '../../ports/ids.ts';
import { isWorkerDead, ownProcessName } from './process-name.ts';

let workers = 0;

/** Ids of one worker. Each call names another worker, so that two engines in one process do not share a claim. */
export function createSystemIds(): Ids {
  workers += 1;
  const workerId = `${ownProcessName()}:${workers}`;
  const createRunId = createUuidV7Source();
  return { createRunId, workerId, random: Math.random, isWorkerDead };
}

/** UUIDs of version 7 (RFC 9562) that sort in the order they were made, within one millisecond too. */
function createUuidV7Source(): (nowMs: number) => string {
  let lastMs = 0;
  let counter = 0;
  return (nowMs) => {
    // A random UUID of version 4, which Node makes in stock: this takes from it what stands at the same places in one of version 7.
    const random = randomUUID();
    const isLater = nowMs > lastMs;
    // A clock that stands still or goes back must not unsort the ids: the last time is kept, and the counter counts on.
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
