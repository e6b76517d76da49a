/**
 * A checkpoint of a pipeline in the form that the pipeline format describes: current stage, context, outcomes, goal gates, counters, and
 * the edge taken next. All of it is computed from the run's state.
 */
import { outgoingEdges, type StoredEdge } from '../../../graph/compile/outgoing-edges.ts';
import type { GraphStructure } from '../../../graph/graph.ts';
import type { FrameTree, NodeRecord } from '../../../state/tree.ts';
import { asText, inheritedKey } from '../run/context/context-reader.ts';
import { turnsOf } from '../run/prompt/conversation.ts';
import type { StageOutput, StageStatus } from '../run/stage/stage-outcome.ts';
import { readChoice } from '../run/stage/choose-edge.ts';

/** An edge from a stage that ended. */
export interface PipelineStep {
  readonly from: string;
  readonly to: string;
  /** Label of the edge in the file. */
  readonly label?: string;
}

export interface PipelineCheckpoint {
  readonly runId: string;
  readonly pipelineName: string;
  readonly seq: number;
  /** Epoch ms. */
  readonly timestamp: number;
  /** The stage that ended last. Absent if none has. */
  readonly currentNode?: string;
  /** Every key and value of the context. */
  readonly context: Readonly<Record<string, unknown>>;
  /** Outcome of the current stage, with its routing hints. */
  readonly outcome?: StageOutput;
  /** Stages in the order in which they ended. */
  readonly nodeHistory: readonly { readonly nodeId: string; readonly outcome: string }[];
  readonly goalGateStatus: Readonly<Record<string, StageStatus | 'pending'>>;
  readonly fidelityState: {
    /** How much of the run the next stage's prompt contains, by the stage or the graph. Its edge may set another value. */
    readonly mode: string;
    /** Conversations that stages continue. */
    readonly threads: readonly { readonly name: string; readonly turns: number }[];
  };
  /** The edge that was chosen when the current stage ended. A resume takes it. */
  readonly selectedEdge?: PipelineStep;
  /** Edges that were chosen but whose stage has not begun. */
  readonly pendingEdges: readonly PipelineStep[];
  /** Stages that have begun and not ended. */
  readonly openNodes: readonly string[];
  /** Number of retries in visits that are not over, by stage. */
  readonly retryCounters: Readonly<Record<string, number>>;
  /** Number of jumps to retry targets, by stage and target. */
  readonly jumpCounters: Readonly<Record<string, number>>;
  readonly restartCount: number;
  readonly visits: Readonly<Record<string, number>>;
  /** Large values and files that are stored apart from the state, by hash. */
  readonly artifactReferences: readonly { readonly path: readonly string[]; readonly hash: string }[];
}

/** The records of a checkpoint, as `history.records` returns them. */
export interface PipelineRecords {
  readonly runId: string;
  readonly seq: number;
  readonly at: number;
  readonly frame: FrameTree;
  readonly structure?: GraphStructure;
  readonly references: readonly { readonly path: readonly string[]; readonly hash: string }[];
}

/** @returns undefined if the run is not of a pipeline */
export function pipelineOf(records: PipelineRecords): PipelineCheckpoint | undefined {
  const { runId, seq, at, structure, references } = records;
  const body = structure && bodyOf(structure, records.frame);
  if (structure === undefined || body === undefined) return undefined;
  const { frame, graph } = body;
  const view = viewOf(frame);
  const nodes = new Map(graph.nodes.map((node) => [String(node['id']), node]));
  const stages = Object.entries(frame.nodes).filter(([id]) => nodes.has(id) && isStage(nodes.get(id)?.['type']));
  const current = currentOf(frame, graph);
  const record = current === undefined ? undefined : frame.nodes[current];
  const selected = current === undefined ? [] : stepsFrom(graph, current, record);
  const history = (frame.channels['diagnostics']?.['history'] ?? []) as readonly { stage: string; outcome: string }[];
  const next = selected[0]?.to;
  const outcome = record?.output as StageOutput | undefined;
  return {
    runId,
    pipelineName: structure.id,
    seq,
    timestamp: at,
    ...(current !== undefined && { currentNode: current }),
    context: view.context,
    ...(outcome !== undefined && { outcome }),
    nodeHistory: [
      ...history.map(({ stage, outcome: how }) => ({ nodeId: stage, outcome: how })),
      ...(current !== undefined && nodes.get(current)?.['type'] === 'exit'
        ? [{ nodeId: current, outcome: outcome?.outcome ?? 'success' }]
        : []),
    ],
    goalGateStatus: gatesIn(graph, frame),
    fidelityState: { mode: fidelityOf(nodes.get(next ?? current ?? ''), view.context), threads: threadsOf(view) },
    ...(selected[0] !== undefined && { selectedEdge: selected[0] }),
    pendingEdges: selected.filter(({ to }) => nodes.has(to) && isStage(nodes.get(to)?.['type']) && !isBegun(frame, to)),
    openNodes: stages.filter(([, { fired }]) => fired === undefined).map(([id]) => id),
    retryCounters: Object.fromEntries(
      stages.flatMap(([id, stage]) => (retriesOf(stage) > 0 ? [[id, retriesOf(stage)] as const] : [])),
    ),
    jumpCounters: Object.fromEntries(
      Object.entries(view.context).flatMap(([key, count]) =>
        key.startsWith(jumpPrefix) ? [[key.slice(jumpPrefix.length), Number(count)] as const] : [],
      ),
    ),
    restartCount: body.restarts,
    visits: Object.fromEntries(stages.map(([id, { visits = 1 }]) => [id, visits])),
    artifactReferences: references,
  };
}

