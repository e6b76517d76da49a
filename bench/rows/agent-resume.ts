/** Taking up an agent after 200 loops in a fresh process, from the start of Node to its exit; beside bare Node that reads the conversation. */
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Group } from '../group.ts';
import { median } from '../median.ts';
import { spawnNode } from '../spawn-node.ts';

const attempts = 5;
const name = 'agent resumed at loop 200 in a cold process, compile cache on';
const processes = join(import.meta.dirname, '../processes');

export const agentResume: Group = {
  rows: [{ name, against: 'a bare Node process that opens SQLite and reads the conversation', target: 2 }],
  needsBuild: true,
  prepare: (folder) => {
    const paused = join(folder, 'paused');
    const work = join(folder, 'work');
    mkdirSync(paused);
    const waitId = spawnNode([join(processes, 'pause-agent.mjs'), paused]).stdout.trim();
    const cached = { NODE_COMPILE_CACHE: join(folder, 'compile-cache') };
    const time = (script: string): number => {
      rmSync(work, { recursive: true, force: true });
      cpSync(paused, work, { recursive: true });
      return spawnNode([join(processes, script), work, waitId], { env: cached }).tookMs;
    };
    return {
      repeat: () => {
        const rounds = Array.from({ length: attempts }, () => ({
          ours: time('resume-agent.mjs'),
          bare: time('read-conversation.mjs'),
        }));
        const middle = (key: 'ours' | 'bare'): number => median(rounds.map((round) => round[key]));
        return { [name]: { ours: middle('ours'), floor: middle('bare'), unit: 'ms' } };
      },
    };
  },
};
