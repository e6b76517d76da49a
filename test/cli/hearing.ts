/** A graph for tests of signals: hears of two things, one after the other. */
import { AgentGraph, END, functionNode, START } from '../../src/index.ts';

export const graph = new AgentGraph({}, { id: 'hearing' })
  .addNode(
    'hear',
    functionNode(async (ctx) => [await ctx.receive('paid'), await ctx.receive('shipped')], { effectClass: 'human' }),
  )
  .addEdge(START, 'hear')
  .addEdge('hear', END)
  .compile();
