/**
 * What belongs to nodes and is needed more rarely than their builders, which the main door has: their settings and outputs as types, the
 * blocks of YAML workflows, and what users need to make their own. The entry point `cairn-workflows/nodes`.
 */
export type { FileOutput, FileReadConfig, FileWriteConfig } from './file-node.ts';
export { guardrailViolated, type GuardrailFinding, type GuardrailNodeConfig } from './guardrail-node.ts';
export { httpRetry, type HttpNodeConfig, type HttpOutput } from './http-node.ts';
export type { AutoDecision, HumanNodeConfig } from './human-node.ts';
export type { MapNodeConfig, MapResult, SubgraphNodeConfig } from './map-node.ts';
export type { NodeOptions } from './draft/node-draft.ts';
export type { RouterNodeConfig, Targets } from './router-node.ts';
export { SecretReference } from '../graph/secret-reference.ts';
export type { ShellNodeConfig, ShellOutput } from './shell-node.ts';
export type { Tool, ToolCall, ToolNodeConfig } from './tool-node.ts';
export type { Computed, FromState, PlainValue, TypedContext } from './draft/computed.ts';
export * from './blocks/index.ts';
