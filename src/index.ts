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
export type { RetryPolicy, SpanAttributes, SpanParts, TraceSpan } from './graph/contracts/contracts.ts';
export type { Attributes, Span, Telemetry } from './ports/telemetry.ts';
export { compileGraph } from './graph/compile/compile-graph.ts';
export { CairnError, type ErrorCode } from './errors.ts';
export type { CompiledGraph, GraphResult } from './dialects/code/compiled-graph.ts';
export type { CompileOptions } from './dialects/code/run-options.ts';
export type { Approved, NodeApproval } from './dialects/code/approval.ts';
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
export {
  readScenarios,
  type Scenario,
  type ScriptedEnd,
  type Coverage,
  type UncoveredEdge,
} from './dialects/dot/simulate/scenario.ts';
export { simulatePipeline } from './app/on-demand.ts';
export type { SimulateOptions, SimulationReport } from './app/simulate/simulate-pipeline.ts';
export type { SimulatedRun } from './app/simulate/run-scenario.ts';
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
export { backUp, restore } from './app/on-demand.ts';
export type { BackupOptions, BackupReport } from './app/backup/back-up.ts';
export type { RestoreOptions, RestoreReport } from './app/backup/restore.ts';
export type { ReleasedRun, StateAt } from './history/read/whole-checkpoint.ts';
export { openCairn } from './app/on-demand.ts';
export type { Cairn, CairnOptions } from './app/cairn.ts';
export { openHistory, type HistoryOptions } from './app/open-store/open-history.ts';
export { openStore, type OpenedStore, type OpenStoreOptions } from './app/open-store/open-store.ts';
export { createFileBlobs } from './blobs/file-blobs.ts';
export { createMemoryBlobs } from './blobs/memory-blobs.ts';
export { createS3Blobs, type S3BlobsOptions, type S3ClientLike } from './blobs/s3-blobs.ts';
export type { BlobOwner, BlobPage, BlobRange, BlobRow, BlobStore } from './ports/blobs.ts';
export type { Memories, MemoryEntry, MemoryOwner } from './ports/memories.ts';
export type { PgConnection, PostgresPool } from './stores/postgres/index.ts';
export type { ComparedCheckpoints, History, WaitsQuery } from './history/history.ts';
export type { Change } from './history/stored/change.ts';
export type { OpenQuestion } from './history/stored/messages.ts';
export type { ExportAs, ExportReport } from './history/export-import/export-from.ts';
export type { ImportReport } from './history/export-import/import.ts';
export type { ImportAs } from './history/export-import/import-into.ts';
export type { CheckpointQuery, ListedCheckpoint } from './history/read/list-checkpoints.ts';
export type { ListedRun, ListQuery } from './history/read/list-runs.ts';
export type { CheckpointDetails, LogEntry } from './history/read/log.ts';
export type { CheckpointName, CheckpointPosition, RunName, Tag } from './history/read/tag-checkpoint.ts';
export type { CleanUpOptions, CleanUpReport, CleanUpSettings, SettingsFor } from './history/retention/clean-up.ts';
export type { KeepOptions, PrunedRun, PrunedRuns } from './history/retention/prune-runs.ts';
export type { RemovedCheckpoint } from './history/retention/remove-checkpoint.ts';
export type { RemovedRuns, RemoveOptions } from './history/retention/remove-run.ts';
export type { Bisection, FoundCheckpoint } from './history/explain/bisect.ts';
export type { Blame, BlamedPart } from './history/explain/blame.ts';
export { exportFiles, type RunFolder, type RunFolderOptions } from './app/on-demand.ts';
export { drawGraph, drawPage } from './app/on-demand.ts';
export type { ExplainedEdge } from './history/explain/explain-edges.ts';
export type { PostMortem, StoryEntry, StoryEvent, StoryVisit } from './history/explain/story.ts';
export type { ForkChange, GraphedRun, RunGraph } from './history/explain/run-graph.ts';
export type { Finding } from './history/verify/examine-runs.ts';
export type { Fault, VerifyReport } from './history/verify/verify.ts';
export type { Verification } from './history/verify/verify-place.ts';
export type { GraphState, NodeResult } from './ports/checkpoint-store.ts';
export type { RunSchedule, Schedule } from './ports/schedule.ts';
export type {
  Admission,
  AdmissionReply,
  CheckpointRow,
  Claim,
  ClaimReply,
  ClaimRequest,
  ClaimableQuery,
  Commit,
  CommitReply,
  Durability,
  GrantedClaim,
  GraphHashes,
  Message,
  MessageReply,
  MessageRow,
  NextRequest,
  OpenWait,
  Page,
  Prune,
  Refusal,
  Renewal,
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
  WorkerBeat,
  WorkerRow,
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
  transactionStep,
  type NodeDraft,
  type TransactionConnection,
  type TransactionPool,
  type TransactionStepConfig,
} from './nodes/index.ts';
