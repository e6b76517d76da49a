/** Removals of many runs at once, and the lines of removed runs. */
import type { RemovalReason, RemovedRun, Removals } from '../../ports/removals.ts';
import type { RunKey } from '../../ports/store.ts';
import { listOf, textOf, type RedisServer, type Reply } from './server.ts';

const runOf = ({ tenant, runId }: RunKey): RunKey => ({ tenant, runId });

/** The line of a removed run, as the server gives it. */
export function toRemoved(runId: string, [at, until, because]: readonly Reply[]): RemovedRun {
  return {
    runId,
    removedAt: Number(textOf(at)),
    until: Number(textOf(until)),
    because: textOf(because) as RemovalReason,
  };
}

export function createRedisRemovals(server: RedisServer): Removals {
  return {
    remove: async (removal) => listOf((await server.call('removeEnded', removal))[0]).map((id) => textOf(id)),
    read: async (key) => {
      const line = await server.call('removed', runOf(key));
      return line.length === 0 ? undefined : toRemoved(key.runId, line);
    },
    forget: async (key) => (await server.call('forgetRemoved', runOf(key)))[0] === 1,
    takeDuty: async (name, workerId, leaseMs) => (await server.call('duty', { name, workerId, leaseMs }))[0] === 1,
  };
}
