/** The app in Hono. `node examples/web-app/server.ts` starts it. */
import { Hono } from 'hono';
import { bearerTokens, createHandler } from '../../src/http/index.ts';
import { support } from './agent.ts';
import { isSigned } from './webhook.ts';

const secret = process.env['WEBHOOK_SECRET'] ?? '';

// Who may call. A real app finds its own user here, by its session.
const authorize = bearerTokens([
  { token: process.env['TOKEN'] ?? '', principal: 'ann', kind: 'person', scopes: ['read', 'run', 'answer', 'chat'] },
]);
// `chat`: `useChat({ transport: new DefaultChatTransport({ api: '/cairn/chat' }) })` of a page talks with the clerk.
const cairn = createHandler({ graphs: [support], authorize, basePath: '/cairn', chat: { node: 'clerk' } });

export const app = new Hono();

// Starts, events, questions and answers: POST /cairn/v1/runs, GET /cairn/v1/runs/ID/events, POST /cairn/v1/runs/ID/answer
app.all('/cairn/*', (c) => cairn(c.req.raw));

// The payment provider says that money has arrived. It repeats itself until it is heard, so the id of its event is that of the signal.
app.post('/webhooks/payments', async (c) => {
  const body = await c.req.text();
  if (secret === '' || !isSigned(body, c.req.header('stripe-signature') ?? '', secret)) return c.text('who?', 400);
  const event = JSON.parse(body) as { id: string; data: { object: { amount: number; metadata: { run: string } } } };
  const { amount, metadata } = event.data.object;
  await support.signal(metadata.run, 'paid', { amount }, { id: event.id });
  return c.text('thanks');
});
