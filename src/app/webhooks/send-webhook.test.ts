/** How a delivery leaves: signed, to public addresses alone unless it says otherwise, and nowhere else than it says (WH3, WH5). */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WebhookDelivery } from '../../ports/webhooks.ts';
import { isPrivateAddress } from './private-address.ts';
import { sendWebhook } from './send-webhook.ts';
import { signWebhook, verifyWebhook } from './standard-webhook.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const got: { readonly headers: IncomingMessage['headers']; readonly body: string }[] = [];
let server: Server;
let port = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      got.push({ headers: request.headers, body });
      if (request.url === '/moved') response.writeHead(307, { location: `http://127.0.0.1:${port}/` });
      else if (request.url === '/busy') response.writeHead(503, { 'retry-after': '120' });
      else response.writeHead(204);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => void server.close());

const delivery = (url: string, more: Partial<WebhookDelivery> = {}): WebhookDelivery => ({
  url,
  id: 'msg_1',
  body: '{"type":"run.completed"}',
  secret,
  isPrivate: true,
  at: Date.now(),
  signal: AbortSignal.timeout(5_000),
  ...more,
});

test('WH3 a delivery is a POST of its body, signed as Standard Webhooks say', async () => {
  const sent = delivery(`http://127.0.0.1:${port}/`);
  expect(await sendWebhook(sent)).toEqual({ status: 204 });
  const last = got.at(-1);
  const headers = new Headers(last?.headers as Record<string, string>);
  expect([last?.body, headers.get('webhook-id')]).toEqual([sent.body, 'msg_1']);
  expect(verifyWebhook(headers, sent.body, secret)).toBe(true);
  expect(verifyWebhook(headers, `${sent.body} `, secret)).toBe(false);
  expect(verifyWebhook(headers, sent.body, `whsec_${Buffer.alloc(32, 8).toString('base64')}`)).toBe(false);
  expect(verifyWebhook(headers, sent.body, secret, { now: Date.now() + 301_000 })).toBe(false);
});

test('WH3 the signature is the one that libraries of Standard Webhooks make', () => {
  const known = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: 1_614_265_330_000, body: '{"test": 2432232314}' };
  expect(signWebhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', known)?.['webhook-signature']).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

test('WH3 no redirect is followed, and a receiver that wants to be left alone says for how long', async () => {
  const before = got.length;
  expect(await sendWebhook(delivery(`http://127.0.0.1:${port}/moved`))).toEqual({ status: 307 });
  expect(got.length).toBe(before + 1);
  expect(await sendWebhook(delivery(`http://127.0.0.1:${port}/busy`))).toEqual({ status: 503, retryAfterMs: 120_000 });
});

test.each([
  ['an address', (at: number) => `http://127.0.0.1:${at}/`],
  ['a name that is resolved to one', (at: number) => `http://localhost:${at}/`],
  ['one in brackets', (at: number) => `http://[::1]:${at}/`],
  ['one written as a number', (at: number) => `http://2130706433:${at}/`],
  ['one of the older kind in one of the newer', (at: number) => `http://[::ffff:127.0.0.1]:${at}/`],
])('WH5 a private address is refused unless the webhook says that it may be: %s', async (_, url) => {
  const before = got.length;
  await expect(sendWebhook(delivery(url(port), { isPrivate: false }))).rejects.toMatchObject({
    code: 'WEBHOOK_REFUSED',
    applied: 'no',
  });
  expect(got.length).toBe(before);
});

test('WH5 addresses of private networks, of this machine and of links are private, and what leads to them', () => {
  const hidden = ['10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0', '224.0.0.1'];
  const hidden6 = [
    '::',
    '::1',
    'fd00::1',
    'fe80::1%eth0',
    '64:ff9b::a00:1',
    '2002:a00:1::',
    '::ffff:10.0.0.1',
    'no address',
  ];
  expect([...hidden, ...hidden6].filter((address) => !isPrivateAddress(address))).toEqual([]);
  expect(['93.184.216.34', '172.32.0.1', '2606:2800:220:1::1'].filter(isPrivateAddress)).toEqual([]);
});

test('WH3 a secret in another form, and a receiver that is not there, are told apart', async () => {
  await expect(sendWebhook(delivery(`http://127.0.0.1:${port}/`, { secret: 'hunter2' }))).rejects.toMatchObject({
    code: 'WEBHOOK_REFUSED',
  });
  await expect(sendWebhook(delivery('http://127.0.0.1:1/'))).rejects.toMatchObject({
    code: 'WEBHOOK_FAILED',
    applied: 'no',
  });
});
