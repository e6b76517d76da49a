/** A graph for tests of signals: waits for a payment of a schema. */
import { z } from 'zod';
import { AgentGraph, END, START } from '../../src/index.ts';

export const graph = new AgentGraph({}, { id: 'receiving' })
  .addNode('paid', (ctx) => ctx.receive('paid', { schema: z.object({ amount: z.number() }) }), { effectClass: 'read' })
  .addEdge(START, 'paid')
  .addEdge('paid', END)
  .compile();
