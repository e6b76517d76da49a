/** The id port over the machine's randomness, with worker names that tell whether their process has died. */
import { randomBytes } from 'node:crypto';
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
    const isLater = nowMs > lastMs;
    // A clock that stands still or goes back must not unsort the ids: the last time is kept, and the counter counts on.
    counter = isLater ? randomBytes(2).readUInt16BE() & 0x7ff : counter + 1;
    lastMs = isLater ? nowMs : lastMs;
    if (counter > 0xfff) {
      counter = 0;
      lastMs += 1;
    }
    const bytes = randomBytes(16);
    bytes.writeUIntBE(lastMs, 0, 6);
    bytes.writeUInt16BE(0x7000 | counter, 6);
    bytes[8] = 0x80 | (bytes.readUInt8(8) & 0x3f);
    const hex = bytes.toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  };
}
