/** The main door of Cairn: build a graph, run it, and go through its history. */
import { createDefaultEngine } from './app/default-engine.ts';
import { AgentGraph as UnboundGraph } from './dialects/code/agent-graph.ts';
import { withDefaultEngine } from './dialects/code/default-engine.ts';
import { workflow as beginWorkflow } from './dialects/code/workflow.ts';
import type { GraphSchemas } from './graph/graph.ts';

/** A graph written as nodes and edges: see docs/guide/graphs.md. */
export const AgentGraph: typeof UnboundGraph = withDefaultEngine(UnboundGraph, createDefaultEngine);
export type AgentGraph<
  Schemas extends GraphSchemas = GraphSchemas,
  Nodes = Record<string, unknown>,
  Asked = Record<string, unknown>,
> = UnboundGraph<Schemas, Nodes, Asked>;
/** A workflow written as a line of steps: see docs/guide/workflow.md. */
export const workflow: typeof beginWorkflow = withDefaultEngine(beginWorkflow, createDefaultEngine);

export { START, END, type Graph, type GraphSchemas, type Reducer, type StandardSchema } from './graph/graph.ts';
export type { Amounts } from './graph/amounts.ts';
export { FileRef } from './graph/file-ref.ts';
export {
  NodeFailure,
  outcome,
  type EffectClass,
  type EmitOptions,
  type NodeContext,
  type Question,
  type RetryPolicy,
  type StateView,
  type StepContext,
  type StepOptions,
} from './graph/node-contract.ts';
export { compileGraph } from './graph/compile-graph.ts';
export { CairnError, type ErrorCode } from './errors.ts';
export type { CompiledGraph, GraphResult } from './dialects/code/compiled-graph.ts';
export type { CompileOptions } from './dialects/code/run-options.ts';
export type { TypedState } from './dialects/code/typed-state.ts';
export type { Workflow, WorkflowResult, WorkflowState } from './dialects/code/workflow.ts';
export type { CheckpointRef, Engine, StreamEvent } from './engine/api.ts';
export { createWorker, type Worker, type WorkerOptions } from './app/worker.ts';
export type { RunSchedule, Schedule } from './ports/schedule.ts';
export type {
  Admission,
  AdmissionReply,
  CheckpointRow,
  Claim,
  ClaimReply,
  ClaimRequest,
  Commit,
  CommitReply,
  Durability,
  GrantedClaim,
  Message,
  MessageReply,
  MessageRow,
  NextRequest,
  OpenWait,
  Page,
  Prune,
  RunKey,
  RunQuery,
  RunRow,
  SnapshotRow,
  Store,
  StoreCapabilities,
  StoredStatus,
  TagRow,
  WaitQuery,
  WaitRow,
} from './ports/store.ts';
export {
  fileNode,
  functionNode,
  guardrailNode,
  humanNode,
  httpNode,
  mapNode,
  routerNode,
  secret,
  shellNode,
  subgraphNode,
  toolNode,
  type NodeDraft,
} from './nodes/index.ts';
