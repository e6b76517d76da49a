/** Forks of a run that has ended, several at once, and forks of those while they are worked on: each ends as the run did (R11). */
import type { CrashUsers } from '../../src/testing/crash-kit/find-effect-faults.ts';
import type { SeededRandom } from '../../src/ports/seeded-random.ts';
import { attendRun } from './client.ts';
import type { SimulatedNode, SimulationWorld } from './worker.ts';

/** How many forks a simulation has, at most. */
const forksMost = 3;

/** Draws forks, from anywhere in the histories of the run and of each other, and attends to all of them until they have ended. @returns their ids */
export async function attendForks(
  world: SimulationWorld,
  users: CrashUsers,
  original: string,
  random: SeededRandom,
): Promise<readonly string[]> {
  const runs = [original];
  const clients: Promise<string>[] = [];
  for (let count = 1 + random.integer(forksMost); count > 0; count -= 1) {
    const runId = `fork-${runs.length}`;
    const begin = beginFork(world, runId, random.pick(runs), random.next());
    const client = { ...users, runId, begin, earlySignals: [], cancelAfterMs: undefined };
    clients.push(attendRun(world, client, random.fork()).finally(() => world.forks.delete(runId)));
    runs.push(runId);
  }
  await Promise.all(clients);
  return runs.slice(1);
}

/** @param share - which part of the parent's history is taken over, once there is a parent */
function beginFork(
  { store, tenant, forks }: SimulationWorld,
  runId: string,
  parent: string,
  share: number,
): (process: SimulatedNode) => Promise<void> {
  let seq: number | undefined;
  return async ({ engine }) => {
    const run = await store.readRun({ tenant, runId: parent });
    if (run === undefined) return;
    seq ??= Math.floor(share * (run.head + 1));
    // Whether or not its acknowledgement comes: workers try to take it up.
    forks.add(runId);
    await engine.fork({ runId: parent, seq }, { runId });
  };
}
