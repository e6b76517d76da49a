/** A worker over a queue of runs of ten steps on Postgres, in CPU of worker and server, beside openworkflow and DBOS in turns. */
import { resolve } from 'node:path';
import { cairnFleet, fillQueue, openPeerFleets, warmUpOf, workQueue, type FleetSystem } from '../fleet.ts';
import type { Group, Repetition, Sample } from '../group.ts';
import { inOwnDatabase, startServer } from '../postgres.ts';
import { openServerCpu } from '../process-cpu.ts';

const runs = 600;
/** What a run may take, in ms. */
const goalMs = 2;
const nameBeside = (peer: string): string => `Postgres: a fleet's run of ten steps in CPU, beside ${peer}`;
const nameAlone = "Postgres: a fleet's run of ten steps in CPU";

export const fleets: Group = {
  rows: [
    { name: nameBeside('openworkflow'), against: 'openworkflow on Postgres', target: 1 },
    { name: nameBeside('DBOS'), against: 'DBOS', target: 1 },
    { name: nameAlone, against: `${goalMs} ms`, target: 1 },
  ],
  needsBuild: true,
  warmUps: 0,
  prepare: async (folder) => {
    const ours = cairnFleet('Cairn', resolve(import.meta.dirname, '../..'), folder);
    const peers = openPeerFleets();
    const server = await startServer();
    const serverCpu = await openServerCpu(server);
    const cpuOfRun = (system: FleetSystem): Promise<number> =>
      inOwnDatabase(server, async (url) => {
        fillQueue(system, url, runs);
        const { workerMs, serverMs } = await workQueue(system, url, { runs, workers: 1, serverCpu });
        return (workerMs + serverMs) / (runs - warmUpOf(runs));
      });
    const repeat = async (): Promise<Repetition> => {
      const oursMs = await cpuOfRun(ours);
      const beside: [string, Sample][] = [];
      for (const peer of peers)
        beside.push([nameBeside(peer.name), { ours: oursMs, floor: await cpuOfRun(peer), unit: 'ms' }]);
      return { ...Object.fromEntries(beside), [nameAlone]: { ours: oursMs, floor: goalMs, unit: 'ms' } };
    };
    return { repeat, close: () => server.stop() };
  },
};
