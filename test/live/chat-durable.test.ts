/** A chat with an agent of the AI SDK that a node made durable: its texts, its tools and its approvals are those of the record. */
import { isStepCount, streamText, tool } from 'ai';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { durable } from '../../src/ai-sdk/index.ts';
import { bearerTokens, createHandler } from '../../src/http/index.ts';
import { AgentGraph, CairnError, humanNode, START, type NodeContext } from '../../src/index.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { scriptedSdkModel } from '../agents/scripted-sdk-model.ts';
import { fetchOf, NodeChat, openPage, shownOf } from './chat-kit.ts';

const token = 'token-of-ann-0123456789';
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const tools = {
  look: tool({ description: 'Looks.', inputSchema: z.object({ id: z.string() }), execute: () => 'open' }),
  refund: tool({
    description: 'Pays back.',
    inputSchema: z.object({ id: z.string() }),
    execute: ({ id }) => `paid ${id}`,
  }),
  fails: tool({
    description: 'Fails.',
    inputSchema: z.object({ why: z.string().optional() }),
    execute: async (): Promise<string> => Promise.reject(new Error('no line')),
  }),
};

function serve(): { readonly fetch: typeof globalThis.fetch; readonly paid: () => number } {
  let paid = 0;
  const model = scriptedSdkModel([
    {
      text: 'Let me see.',
      calls: [
        ['look', { id: 'A' }],
        ['fails', {}],
        ['unknown', { x: 1 }],
      ],
    },
    { calls: [['refund', { id: 'A' }]] },
    'All done.',
  ]);
  const counted = {
    ...tools,
    refund: { ...tools.refund, execute: ({ id }: { id: string }) => `paid ${id} ${(paid += 1)}` },
  };
  const graph = new AgentGraph({}, { id: 'support' })
    .addNode('clerk', async (ctx: NodeContext) => {
      const own = durable(ctx, { name: 'clerk' });
      const result = streamText({
        model: own.model(model),
        tools: own.tools(counted, {
          look: { effect: 'read' },
          fails: { effect: 'read' },
          refund: { effect: 'external', approval: 'always', audience: 'user' },
        }),
        prompt: (ctx.state.input as { prompt: string }).prompt,
        stopWhen: isStepCount(5),
        abortSignal: own.signal,
        ...own.settings,
      });
      return result.text;
    })
    .addEdge(START, 'clerk')
    .addEdge('clerk', '__end__')
    .compile({ store: createMemoryStore() });
  const authorize = bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['chat'] }]);
  const handler = createHandler({ graphs: [graph], authorize, chat: { node: 'clerk' } });
  closing.push(
    () => handler.close(),
    () => graph.close(),
  );
  return { fetch: fetchOf(handler, token), paid: () => paid };
}

test('CH8 a chat with an agent of the AI SDK shows its texts and its tools by their types, asks its user, and a reload shows the same', async () => {
  const { fetch, paid } = serve();
  const chat = new NodeChat('c', fetch, [], false);
  await chat.sendMessage({ text: 'Refund my order' });
  const asked = shownOf(chat).at(-1);
  expect(asked?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'Let me see.' },
    { type: 'tool-look', state: 'output-available', input: { id: 'A' }, output: 'open' },
    { type: 'tool-fails', state: 'output-error', errorText: 'no line' },
    // The model was offered no such tool.
    { type: 'dynamic-tool', toolName: 'unknown', state: 'output-error' },
    { type: 'step-start' },
    { type: 'tool-refund', state: 'approval-requested', input: { id: 'A' } },
  ]);
  const page = await openPage('c', fetch);
  expect(
    shownOf(page)
      .at(-1)
      ?.parts.map(({ type }) => type),
  ).toEqual(asked?.parts.map(({ type }) => type));
  const part = page.messages.at(-1)?.parts.at(-1) as { readonly approval: { readonly id: string } };
  expect(paid()).toBe(0);
  await page.addToolApprovalResponse({ id: part.approval.id, approved: true });
  await page.sendMessage();
  const done = shownOf(page).at(-1)?.parts;
  expect(done?.slice(-3)).toMatchObject([
    { type: 'tool-refund', state: 'output-available', output: 'paid A 1' },
    { type: 'step-start' },
    { type: 'text', text: 'All done.' },
  ]);
  expect(
    shownOf(await openPage('c', fetch))
      .at(-1)
      ?.parts.slice(-3),
  ).toMatchObject(done?.slice(-3) ?? []);
  expect(paid()).toBe(1);
});

test('CH8 a chat with a node that is not there, or has no conversation, is refused when the handler is made', async () => {
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('ask', humanNode({ prompt: 'Well?' }))
    .addEdge(START, 'ask')
    .addEdge('ask', '__end__')
    .compile({ store: createMemoryStore() });
  closing.push(() => graph.close());
  const make = (node: string) => (): unknown =>
    createHandler({ graphs: [graph], authorize: () => undefined, chat: { node } });
  for (const [node, reason] of [
    ['none', 'has no node none'],
    ['ask', 'a node of type human'],
  ] as const) {
    expect(make(node)).toThrow(CairnError);
    expect(make(node)).toThrow(reason);
  }
});
