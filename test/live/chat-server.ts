/**
 * The server of the tests of `useChat` in a browser, in a process of its own so that it can be killed: the page of the guide about Next, and
 * an agent whose slow answers go on when the test says so. `node test/live/chat-server.ts STORE PAGE PORT`.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { agent, tool } from '../../src/agents/index.ts';
import { createHandler, toNodeHandler } from '../../src/http/index.ts';
import { textOf } from '../../src/graph/contracts/model-messages.ts';
import { AgentGraph, createWorker, outcome, START } from '../../src/index.ts';
import type { Models } from '../../src/models/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';

const [, , store = '', page = '', port = '0'] = process.argv;

let isOpen = false;
let gate = Promise.withResolvers<void>();
const usage = { inputTokens: 1, outputTokens: 1 };

/** `cancel`: a tool that its user is asked about; `refund`: one that staff is asked about; `slow …`: says two words and waits. */
const models: Models = {
  async generate({ model, messages, onDelta, signal }) {
    const last = messages.at(-1);
    const said = last?.role === 'user' ? textOf(last.content) : '';
    for (const name of ['cancel', 'refund'])
      if (said.startsWith(name)) {
        const content = [{ type: 'tool-call', id: 'c', tool: name, input: { order: 'A-17' } }] as const;
        return { model, usage, finishReason: 'tool-calls', content };
      }
    const pieces = last?.role === 'tool' ? ['It is ', 'done.'] : ['You said: ', said];
    for (const text of pieces) onDelta?.({ type: 'text', text });
    if (said.startsWith('slow')) {
      const left = new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
      );
      if (!isOpen) await Promise.race([gate.promise, left]);
      onDelta?.({ type: 'text', text: '. The end.' });
      pieces.push('. The end.');
    }
    return { model, usage, finishReason: 'stop', content: [{ type: 'text', text: pieces.join('') }] };
  },
};

type Said = { readonly role: 'user' | 'assistant'; readonly content: string };
const order = { type: 'object', properties: { order: { type: 'string' } } } as const;
const support = new AgentGraph({}, { id: 'support', reducers: { 'scratch.said': 'append' } })
  .addNode(
    'clerk',
    agent({
      model: 'a:b',
      tools: {
        cancel: tool({ description: 'Cancels.', input: order, audience: 'user', run: () => 'cancelled' }),
        refund: tool({ description: 'Pays back.', input: order, run: () => 'paid' }),
      },
      prompt: ({ state }) => [
        { role: 'user', content: (state.input as { prompt: string }).prompt },
        ...((state.scratch as { said?: Said[] }).said ?? []),
      ],
    }),
  )
  .addNode('listen', async (ctx) => {
    const { text } = (await ctx.receive('message')) as { text: string };
    const answer: Said = { role: 'assistant', content: String(ctx.state.outputs['clerk']) };
    return outcome({ scratch: { said: [answer, { role: 'user', content: text }] } });
  })
  .addEdge(START, 'clerk')
  .addEdge('clerk', 'listen')
  .addEdge('listen', 'clerk')
  .compile({ models, store: openSqliteStore({ path: store }), leaseMs: 500 });

createWorker({ graphs: [support], pollMs: 50 });
const api = toNodeHandler(
  createHandler({
    basePath: '/api',
    graphs: [support],
    chat: { node: 'clerk' },
    authorize: ({ headers }) => {
      const user = /user=(\w+)/.exec(headers.get('cookie') ?? '')?.[1];
      return user === undefined ? undefined : { principal: user, kind: 'person', scopes: ['chat'] };
    },
  }),
);
const html = '<!doctype html><html lang="en"><title>Chat</title><div id="root"></div><script src="/page.js"></script>';
const server = createServer((request, response) => {
  const { url = '' } = request;
  if (url.startsWith('/api/')) {
    void api(request, response);
    return;
  }
  if (url === '/hold') {
    isOpen = false;
    gate = Promise.withResolvers();
  }
  if (url === '/go') {
    isOpen = true;
    gate.resolve();
  }
  const isScript = url === '/page.js';
  response.setHeader('content-type', isScript ? 'text/javascript; charset=utf-8' : 'text/html; charset=utf-8');
  response.end(isScript ? readFileSync(page) : html);
});
server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
});
