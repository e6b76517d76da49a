/**
 * An order: two items are reserved, a person approves every fourth order, it waits a moment, and is paid. Reserving and paying are effects
 * outside: each leaves a line in a ledger, and one in doubt is looked up there. Once a second, by a schedule, the stock is filled up.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import {
  AgentGraph,
  END,
  humanNode,
  mapNode,
  schedule,
  START,
  type ScheduledGraph,
  type WorkerOptions,
} from '../../src/index.ts';
import type { Store } from '../../src/store.ts';
import { findInLedger, writeLedger } from '../release-notes/ledger.ts';

const input = z.object({
  no: z.number().int(),
  ledger: z.string().describe('where effects leave a line each'),
  paceMs: z.number().int().default(0).describe('how long an effect takes after it has happened'),
});

/** Effects of one order. */
export const effectsOfOrder = 3;

/** Whether a person is asked about an order. */
const asksAbout = (no: number): boolean => no % 4 === 0;

/** Longer than any effect takes. Until then nobody can know that a process which stands still is not in the middle of one. */
const timeoutMs = 5_000;

interface Act {
  readonly effect: string;
  readonly ledger: string;
  readonly paceMs: number;
}

async function act({ effect, ledger, paceMs }: Act, key: string): Promise<string> {
  await writeLedger(ledger, { key, effect, output: effect });
  // The effect has happened, and nothing of ours says so yet.
  await delay(paceMs);
  return effect;
}

export const orders = new AgentGraph({ input }, { id: 'order' })
  .addNode(
    'reserve',
    mapNode({
      over: ({ state: { input } }) => ['a', 'b'].map((item) => ({ ...input, effect: `reserve ${input.no} ${item}` })),
      key: ({ item }) => item.effect,
      each: ({ item, idempotencyKey }) => act(item, idempotencyKey),
      effectClass: 'external',
      reconcile: ({ item, idempotencyKey }) => findInLedger(item.ledger, idempotencyKey),
      timeoutMs,
    }),
  )
  .addNode('approve', humanNode({ prompt: ({ state }) => `Order ${state.input.no}?`, choices: ['yes', 'no'] }))
  .addNode('cool', async (ctx) => {
    await ctx.sleepUntil(ctx.now() + 20);
    return 'cool';
  })
  .addNode(
    'pay',
    (ctx) =>
      ctx.step(
        'pay',
        {
          effect: 'external',
          reconcile: ({ idempotencyKey }) => findInLedger(ctx.state.input.ledger, idempotencyKey),
          timeoutMs,
        },
        ({ idempotencyKey }) => act({ ...ctx.state.input, effect: `pay ${ctx.state.input.no}` }, idempotencyKey),
      ),
    { effectClass: 'read' },
  )
  .addEdge(START, 'reserve')
  .addConditionalEdge('reserve', ({ state }) => (asksAbout(state.input.no) ? 'approve' : 'cool'), ['approve', 'cool'])
  .addConditionalEdge('approve', ({ state }) => (state.outputs.approve === 'yes' ? 'cool' : 'end'), {
    cool: 'cool',
    end: END,
  })
  .addEdge('cool', 'pay')
  .addEdge('pay', END);

const restock = new AgentGraph({ input: input.pick({ ledger: true }) }, { id: 'restock' })
  .addNode(
    'fill',
    (ctx) =>
      ctx.step(
        'fill',
        {
          effect: 'external',
          reconcile: ({ idempotencyKey }) => findInLedger(ctx.state.input.ledger, idempotencyKey),
          timeoutMs,
        },
        ({ idempotencyKey }) => act({ ...ctx.state.input, effect: ctx.runId, paceMs: 20 }, idempotencyKey),
      ),
    { effectClass: 'read' },
  )
  .addEdge(START, 'fill')
  .addEdge('fill', END);

type CompiledOrders = ReturnType<typeof orders.compile>;

/** All that a worker of the fleet works on: orders, and each second a run that fills up the stock, whose id is `cairn:due:restock:TIME`. */
export function compileFleet(
  store: Store | string,
  ledger = '',
): { readonly order: CompiledOrders; readonly graphs: WorkerOptions['graphs']; readonly restocks: ScheduledGraph } {
  // A short lease, so that the orders of a worker that was killed go on soon.
  const order = orders.compile({ store, leaseMs: 2_000, wakes: false });
  const stock = restock.compile({ engine: order.engine });
  const restocks = schedule(stock, { name: 'restock', cron: '* * * * * *', missed: 'all', input: { ledger } });
  return { order, graphs: [order, stock, restocks], restocks };
}
