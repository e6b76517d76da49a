/** The HTTP interface: `cairn-workflows/http`. */
export { bearerTokens, type Authorize, type BearerToken, type Caller, type Scope } from './authorize.ts';
export type { ChatOptions } from './chat.ts';
export { createHandler, type Handler, type HandlerOptions } from './handler.ts';
export { toNodeHandler } from './node.ts';
export type { Problem } from './problem.ts';
export { createClient, type CairnClient, type ClientOptions } from './client.ts';
