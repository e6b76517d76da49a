/** What commands of the built package take of the CPU from the start of Node to its exit, beside a bare Node. */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Group, Sample } from '../group.ts';
import { spawnNode } from '../spawn-node.ts';

const attempts = 5;
const nameOfRun = 'cairn run of a workflow of one block, in CPU';
const nameOfAnswer = 'cairn answer, in CPU';
const nameOfMcp = 'cairn mcp until it has answered initialize, in CPU';
const names = [nameOfRun, nameOfAnswer, nameOfMcp] as const;
const dist = resolve(import.meta.dirname, '../../dist');
const executable = join(dist, 'bin/cairn.cjs');

const hello = 'name: hello\nblocks: [{ id: hi, type: EchoBlock, inputs: { message: hi } }]\n';
/** Runs a graph up to its question, for the command that answers it. */
const pauseRun = `import { AgentGraph, END, humanNode, START } from '${pathToFileURL(join(dist, 'index.js')).href}';
const asks = new AgentGraph({}, { id: 'asks' })
  .addNode('ask', humanNode({ prompt: 'Go on?' })).addEdge(START, 'ask').addEdge('ask', END)
  .compile({ store: 'sqlite:.cairn/cairn.db' });
await asks.invoke({}, { runId: 'first' });
await asks.close();
`;
const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
});

export const starts: Group = {
  rows: names.map((name) => ({ name, against: 'node -e 0' })),
  needsBuild: true,
  prepare: (folder) => {
    const [paused, work] = [join(folder, 'paused'), join(folder, 'work')];
    mkdirSync(paused);
    writeFileSync(join(paused, 'hello.yaml'), hello);
    spawnNode(['--input-type=module', '-e', pauseRun], { cwd: paused });
    const cpuOf = (args: readonly string[], input?: string): number => {
      rmSync(work, { recursive: true, force: true });
      cpSync(paused, work, { recursive: true });
      return spawnNode(args, { cwd: work, ...(input !== undefined && { input }) }).cpuMs;
    };
    return {
      repeat: () => {
        const rounds = Array.from({ length: attempts }, () => ({
          bare: cpuOf(['-e', '0']),
          [nameOfRun]: cpuOf([executable, 'run', 'hello.yaml']),
          [nameOfAnswer]: cpuOf([executable, 'answer', 'first', 'ask', 'yes']),
          [nameOfMcp]: cpuOf([executable, 'mcp'], `${initialize}\n`),
        }));
        type Key = keyof (typeof rounds)[number];
        const mean = (key: Key): number => rounds.reduce((sum, round) => sum + (round[key] ?? 0), 0) / attempts;
        const sampleOf = (name: Key): Sample => ({ ours: mean(name), floor: mean('bare'), unit: 'ms' });
        return Object.fromEntries(names.map((name) => [name, sampleOf(name)]));
      },
    };
  },
};
