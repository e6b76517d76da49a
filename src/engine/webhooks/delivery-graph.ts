/** The graph of deliveries: one node that sends, again and again with growing delays, always under one id (WH3). */
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import { NodeFailure, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { END, START, type Graph } from '../../graph/graph.ts';
import { deliveryGraphId } from '../../history/stored/run-ids.ts';
import type { WebhookDelivery, WebhookReply } from '../../ports/webhooks.ts';

/** Sends a delivery now. */
export type SendNow = (delivery: Omit<WebhookDelivery, 'at'>) => Promise<WebhookReply>;

/** Input of a delivery's run. */
export interface DeliveryInput {
  readonly url: string;
  readonly secret: string;
  readonly private?: true;
  readonly id: string;
  readonly body: string;
}

/** After 5 s, 20 s, 80 s, 5 min, 21 min, 1.4 h, 5.7 h, 22.8 h, 24 h: two and a half days in all. */
const retry: RetryPolicy = {
  attempts: 10,
  delayMs: 5_000,
  factor: 4,
  delayMsMax: 86_400_000,
  jitter: 0.2,
  when: ({ code }) => code !== 'WEBHOOK_GONE' && code !== 'WEBHOOK_REFUSED',
};

/** How long a receiver may take to answer. */
const timeoutMs = 15_000;

/**
 * @param send - undefined where nothing is sent: then the graph only names such runs
 * @param onEnded - called with the delivery's id when an attempt has ended
 */
export function deliveryGraph(send: SendNow | undefined, onEnded: (id: string) => void): Graph {
  const run = (ctx: NodeContext): Promise<unknown> =>
    deliver(ctx, send).finally(() => onEnded((ctx.input as DeliveryInput).id));
  return compileGraph({
    id: deliveryGraphId,
    nodes: [
      {
        id: 'deliver',
        type: 'webhook',
        effect: 'external',
        // The receiver knows it by its id.
        idempotent: true,
        retry,
        timeoutMs,
        // A fixed text in place of the code, so that a delivery goes on under a newer version of this package.
        implementation: { run, codeText: 'webhook 1' },
      },
    ],
    edges: [
      { from: START, to: 'deliver' },
      { from: 'deliver', to: END },
    ],
  });
}

async function deliver(ctx: NodeContext, send: SendNow | undefined): Promise<unknown> {
  const { url, secret, private: isPrivate = false, id, body } = ctx.input as DeliveryInput;
  if (send === undefined)
    throw new NodeFailure('this process sends no webhooks', { code: 'WEBHOOK_REFUSED', applied: 'no' });
  const value = await ctx.secrets.get(secret);
  const { signal } = ctx;
  const { status, retryAfterMs } = await send({ url, id, body, secret: value, isPrivate, signal });
  if (status >= 200 && status < 300) return { status };
  const { host } = new URL(url);
  if (status === 410)
    throw new NodeFailure(`${host} wants no more of them (410)`, { code: 'WEBHOOK_GONE', applied: 'ended' });
  throw new NodeFailure(`${host} answered ${status}`, {
    code: 'WEBHOOK_FAILED',
    applied: 'ended',
    data: { status },
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
