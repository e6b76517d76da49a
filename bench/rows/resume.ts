/**
 * Taking up a paused run in a fresh process, from the start of Node to its exit; beside bare Node, and beside openworkflow. In CPU,
 * too, which says what a process takes from its neighbours, and is much the same on a busy machine.
 */
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Group } from '../group.ts';
import { installPeer } from '../install-peer.ts';
import { median } from '../median.ts';
import { spawnNode, type Finished } from '../spawn-node.ts';

const attempts = 5;
const name = 'resume after 500 steps in a cold process, wall time';
const nameOfCached = 'resume after 500 steps in a cold process, compile cache on for both';
const nameOfUncached = 'resume after 500 steps in a cold process, without a compile cache';
const nameOfCachedCpu = 'the same in CPU, compile cache on for both';
const nameOfUncachedCpu = 'the same in CPU, without a compile cache';
const processes = join(import.meta.dirname, '../processes');
const peer = 'openworkflow on SQLite, whole process';

/** A paused run of each, made once and copied before each attempt. */
function prepareRuns(folder: string, openworkflow: string): { readonly restore: () => void; readonly work: string } {
  const paused = join(folder, 'paused');
  const work = join(folder, 'work');
  mkdirSync(paused);
  spawnNode([join(processes, 'pause.mjs'), paused]);
  spawnNode([openworkflow, paused, 'pause']);
  const restore = (): void => {
    rmSync(work, { recursive: true, force: true });
    cpSync(paused, work, { recursive: true });
  };
  return { restore, work };
}

export const resume: Group = {
  rows: [
    { name, against: 'a bare Node process that opens SQLite and reads that state', target: 2.1 },
    { name: nameOfCached, against: peer, target: 1 },
    { name: nameOfUncached, against: peer, target: 1 },
    { name: nameOfCachedCpu, against: peer, target: 1.1 },
    { name: nameOfUncachedCpu, against: peer, target: 1.5 },
  ],
  needsBuild: true,
  prepare: (folder) => {
    const source = 'openworkflow.mjs';
    const peerFolder = installPeer('openworkflow', ['openworkflow@0.10.1'], {
      [source]: readFileSync(join(processes, source), 'utf8'),
    });
    const theirScript = join(peerFolder, source);
    const { restore, work } = prepareRuns(folder, theirScript);
    const cached = { NODE_COMPILE_CACHE: join(folder, 'compile-cache') };
    const measure = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Finished => {
      restore();
      return spawnNode(args, { env });
    };
    const ours = [join(processes, 'resume.mjs'), work];
    const theirs = [theirScript, work, 'resume'];
    const bare = [join(processes, 'read-state.mjs'), work];
    return {
      repeat: () => {
        const rounds = Array.from({ length: attempts }, () => ({
          ours: measure(ours),
          theirs: measure(theirs),
          bare: measure(bare),
          oursCached: measure(ours, cached),
          theirsCached: measure(theirs, cached),
        }));
        type Key = keyof (typeof rounds)[number];
        const middle = (key: Key): number => median(rounds.map((round) => round[key].tookMs));
        const cpu = (key: Key): number => rounds.reduce((sum, round) => sum + round[key].cpuMs, 0) / attempts;
        return {
          [name]: { ours: middle('oursCached'), floor: middle('bare'), unit: 'ms' },
          [nameOfCached]: { ours: middle('oursCached'), floor: middle('theirsCached'), unit: 'ms' },
          [nameOfUncached]: { ours: middle('ours'), floor: middle('theirs'), unit: 'ms' },
          [nameOfCachedCpu]: { ours: cpu('oursCached'), floor: cpu('theirsCached'), unit: 'ms' },
          [nameOfUncachedCpu]: { ours: cpu('ours'), floor: cpu('theirs'), unit: 'ms' },
        };
      },
    };
  },
};
