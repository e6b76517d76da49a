/** The main door of Cairn: build a graph, run it, and go through its history. */
import { createDefaultEngine } from './app/default-engine.ts';
import { AgentGraph as UnboundGraph } from './dialects/code/agent-graph.ts';
import { withDefaultEngine } from './dialects/code/run-options.ts';
import { workflow as beginWorkflow } from './dialects/code/workflow.ts';
import { flow as writeFlow } from './dialects/flow/flow.ts';
import type { GraphSchemas } from './graph/graph.ts';

/** A builder for graphs written as nodes and edges. Guide: docs/guide/graphs.md. */
export const AgentGraph: typeof UnboundGraph = withDefaultEngine(UnboundGraph, createDefaultEngine);
export type AgentGraph<
  Schemas extends GraphSchemas = GraphSchemas,
  Nodes = Record<string, unknown>,
  Answers = Record<string, unknown>,
> = UnboundGraph<Schemas, Nodes, Answers>;
/** Begins a workflow, written as a line of steps. Guide: docs/guide/workflow.md. */
export const workflow: typeof beginWorkflow = withDefaultEngine(beginWorkflow, createDefaultEngine);
/** Writes a flow: a record of nodes, each naming what it needs. Guide: docs/guide/flows.md. */
export const flow: typeof writeFlow = withDefaultEngine(writeFlow, createDefaultEngine);

export { START, END, type Graph, type GraphSchemas, type Reducer, type StandardSchema } from './graph/graph.ts';
export type { Amounts, AtMost } from './graph/amounts.ts';
export { FileRef } from './graph/file-ref.ts';
export {
  NodeFailure,
  outcome,
  type ChildHandle,
  type ChildResult,
  type ChildRunOptions,
  type EffectClass,
  type EmitOptions,
  type NodeContext,
  type Question,
  type StateView,
  type StepContext,
  type StepOptions,
} from './graph/contracts/node-contract.ts';
export type { RetryPolicy } from './graph/contracts/retry-policy.ts';
export type { SpanAttributes, SpanParts, TraceSpan } from './graph/contracts/trace-span.ts';
export type { Attributes, Span, Telemetry } from './ports/telemetry.ts';
export { compileGraph } from './graph/compile/compile-graph.ts';
export { CairnError, type ErrorCode } from './errors.ts';
export type { CompiledGraph, GraphResult } from './dialects/code/compiled-graph.ts';
export type { CompileOptions } from './dialects/code/run-options.ts';
export type { Approved, NodeApproval } from './dialects/approval.ts';
export type { TypedState } from './dialects/code/typed-state.ts';
export type { Workflow, WorkflowResult, WorkflowState } from './dialects/code/workflow.ts';
export type { Flow, FlowNode, FlowNodeResult, FlowOptions, FlowOutcome, FlowResult } from './dialects/flow/flow.ts';
export { previewCost, type PreviewCost } from './engine/preview/preview-cost.ts';
export type {
  AdvanceOptions,
  AdvanceResult,
  CheckpointRef,
  Engine,
  RunProgress,
  StreamEvent,
  WholeCheckpoint,
} from './engine/api.ts';
export { schedule, type ScheduledGraph } from './app/schedules/schedule.ts';
export type { ScheduleOptions } from './app/schedules/keep-schedule.ts';
export { createWorker, type Worker, type WorkerOptions } from './app/worker.ts';
export {
  interview,
  type InterviewOptions,
  autoApprove,
  callbackInterviewer,
  consoleInterviewer,
  queueInterviewer,
  recordingInterviewer,
  type ConsoleOptions,
  type Interviewer,
  type RecordedAnswer,
} from './app/interview/interview.ts';
export type { StateAt } from './history/read/state-at.ts';
export { drawGraph, drawPage } from './app/draw/index.ts';
export { openCairn } from './app/open-cairn.ts';
export type { Cairn, CairnOptions } from './app/cairn.ts';
export { openHistory, type HistoryOptions } from './app/open-store/open-history.ts';
export { createMemoryStore, type MemoryStoreOptions } from './stores/memory/index.ts';
export { openStore, type OpenedStore, type OpenStoreOptions } from './app/open-store/open-store.ts';
export type { ComparedCheckpoints, History, WaitsQuery } from './history/history.ts';
export type { Change } from './history/stored/change.ts';
export type { OpenQuestion } from './history/stored/wait-row.ts';
export type { CheckpointQuery, ListedCheckpoint } from './history/read/list-checkpoints.ts';
export type { ListedRun, ListQuery } from './history/read/list-runs.ts';
export type { CheckpointDetails, LogEntry } from './history/read/log.ts';
export type { CheckpointName, CheckpointPosition, RunName } from './history/read/references.ts';
export type { Tag } from './history/read/tag-checkpoint.ts';
export type { Bisection, FoundCheckpoint } from './history/explain/bisect.ts';
export type { Blame, BlamedPart } from './history/explain/blame.ts';
export type { ExplainedEdge } from './history/explain/explain-edges.ts';
export type { PostMortem, StoryEntry, StoryEvent, StoryVisit } from './history/explain/story.ts';
export type { ForkChange, GraphedRun, RunGraph } from './history/explain/run-graph.ts';
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
  transactionStep,
  type NodeDraft,
  type TransactionConnection,
  type TransactionPool,
  type TransactionStepConfig,
} from './nodes/builders.ts';
