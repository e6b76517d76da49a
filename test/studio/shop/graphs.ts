/** The graphs of the shop: each is one of the tasks that a person who operates it has. */
import { z } from 'zod';
import { agent, tool } from '../../../src/agents/index.ts';
import { AgentGraph, END, humanNode, mapNode, NodeFailure, START, subgraphNode } from '../../../src/index.ts';

/** Charges a card, in the innermost of two graphs. */
export function charge(amount: number): { readonly receipt: string } {
  if (amount > 1_000)
    throw new NodeFailure(`The card was declined: ${amount} EUR is above its limit`, {
      code: 'CARD_DECLINED',
      applied: 'no',
    });
  if (amount === 13)
    throw new NodeFailure('The bank did not answer in time', { code: 'BANK_TIMED_OUT', applied: 'no' });
  return { receipt: `R-${amount}` };
}

const payment = new AgentGraph({ input: z.object({ amount: z.number() }) }, { id: 'payment' })
  .addNode('charge', ({ input }) => charge(input.amount), { effectClass: 'external' })
  .addEdge(START, 'charge')
  .addEdge('charge', END)
  .toGraph();

export const order = new AgentGraph(
  { input: z.object({ customer: z.string().default('Ann Berg'), amount: z.number().default(42) }) },
  { id: 'order' },
)
  .addNode('price', ({ input }) => ({ total: input.amount, currency: 'EUR' }))
  .addNode(
    'pay',
    subgraphNode(payment, {
      input: ({ state }) => ({ amount: state.input.amount }),
      output: ({ state }) => ({ output: state.outputs.charge }),
    }),
  )
  .addNode('ship', ({ input }) => `sent to ${input.customer}`, { effectClass: 'external' })
  .addEdge(START, 'price')
  .addEdge('price', 'pay')
  .addEdge('pay', 'ship')
  .addEdge('ship', END)
  .compile();

/** Waits for a person, so that it can be cancelled. */
export const parcel = new AgentGraph({ input: z.object({ to: z.string().default('Bo') }) }, { id: 'parcel' })
  .addNode('ask', humanNode({ prompt: 'Is the address right?', choices: ['yes', 'no'] }))
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

const stock = tool({
  description: 'How many of an item there are.',
  input: z.object({ item: z.string() }),
  effect: 'read',
  run: ({ item }) => ({ item, count: item === 'kettle' ? 7 : 0 }),
});

export const letter = new AgentGraph({}, { id: 'letter' })
  .addNode(
    'write',
    agent({ model: 'writer', instructions: 'You write to customers.', prompt: 'What is in stock?', tools: { stock } }),
  )
  .addEdge(START, 'write')
  .addEdge('write', END)
  .compile();

const runCommand = tool({
  description: 'Runs a command in the shop.',
  input: z.object({
    command: z.string().describe('a line for the shell'),
    keepDays: z.number().int().min(1).max(90),
    note: z.string(),
  }),
  run: ({ command, keepDays }) => `ran ${command.length} letters, kept for ${keepDays} days`,
});

export const upkeep = new AgentGraph({}, { id: 'upkeep' })
  .addNode(
    'keeper',
    agent({
      model: 'keeper',
      instructions: 'You keep the shop.',
      prompt: 'Back up.',
      tools: { run_command: runCommand },
    }),
  )
  .addEdge(START, 'keeper')
  .addEdge('keeper', END)
  .compile();

/** A question with fields of each kind. */
export const claim = new AgentGraph({}, { id: 'claim' })
  .addNode(
    'details',
    humanNode({
      prompt: 'What was damaged?',
      schema: {
        type: 'object',
        properties: {
          mail: { type: 'string', format: 'email' },
          bought: { type: 'string', format: 'date' },
          price: { type: 'number', minimum: 1, maximum: 5_000 },
          parts: { type: 'array', items: { type: 'string' }, minItems: 1 },
          photo: { type: 'string', contentEncoding: 'base64' },
        },
        required: ['mail', 'bought', 'price', 'parts', 'photo'],
      },
    }),
  )
  .addEdge(START, 'details')
  .addEdge('details', END)
  .compile();

/** Five hundred items, of which one fails. */
export const stocktake = new AgentGraph({ input: z.object({ count: z.number().default(500) }) }, { id: 'stocktake' })
  .addNode(
    'count',
    mapNode({
      over: ({ state }) => Array.from({ length: state.input.count }, (_, index) => ({ sku: `sku-${index}` })),
      key: ({ item }) => (item as { readonly sku: string }).sku,
      each: ({ item }) => {
        const { sku } = item as { readonly sku: string };
        if (sku === 'sku-417')
          throw new NodeFailure('The shelf of sku-417 is empty', { code: 'SHELF_EMPTY', applied: 'no' });
        return { sku, pieces: sku.length };
      },
      effectClass: 'write',
      concurrency: 50,
    }),
  )
  .addEdge(START, 'count')
  .addEdge('count', END)
  .compile();
