/** The port that hands deliveries of webhooks to their receivers. */
import type { Webhook } from '../graph/webhooks.ts';

/** A delivery, ready to be sent. */
export interface WebhookDelivery {
  readonly url: string;
  /** Names the delivery to its receiver: the same for each attempt. */
  readonly id: string;
  /** The body, as JSON. */
  readonly body: string;
  /** What it is signed with: `whsec_` and base64. */
  readonly secret: string;
  /** Whether the address may be one of a private network or of this machine. */
  readonly isPrivate: boolean;
  /** When it is sent, in epoch ms. */
  readonly at: number;
  readonly signal: AbortSignal;
}

/** What a receiver said. */
export interface WebhookReply {
  readonly status: number;
  /** For how long the receiver wants to be left alone, in ms. */
  readonly retryAfterMs?: number;
}

/** Sends a delivery, signed; follows no redirect. @throws NodeFailure nothing was sent, or it is not known what became of it */
export type SendWebhook = (delivery: WebhookDelivery) => Promise<WebhookReply>;

/** What is told of runs, and how it is sent. */
export interface WebhookSettings {
  /** Told of every run, beside those of graphs. */
  readonly hooks: readonly Webhook[];
  readonly send: SendWebhook;
}
