/** The builders of nodes that the main door exports. */
export { fileNode } from './file-node.ts';
export { functionNode } from './function-node.ts';
export { guardrailNode } from './guardrail-node.ts';
export { httpNode } from './http-node.ts';
export { humanNode } from './human-node.ts';
export { mapNode, subgraphNode } from './map-node.ts';
export type { NodeDraft } from './draft/node-draft.ts';
export { routerNode } from './router-node.ts';
export { secret } from './secrets/secret.ts';
export { shellNode } from './shell-node.ts';
export { toolNode } from './tool-node.ts';
export {
  transactionStep,
  type TransactionConnection,
  type TransactionPool,
  type TransactionStepConfig,
} from './transaction-step.ts';
