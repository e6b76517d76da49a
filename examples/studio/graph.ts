/**
 * Refunds, for the demo of the studio: an agent looks at an order and advises, a person decides, money is paid back, and a mail says so.
 * Two things can go wrong, as they do: a bank refuses, and a process dies while it pays (`DIE_WHILE_PAYING=1`).
 */
import { z } from 'zod';
import { agent, tool } from '../../src/agents/index.ts';
import { AgentGraph, END, NodeFailure, START } from '../../src/index.ts';

const input = z.object({
  order: z.string().default('A-1042').describe('number of the order'),
  customer: z.string().default('Ann Berg').describe('who is paid back'),
  amount: z.number().min(1).max(5_000).default(42).describe('in EUR'),
  reason: z.enum(['damaged', 'late', 'wrong item']).default('damaged'),
});

const orders = tool({
  description: 'The order, and what the customer ordered before.',
  input: z.object({ order: z.string() }),
  effect: 'read',
  run: ({ order }) => ({ order, status: 'delivered', deliveredOn: '2026-11-02', earlierOrders: 7, earlierRefunds: 1 }),
});

const advice = z.object({ advice: z.enum(['refund', 'refuse', 'ask']), because: z.string() });

/** Above this, the bank of the demo says no. */
const bankLimit = 1_000;

function pay(amount: number, key: string): { readonly receipt: string; readonly amount: number } {
  if (process.env['DIE_WHILE_PAYING'] === '1') process.kill(process.pid, 'SIGKILL');
  if (amount > bankLimit)
    throw new NodeFailure(`The bank refused ${amount} EUR: the limit of a day is ${bankLimit} EUR.`, {
      code: 'BANK_REFUSED',
      applied: 'no',
    });
  return { receipt: `R-${key.slice(-6)}`, amount };
}

export const refund = new AgentGraph(
  { input, scratch: z.object({ log: z.array(z.string()).default([]) }) },
  { id: 'refund', reducers: { 'scratch.log': 'append' }, checkpointPolicy: 'every_node' },
)
  .addNode('check', ({ input: { amount, reason } }) => ({ isSmall: amount <= 50, reason }))
  .addNode(
    'review',
    agent({
      model: 'adviser',
      instructions: 'You advise whether an order is refunded. Look at the order first. Be short.',
      prompt: ({ state }) =>
        `${state.input.customer} wants ${state.input.amount} EUR back for order ${state.input.order}: ${state.input.reason}.`,
      tools: { orders },
      output: advice,
    }),
  )
  .addNode(
    'approve',
    (ctx) =>
      ctx.ask({
        prompt: `Pay ${ctx.state.input.amount} EUR back to ${ctx.state.input.customer}? ${ctx.state.outputs.review?.because ?? ''}`,
        choices: ['yes', 'no'],
      }),
    { effectClass: 'human' },
  )
  .addNode('pay', ({ state, idempotencyKey }) => pay(state.input.amount, idempotencyKey), { effectClass: 'external' })
  .addNode(
    'mail',
    ({ state, idempotencyKey }) => ({
      to: state.input.customer,
      text: `${state.outputs.pay?.amount} EUR are on their way. Receipt: ${state.outputs.pay?.receipt}.`,
      id: `M-${idempotencyKey.slice(-6)}`,
    }),
    { effectClass: 'external' },
  )
  .addNode('decline', ({ state }) => `No refund for ${state.input.order}.`)
  .addEdge(START, 'check')
  .addEdge('check', 'review')
  .addEdge('review', 'approve')
  .addConditionalEdge('approve', ({ state }) => state.outputs.approve ?? 'no', { yes: 'pay', no: 'decline' })
  .addEdge('pay', 'mail')
  .addEdge('mail', END)
  .addEdge('decline', END);

export const graph = refund.compile();
