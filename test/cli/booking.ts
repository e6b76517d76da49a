/** A graph for tests of cancels: reserves, asks, and after a cancel releases what it reserved, as long as it takes. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentGraph, END, humanNode, START } from '../../src/index.ts';

export const graph = new AgentGraph({}, { id: 'booking', onCancel: 'release' })
  .addNode('reserve', () => '4B')
  .addNode('confirm', humanNode({ prompt: 'Take it?', choices: ['yes'] }))
  .addNode(
    'release',
    async (ctx) => {
      const { folder } = ctx.input as { readonly folder: string };
      while (existsSync(join(folder, 'hold'))) await sleep(10, undefined, { signal: ctx.signal });
      return `released: ${ctx.cancel?.reason}`;
    },
    { effectClass: 'external', idempotent: true },
  )
  .addEdge(START, 'reserve')
  .addEdge('reserve', 'confirm')
  .addEdge('confirm', END)
  .compile();
