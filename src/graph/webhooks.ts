/** Webhooks: addresses that are told what becomes of runs, as graphs, schedules and stores name them (WH1). */

import type { Need } from './contracts/node-type.ts';

/**
 * What is told: `completed` and `failed` when a run ends so, `asked` when a question to people is opened, `overdue` each time when one that
 * nobody has answered is reminded of or given to others.
 */
export type WebhookEvent = 'completed' | 'failed' | 'asked' | 'overdue';

export const webhookEvents: readonly WebhookEvent[] = ['completed', 'failed', 'asked', 'overdue'];

/** An address that is told of events of runs. */
export interface Webhook {
  /** Where it is told: `https://hooks.example.org/cairn`. */
  readonly url: string;
  readonly on: readonly WebhookEvent[];
  /** Reference to the secret that deliveries are signed with: `secret:NAME`. Its value is `whsec_` and 24 to 64 bytes in base64. */
  readonly secret: string;
  /** Whether the address may be one of a private network or of this machine. Default false: a delivery to one is refused. */
  readonly private?: boolean;
}

const fields: readonly string[] = ['url', 'on', 'secret', 'private'] satisfies (keyof Webhook)[];
const secretReference = /^secret:([A-Za-z_]\w{0,199})$/;

/** The name of the secret that a webhook's deliveries are signed with. */
export function webhookSecretName({ secret }: Pick<Webhook, 'secret'>): string {
  return secretReference.exec(secret)?.[1] ?? '';
}

/** What a webhook in a text needs of the operator's grants. */
export function webhookNeeds(hook: Webhook): readonly Need[] {
  const host = URL.parse(hook.url)?.host;
  return [
    { kind: 'net', host, ...(hook.private === true && { isNamed: true }) },
    { kind: 'env', name: webhookSecretName(hook) },
  ];
}

/** All that is wrong with a list of webhooks, in words. */
export function webhookFaults(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return ['webhooks are no list'];
  return value.flatMap((hook: unknown, index) => faultsOf(hook).map((fault) => `webhooks[${index}]: ${fault}`));
}

function faultsOf(hook: unknown): readonly string[] {
  if (typeof hook !== 'object' || hook === null) return ['it is no { url, on, secret }'];
  const { url, on, secret, private: isPrivate } = hook as { readonly [Key in keyof Webhook]?: unknown };
  const unknown = Object.keys(hook).filter((key) => !fields.includes(key));
  const events: readonly unknown[] = Array.isArray(on) ? on : [];
  const known: readonly unknown[] = webhookEvents;
  return [
    ...unknown.map((key) => `there is no field ${key}; there are ${fields.join(', ')}`),
    ...urlFaults(url),
    ...(events.length > 0 && events.every((event) => known.includes(event))
      ? []
      : [`on is no list of ${webhookEvents.join(', ')}`]),
    ...(typeof secret === 'string' && secretReference.test(secret)
      ? []
      : ['secret is no reference such as secret:WEBHOOK_SECRET']),
    ...(isPrivate === undefined || typeof isPrivate === 'boolean' ? [] : ['private is neither true nor false']),
  ];
}

function urlFaults(url: unknown): readonly string[] {
  const parsed = typeof url === 'string' ? URL.parse(url) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    return ['url is no address such as https://hooks.example.org/cairn'];
  // What is in the address is shown with the delivery and stands in the store.
  return parsed.username === '' && parsed.password === '' ? [] : ['url holds a password'];
}

/**
 * `https://hooks.example.org/cairn completed,failed secret:NAME`, and `private` behind it if the address may be a private one; several are
 * separated by `;` and a space. Undefined means that it cannot be read.
 */
export function parseWebhooks(text: string): readonly Webhook[] | undefined {
  const hooks = text.split(/;(?:\s+|$)/).flatMap((piece) => {
    const [url, on = '', secret, ...rest] = piece.trim().split(/\s+/);
    const isPrivate = rest.length === 1 && rest[0] === 'private';
    if (url === '') return [];
    if (rest.length > 0 && !isPrivate) return [undefined];
    return [{ url, on: on.split(','), secret, ...(isPrivate && { private: true }) }];
  });
  return hooks.length > 0 && webhookFaults(hooks).length === 0 ? (hooks as readonly Webhook[]) : undefined;
}

/** A webhook as {@link parseWebhooks} reads it. */
export function webhookText({ url, on, secret, private: isPrivate }: Webhook): string {
  return `${url} ${on.join(',')} ${secret}${isPrivate === true ? ' private' : ''}`;
}
