/** Signatures of Standard Webhooks 1.0.0 (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and body. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

export type { Webhook, WebhookEvent } from '../../graph/webhooks.ts';

const secretForm = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const keyBytesMin = 24;
const keyBytesMax = 64;
/** How old, or how far ahead, a delivery may be that is believed. */
const toleranceSeconds = 5 * 60;

/** The key of a secret; undefined if it is none: `whsec_` and 24 to 64 bytes in base64. */
function keyOf(secret: string): Buffer | undefined {
  const key = Buffer.from(secretForm.exec(secret)?.[1] ?? '', 'base64');
  return key.length < keyBytesMin || key.length > keyBytesMax ? undefined : key;
}

/** The headers of a delivery; undefined if the secret is none. @param at - epoch ms */
export function signWebhook(
  secret: string,
  { id, at, body }: { readonly id: string; readonly at: number; readonly body: string },
): Readonly<Record<string, string>> | undefined {
  const key = keyOf(secret);
  if (key === undefined) return undefined;
  const timestamp = String(Math.floor(at / 1000));
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature(key, id, timestamp, body) };
}

function signature(key: Buffer, id: string, timestamp: string, body: string): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/**
 * Whether a request is a delivery signed with this secret, within the last five minutes. Libraries of Standard Webhooks do the same in other
 * languages.
 * @param body - the body as it came, before it is parsed
 * @param options.now - epoch ms; default: now
 */
export function verifyWebhook(
  headers: Pick<Headers, 'get'>,
  body: string,
  secret: string,
  options: { readonly now?: number } = {},
): boolean {
  refuseUnknownKeys('verifyWebhook', options, ['now']);
  const { now = Date.now() } = options;
  const key = keyOf(secret);
  const id = headers.get('webhook-id') ?? '';
  const timestamp = headers.get('webhook-timestamp') ?? '';
  if (key === undefined || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) return false;
  const expected = Buffer.from(signature(key, id, timestamp, body));
  // Several stand side by side while a secret is replaced.
  return (headers.get('webhook-signature') ?? '').split(' ').some((text) => {
    const actual = Buffer.from(text);
    return actual.length === expected.length && timingSafeEqual(actual, expected);
  });
}
