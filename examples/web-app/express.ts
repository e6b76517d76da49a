/** The same app in Express 5. */
import express, { type Express } from 'express';
import { bearerTokens, createHandler, toNodeHandler } from '../../src/http/index.ts';
import { support } from './agent.ts';
import { isSigned } from './webhook.ts';

const secret = process.env['WEBHOOK_SECRET'] ?? '';
const authorize = bearerTokens([
  { token: process.env['TOKEN'] ?? '', principal: 'ann', kind: 'person', scopes: ['read', 'run', 'answer', 'chat'] },
]);
// `chat`: `useChat` of a page talks with the clerk at /cairn/chat.
const cairn = createHandler({ graphs: [support], authorize, basePath: '/cairn', chat: { node: 'clerk' } });

export const app: Express = express();

// Before `express.json()`, or behind it: both are understood.
app.use('/cairn', toNodeHandler(cairn));

// As it came, since the signature is of the bytes.
app.post('/webhooks/payments', express.text({ type: 'application/json' }), (request, response, next) => {
  const body = request.body as string;
  if (secret === '' || !isSigned(body, request.get('stripe-signature') ?? '', secret)) {
    response.status(400).send('who?');
    return;
  }
  const event = JSON.parse(body) as { id: string; data: { object: { amount: number; metadata: { run: string } } } };
  const { amount, metadata } = event.data.object;
  support.signal(metadata.run, 'paid', { amount }, { id: event.id }).then(() => response.send('thanks'), next);
});
