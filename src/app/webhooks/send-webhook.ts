/** Sends deliveries of webhooks: signed, to the address that is resolved and no other, following no redirect. */
import { lookup as resolveName } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isIP } from 'node:net';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { SendWebhook, WebhookDelivery, WebhookReply } from '../../ports/webhooks.ts';
import { isPrivateAddress } from './private-address.ts';
import { signWebhook } from './standard-webhook.ts';

/** Errors that come before a byte of the request is sent. */
const unsentCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
const retryAfterMsMax = 86_400_000;

function refused(reason: string): NodeFailure {
  return new NodeFailure(reason, { code: 'WEBHOOK_REFUSED', applied: 'no' });
}

/**
 * Resolves a name and refuses private addresses. The connection goes to what is resolved here: a name cannot point elsewhere a moment later.
 */
const publicLookup: LookupFunction = (name, options, done) => {
  resolveName(name, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, '', 0);
    if (addresses.some(({ address }) => isPrivateAddress(address)))
      return done(
        refused(`${name} is an address of a private network, and its webhook is not marked as private`),
        '',
        0,
      );
    const [first = { address: '', family: 0 }] = addresses;
    return options.all === true ? done(null, addresses) : done(null, first.address, first.family);
  });
};

/** @throws NodeFailure WEBHOOK_REFUSED it may not be sent as it is; WEBHOOK_FAILED no answer came */
export const sendWebhook: SendWebhook = async (delivery) => {
  const url = new URL(delivery.url);
  const signed = signWebhook(delivery.secret, delivery);
  if (signed === undefined) throw refused('its secret is not whsec_ and 24 to 64 bytes in base64');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // No name is looked up for what is an address.
  if (!delivery.isPrivate && isIP(host) !== 0 && isPrivateAddress(host))
    throw refused(`${host} is an address of a private network, and its webhook is not marked as private`);
  const request =
    url.protocol === 'https:' ? (await import('node:https')).request : (await import('node:http')).request;
  return exchange(request, url, delivery, { 'content-type': 'application/json', 'user-agent': 'cairn', ...signed });
};

function exchange(
  request: (url: URL, options: RequestOptions, onResponse: (response: IncomingMessage) => void) => ClientRequest,
  url: URL,
  { body, isPrivate, signal }: WebhookDelivery,
  headers: Readonly<Record<string, string>>,
): Promise<WebhookReply> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      signal,
      agent: false,
      ...(!isPrivate && { lookup: publicLookup }),
    };
    const outgoing = request(url, options, (response) => {
      // What it says is of no interest.
      response.resume();
      response.on('error', () => {});
      resolve({ status: response.statusCode ?? 0, ...retryAfterOf(response.headers['retry-after']) });
      response.destroy();
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => reject(failureOf(url, error, signal)));
    outgoing.end(body);
  });
}

function failureOf({ host }: URL, error: NodeJS.ErrnoException, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof NodeFailure) return error;
  const reason = error.code ?? 'unknown';
  return new NodeFailure(`${host} cannot be reached (${reason})`, {
    code: 'WEBHOOK_FAILED',
    applied: unsentCodes.has(reason) ? 'no' : 'unknown',
  });
}

/** For how long the receiver wants to be left alone, if it says so in seconds. */
function retryAfterOf(text: string | undefined): { readonly retryAfterMs?: number } {
  if (text === undefined || !/^\d{1,9}$/.test(text)) return {};
  return { retryAfterMs: Math.min(Number(text) * 1000, retryAfterMsMax) };
}
