/** The node builders: the entry point `cairn-workflows/nodes`. */
export { fileNode, type FileOutput, type FileReadConfig, type FileWriteConfig } from './file-node.ts';
export { functionNode } from './function-node.ts';
export { guardrailNode, guardrailViolated, type GuardrailFinding, type GuardrailNodeConfig } from './guardrail-node.ts';
export { httpNode, httpRetry, type HttpNodeConfig, type HttpOutput } from './http-node.ts';
export { humanNode, type Approval, type HumanNodeConfig } from './human-node.ts';
export { mapNode, type MapNodeConfig, type MapResult, subgraphNode, type SubgraphNodeConfig } from './map-node.ts';
export type { NodeDraft, NodeOptions } from './draft/node-draft.ts';
export { routerNode, type RouterNodeConfig, type Targets } from './router-node.ts';
export { SecretReference } from '../graph/secret-reference.ts';
export { secret } from './secrets/secret.ts';
export { shellNode, type ShellNodeConfig, type ShellOutput } from './shell-node.ts';
export { toolNode, type Tool, type ToolCall, type ToolNodeConfig } from './tool-node.ts';
export type { Computed, FromState, PlainValue, TypedContext } from './draft/node-parts.ts';
export {
  transactionStep,
  type TransactionConnection,
  type TransactionPool,
  type TransactionStepConfig,
} from './transaction-step.ts';
