/** Prints how many runs, visits and charges are in memory when their runs are over and have left timers that run on. With `--expose-gc`. */
import { queryObjects } from 'node:v8';
import { AttemptScope, Charge } from '../../src/engine/live-run/attempt-scope.ts';
import { Activation } from '../../src/engine/live-run/loop.ts';
import { RunCore } from '../../src/engine/live-run/run-core.ts';
import { AgentGraph, END, START } from '../../src/index.ts';

declare const gc: () => void;

const timers: NodeJS.Timeout[] = [];
const leaveTimer = (): void => void timers.push(setInterval(() => undefined, 1e6));
const graph = new AgentGraph({}, { id: 'leaves' })
  .addNode('settles', async (ctx) => {
    leaveTimer();
    await ctx.step('s', {}, leaveTimer);
  })
  .addNode('asks', async (ctx) => {
    leaveTimer();
    await ctx.step('s', {}, leaveTimer);
    await ctx.ask({ name: 'q', prompt: '?' });
  })
  .addEdge(START, 'settles')
  .addEdge('settles', 'asks')
  .addEdge('asks', END)
  .compile();
for (let run = 0; run < 5; run += 1) await graph.invoke({});
await new Promise((resolve) => setImmediate(resolve));
gc();
console.log(JSON.stringify([RunCore, Activation, Charge, AttemptScope].map((kind) => queryObjects(kind))));
for (const timer of timers) clearInterval(timer);
await graph.close();
