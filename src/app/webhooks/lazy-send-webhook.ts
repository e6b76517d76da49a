/** Sends deliveries by code that is loaded with the first one: it brings the network of Node along. */
import type { SendWebhook } from '../../ports/webhooks.ts';

export const lazySendWebhook: SendWebhook = async (delivery) => {
  const { sendWebhook } = await import('./send-webhook.ts');
  return sendWebhook(delivery);
};