const jumpPrefix = 'internal.jumps.';
const innerTypes: ReadonlySet<unknown> = new Set(['result', 'restart', 'restarts']);
const isStage = (type: unknown): boolean => !innerTypes.has(type);

interface Body {
  readonly frame: FrameTree;
  readonly graph: GraphStructure;
  readonly restarts: number;
}

/** The graph that contains the stages. For a pipeline that restarts, that of its newest run. */
function bodyOf(structure: GraphStructure, frame: FrameTree): Body | undefined {
  const outer = structure.nodes.find(({ type }) => type === 'restarts');
  if (outer === undefined)
    return structure.nodes.some(({ type }) => type === 'exit') ? { frame, graph: structure, restarts: 0 } : undefined;
  const graph = outer['subgraph'] as GraphStructure;
  const runs = Object.values(frame.nodes[String(outer['id'])]?.children ?? {});
  const newest = runs.at(-1) ?? { input: frame.input, channels: {}, nodes: {} };
  return { frame: newest, graph, restarts: Math.max(0, runs.length - 1) };
}

interface View {
  readonly context: Readonly<Record<string, unknown>>;
  readonly frame: FrameTree;
}

/** The context, with the values that a branch or a restart inherited. */
function viewOf(frame: FrameTree): View {
  const inherited = (frame.input as Readonly<Record<string, unknown>> | null | undefined)?.[inheritedKey];
  return { context: { ...(inherited as object | undefined), ...frame.channels['scratch'] }, frame };
}

/**
 * The stage that ended last. The exit writes nothing into the context, so it is checked first: if it did not lead back, the run is there.
 */
function currentOf({ nodes, channels }: FrameTree, graph: GraphStructure): string | undefined {
  const exit = graph.nodes.find(({ type }) => type === 'exit')?.['id'] as string | undefined;
  const ended = exit === undefined ? undefined : nodes[exit];
  if (exit !== undefined && ended?.fired !== undefined && (ended.output as StageOutput | undefined)?.jump === undefined)
    return exit;
  const last = channels['scratch']?.['current_node'];
  return typeof last === 'string' ? last : undefined;
}

function stepsFrom(graph: GraphStructure, from: string, record: NodeRecord | undefined): readonly PipelineStep[] {
  const edges = record?.fired === undefined ? [] : outgoingEdges(graph, from);
  return (record?.fired ?? []).flatMap((key) => {
    const edge = edges.find((one) => one.key === key);
    if (edge === undefined) return [];
    const caption = captionOf(edge);
    return [{ from, to: edge.to, ...(caption !== undefined && { label: caption }) }];
  });
}

function captionOf({ label, choice }: StoredEdge): string | undefined {
  const stored = choice && readChoice(choice.text);
  const caption = stored?.ways.edges.find((way) => way.label === label)?.caption;
  return caption === '' ? undefined : caption;
}

/** Whether a stage has begun and not ended: its visit is open then. */
function isBegun({ nodes }: FrameTree, id: string): boolean {
  const record = nodes[id];
  return record !== undefined && record.fired === undefined;
}

function retriesOf({ fired, attempt = 1, steps = {} }: NodeRecord): number {
  if (fired !== undefined) return 0;
  return Math.max(attempt - 1, ...Object.values(steps).map((step) => (step.attempt ?? 1) - 1));
}

function gatesIn(graph: GraphStructure, { nodes }: FrameTree): Readonly<Record<string, StageStatus | 'pending'>> {
  const statuses: Record<string, StageStatus | 'pending'> = {};
  const visit = ({ nodes: inner }: GraphStructure): void => {
    for (const node of inner) {
      const { attributes } = (node['config'] ?? {}) as { readonly attributes?: Readonly<Record<string, unknown>> };
      if (attributes?.['goal_gate'] === 'true' || attributes?.['goal_gate'] === true)
        statuses[String(node['id'])] = 'pending';
      if (node['subgraph'] !== undefined) visit(node['subgraph'] as GraphStructure);
    }
  };
  visit(graph);
  for (const { output } of Object.values(nodes)) {
    const gates = (output as StageOutput | undefined)?.gates ?? {};
    for (const [id, how] of Object.entries(gates)) if (id in statuses) statuses[id] = how;
  }
  for (const id of Object.keys(statuses)) {
    const own = nodes[id];
    const how = (own?.output as StageOutput | undefined)?.outcome;
    if (how !== undefined) statuses[id] = how;
    else if (own?.status === 'failed') statuses[id] = 'fail';
  }
  return statuses;
}

function fidelityOf(node: Readonly<Record<string, unknown>> | undefined, context: View['context']): string {
  const { attributes } = (node?.['config'] ?? {}) as { readonly attributes?: Readonly<Record<string, unknown>> };
  return asText(attributes?.['fidelity']) || asText(context['graph.default_fidelity']) || 'compact';
}

function threadsOf({ frame }: View): PipelineCheckpoint['fidelityState']['threads'] {
  const state = { input: frame.input, diagnostics: frame.channels['diagnostics'] ?? {} };
  const turns = turnsOf(state as never);
  const names = [...new Set(turns.map(({ thread }) => thread))];
  return names.map((name) => ({ name, turns: turns.filter(({ thread }) => thread === name).length }));
}

/** A source of checkpoints, such as a `History`. */
export interface RecordSource<Name> {
  records(name: Name): Promise<PipelineRecords>;
}

/**
 * Reads a checkpoint of a pipeline.
 * @param history - `engine.history`, or the result of `openHistory`
 * @returns undefined if the run is not of a pipeline
 * @throws the errors of `history.records`
 */
export async function readPipeline<Name>(
  history: RecordSource<Name>,
  checkpoint: Name,
): Promise<PipelineCheckpoint | undefined> {
  return pipelineOf(await history.records(checkpoint));
}
