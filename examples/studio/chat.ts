/**
 * A chat, for the demo of the studio: a clerk looks orders up by himself, and cancels one only when the person in the chat agrees. The run
 * listens for what is said next, so a chat is one run, however long it lasts.
 */
import { z } from 'zod';
import { agent, tool } from '../../src/agents/index.ts';
import { AgentGraph, outcome, START } from '../../src/index.ts';

const lookUp = tool({
  description: 'Where an order is.',
  input: z.object({ order: z.string() }),
  effect: 'read',
  run: ({ order }) => ({ order, status: 'in transit', expectedOn: '2026-12-01' }),
});

const cancelOrder = tool({
  description: 'Cancels an order.',
  input: z.object({ order: z.string() }),
  audience: 'user',
  run: ({ order }) => `${order} is cancelled`,
});

type Said = { readonly role: 'user' | 'assistant'; readonly content: string };

const support = new AgentGraph({}, { id: 'support', reducers: { 'scratch.said': 'append' } })
  .addNode(
    'clerk',
    agent({
      model: 'clerk',
      instructions: 'You help customers with their orders. Be short.',
      tools: { lookUp, cancelOrder },
      prompt: ({ state }) => [
        { role: 'user', content: (state.input as { readonly prompt: string }).prompt },
        ...((state.scratch as { readonly said?: readonly Said[] }).said ?? []),
      ],
    }),
  )
  .addNode('listen', async (ctx) => {
    const { text } = (await ctx.receive('message')) as { readonly text: string };
    const answer: Said = { role: 'assistant', content: String(ctx.state.outputs['clerk']) };
    return outcome({ scratch: { said: [answer, { role: 'user', content: text }] } });
  })
  .addEdge(START, 'clerk')
  .addEdge('clerk', 'listen')
  .addEdge('listen', 'clerk');

export const graph = support.compile();
