/** A graph for tests of workers: asks, and then works as long as a file named `hold` is there. */
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentGraph, END, functionNode, humanNode, START } from '../../src/index.ts';

export const graph = new AgentGraph({}, { id: 'holding' })
  .addNode('ask', humanNode({ prompt: 'Begin?', choices: ['yes'] }))
  .addNode(
    'work',
    functionNode(async (ctx) => {
      const { folder } = ctx.input as { readonly folder: string };
      appendFileSync(join(folder, 'working.txt'), `${process.pid}\n`);
      while (existsSync(join(folder, 'hold'))) await sleep(10, undefined, { signal: ctx.signal });
      return 'worked';
    }),
  )
  .addEdge(START, 'ask')
  .addEdge('ask', 'work')
  .addEdge('work', END)
  .compile();
