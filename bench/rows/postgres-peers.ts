/** A hundred runs side by side on Postgres in a fresh process, beside DBOS and openworkflow on the same server, in turns. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Group } from '../group.ts';
import { installPeer } from '../install-peer.ts';
import { startServer } from '../postgres.ts';
import { spawnNode } from '../spawn-node.ts';

const [runs, nodes] = [100, 10];
const nameOfDbos = 'Postgres: 100 runs x 10 write nodes, fresh process';
const nameOfOpenworkflow = 'Postgres: the same, beside openworkflow';
const processes = join(import.meta.dirname, '../processes');

export const postgresPeers: Group = {
  rows: [
    { name: nameOfDbos, against: 'DBOS', target: 1 / 3.5 },
    { name: nameOfOpenworkflow, against: 'openworkflow on Postgres', target: 1 / 2.5 },
  ],
  needsBuild: true,
  prepare: async () => {
    const peer = (folder: string, packages: readonly string[], script: string): string =>
      join(installPeer(folder, packages, { [script]: readFileSync(join(processes, script), 'utf8') }), script);
    const dbos = peer('dbos', ['@dbos-inc/dbos-sdk@5.3.0', 'pg@8'], 'dbos.mjs');
    const openworkflow = peer(
      'openworkflow-postgres',
      ['openworkflow@0.10.1', 'postgres@3.4.9'],
      'openworkflow-postgres.mjs',
    );
    const server = await startServer();
    const time = (script: string): number =>
      (
        JSON.parse(
          spawnNode([script, server.url, `${runs}`, `${nodes}`])
            .stdout.trim()
            .split('\n')
            .at(-1) ?? '',
        ) as {
          readonly tookMs: number;
        }
      ).tookMs;
    const ours = join(processes, 'postgres-runs.mjs');
    return {
      repeat: () => ({
        [nameOfDbos]: { ours: time(ours), floor: time(dbos), unit: 'ms' },
        [nameOfOpenworkflow]: { ours: time(ours), floor: time(openworkflow), unit: 'ms' },
      }),
      close: () => server.stop(),
    };
  },
};
