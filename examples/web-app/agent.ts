/** The agent of the app: it answers customers, and refunds only what a person approves. */
import { AgentGraph, END, START } from '../../src/index.ts';
import { agent, tool } from '../../src/agents/index.ts';
import { createScriptedModels } from '../../src/models/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { z } from 'zod';

const refund = tool({
  description: 'Pays an order back.',
  input: z.object({ order: z.string(), amount: z.number() }),
  run: ({ order, amount }, { idempotencyKey }) => ({ order, amount, receipt: idempotencyKey.slice(0, 8) }),
});

// Plays back what a model would say, so that the app runs without an account. Leave it out for a real one.
const models = createScriptedModels([
  { calls: [{ tool: 'refund', input: { order: 'A-17', amount: 40 } }] },
  'Your order A-17 is paid back.',
]);

/** What the web server starts, and what workers go on with. */
export const support = new AgentGraph({}, { id: 'support' })
  .addNode('clerk', agent({ model: 'anthropic:claude-opus-5', tools: { refund } }))
  // A payment provider tells by a webhook that the money has arrived.
  .addNode('arrived', (ctx) => ctx.receive('paid'), { effectClass: 'read' })
  .addEdge(START, 'clerk')
  .addEdge('clerk', 'arrived')
  .addEdge('arrived', END)
  .compile({ models, store: openSqliteStore({ path: process.env['RUNS'] ?? 'runs.db' }) });
