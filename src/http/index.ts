/** The HTTP interface: `cairn-workflows/http`. */
export { createAnswerLinks, type AnswerLinkOptions, type AnswerLinks, type LinkedPerson } from './answer-links.ts';
export { verifyWebhook, type Webhook, type WebhookEvent } from '../app/webhooks/standard-webhook.ts';
export { bearerTokens, type Authorize, type BearerToken, type Caller, type Scope } from './authorize.ts';
export type { ChatOptions } from './chat.ts';
export { createMetrics, type ProcessMetrics } from '../app/metrics/metrics.ts';
export type { Log, LogFields, LoggedError, LogLevel } from '../app/log/line-log.ts';
export { createHandler, type Handler, type HandlerOptions } from './handler.ts';
export { toNodeHandler } from './node.ts';
export type { Hook, HookAction, HookDelivery, HookReply, HookSignal, HookStart } from '../app/webhooks/hook.ts';
export type { Problem } from './problem.ts';
export { createClient, type CairnClient, type ClientOptions } from './client.ts';
