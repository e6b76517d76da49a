/** A run at a checkpoint as one value, for programs; the same for every dialect (C9). */
import type { Amounts } from '../../graph/amounts.ts';
import { outputsOfSteps } from '../../state/channels/channels.ts';
import type {
  Account,
  FrameTree,
  NodeRecord,
  NodeStatus,
  RunStatus,
  RunTree,
  StepRecord,
  WaitRecord,
} from '../../state/tree.ts';
import { CairnError } from '../../errors.ts';
import { loadState } from '../load/load.ts';
import type { StatePlace } from '../access/place.ts';
import type { ResolvedReference } from './tag-checkpoint.ts';
import { formatPath } from './state-path.ts';
import type { NodeResult } from '../../ports/checkpoint-store.ts';

// What users see of a checkpoint: a view computed from the stored tree, the same for every dialect (C9).

type Keyed = Readonly<Record<string, unknown>>;

/** The values of a run, by partition. */
export interface StateValues {
  readonly input: unknown;
  readonly scratch: Keyed;
  readonly artifacts: Keyed;
  readonly diagnostics: Keyed;
  /** Output of each node's last completed visit, by node id. Only nodes of the run's own graph, not of child runs. */
  readonly outputs: Keyed;
  /** Error of each node whose last visit failed, by node id. Only nodes of the run's own graph. */
  readonly failures: Keyed;
}

export interface NodeRow {
  /** Node ids from the root and, between them, names of child runs. */
  readonly path: readonly string[];
  readonly status: NodeStatus;
  /** What it says of its own work, if it completed and did not quite succeed, such as `fail`. */
  readonly verdict?: string;
  readonly visits: number;
  readonly attempt: number;
  readonly error?: unknown;
  /** Whether its effect was started and has no recorded result. It is either still running or in doubt. */
  readonly hasOpenEffect: boolean;
  /** Number of its recorded steps, by status; absent if there are none. */
  readonly steps?: Readonly<Partial<Record<StepRecord['status'], number>>>;
  /** Number of its calls that were retired from the state; absent if there are none. */
  readonly retired?: number;
  /** Number of items in each of its lists; absent if it has none. */
  readonly lists?: Readonly<Record<string, number>>;
  /** Cost of its last visit, and (`saved`) the part of it that a fork took over; absent if there was none. */
  readonly spent?: Amounts;
  readonly saved?: Amounts;
}

export interface CheckpointView {
  readonly status: RunStatus;
  readonly graphHash: string;
  readonly state: StateValues;
  /** Every node that was started. Nodes of a child run come after their parent. */
  readonly nodes: readonly NodeRow[];
  readonly waits: readonly (WaitRecord & { readonly waitId: string })[];
  /** Errors that made the run fail, by the node's path joined with `/`. */
  readonly failures: Keyed;
  /** Cost of the run, and (`saved`) what a fork took over; absent if there was none. */
  readonly spent?: Amounts;
  readonly saved?: Amounts;
}

/** Computes the view. It shares values with the tree and does not copy them. */
export function viewState(root: RunTree): CheckpointView {
  return {
    status: root.status,
    graphHash: root.graphHash,
    state: viewValues(root.frame),
    nodes: listNodes(root.frame, []),
    waits: Object.entries(root.waits).map(([waitId, wait]) => ({ waitId, ...wait })),
    failures: root.failures ?? {},
    ...costsOf(root.frame),
  };
}

/** The values of one frame. */
export function viewValues({ input, channels, nodes }: FrameTree): StateValues {
  const outputs = Object.entries(nodes).flatMap(([id, node]) => {
    const output = outputOf(node);
    return output === undefined ? [] : [[id, output] as const];
  });
  const named = Object.values(nodes).flatMap((node) => {
    const output = node.as === undefined ? undefined : outputOf(node);
    return output === undefined ? [] : [[node.as as string, output] as const];
  });
  const failed = Object.entries(nodes).filter(([, { status }]) => status === 'failed');
  return {
    input,
    scratch: channels['scratch'] ?? {},
    // An artifact that a node wrote wins over an output shown under the same name.
    artifacts: { ...Object.fromEntries(named), ...channels['artifacts'] },
    diagnostics: channels['diagnostics'] ?? {},
    outputs: Object.fromEntries(outputs),
    failures: Object.fromEntries(failed.map(([id, { error }]) => [id, error])),
  };
}

function outputOf(record: NodeRecord): unknown {
  const { output, outputOfSteps } = record;
  return outputOfSteps === undefined ? output : outputsOfSteps(record, outputOfSteps);
}

function listNodes(frame: FrameTree, framePath: readonly string[]): NodeRow[] {
  return Object.entries(frame.nodes).flatMap(([id, node]) => {
    const path = [...framePath, id];
    const children = Object.entries(node.children ?? {});
    return [toRow(path, node), ...children.flatMap(([name, child]) => listNodes(child, [...path, name]))];
  });
}

function toRow(path: readonly string[], node: NodeRecord): NodeRow {
  const steps = Object.values(node.steps ?? {});
  const hasOpenEffect = node.intent !== undefined || steps.some(({ intent }) => intent !== undefined);
  return {
    path,
    status: node.status,
    ...(node.verdict === undefined ? {} : { verdict: node.verdict }),
    visits: node.visits ?? 1,
    attempt: node.attempt ?? 1,
    ...(node.error === undefined ? {} : { error: node.error }),
    hasOpenEffect,
    ...(steps.length === 0 ? {} : { steps: countByStatus(steps) }),
    ...(node.retired === undefined ? {} : { retired: sumOf(Object.values(node.retired.calls)) }),
    ...(node.lists === undefined ? {} : { lists: countItems(node.lists) }),
    ...costsOf(node),
  };
}

function costsOf({ spent, spared }: Account): { readonly spent?: Amounts; readonly saved?: Amounts } {
  return { ...(spent === undefined ? {} : { spent }), ...(spared === undefined ? {} : { saved: spared }) };
}

function countItems(lists: NonNullable<NodeRecord['lists']>): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(lists).map(([name, calls]) => [name, sumOf(calls.map(({ length }) => length))]),
  );
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function countByStatus(steps: readonly StepRecord[]): Partial<Record<StepRecord['status'], number>> {
  const counts: Partial<Record<StepRecord['status'], number>> = {};
  for (const { status } of steps) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

// Reads the values of a run at a checkpoint, or a part of them.

/** The values of a run at a checkpoint, and its cost up to there if any was reported. */
export type StateAt = StateValues & Pick<CheckpointView, 'spent' | 'saved'>;

/** Reads the values at a checkpoint. @throws what {@link loadState} throws */
export async function readStateAt(
  { store, blobs }: Pick<StatePlace, 'store' | 'blobs'>,
  { run, seq }: ResolvedReference,
): Promise<StateAt> {
  return stateOf((await loadState(store, blobs, run, seq)).root);
}

/** The values of a state that is already loaded. */
export function stateOf(root: RunTree): StateAt {
  const { state, spent, saved } = viewState(root);
  return { ...state, ...(spent && { spent }), ...(saved && { saved }) };
}

/** The part of a value under a key: a property of an object, or an item of a list (counted from the end if negative). */
function partOf(value: unknown, key: string): { readonly value: unknown } | undefined {
  if (Array.isArray(value))
    return /^-?\d+$/.test(key) && Math.abs(Number(key)) <= value.length
      ? { value: value.at(Number(key)) as unknown }
      : undefined;
  if (value instanceof Map) return value.has(key) ? { value: value.get(key) as unknown } : undefined;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return { value: (value as Readonly<Record<string, unknown>>)[key] };
}

/**
 * The part of a state under these keys. @param reference - the path, for the message. @throws USAGE_INVALID there is no such part; lists
 * those there are
 */
export function pickPart(state: unknown, keys: readonly string[], reference: string): unknown {
  let value = state;
  for (const [index, key] of keys.entries()) {
    const part = partOf(value, key);
    if (part === undefined) {
      const parts = typeof value === 'object' && value !== null ? Object.keys(value) : [];
      const above = keys.slice(0, index);
      throw new CairnError('USAGE_INVALID', {
        reason: `${reference} has no ${formatPath([...above, key])}`,
        hint: hintOf(parts, above, keys.slice(index).join('.')),
      });
    }
    value = part.value;
  }
  return value;
}

/** What there is in place of a part. A key with a dot in it, such as `tool.output`, is often written as if it were two. */
function hintOf(parts: readonly string[], above: readonly string[], wanted: string): string {
  const dotted = parts.find((part) => part.includes('.') && `${wanted}.`.startsWith(`${part}.`));
  if (dotted !== undefined)
    return `Write ${formatPath([...above, dotted])}: a dot within a key has a backslash before it.`;
  const place = above.length === 0 ? 'The state' : formatPath(above);
  const names = parts.slice(0, 12).map((part) => formatPath([part]));
  return names.length === 0 ? `${place} has no parts.` : `${place} has: ${names.join(', ')}.`;
}

/** How far a run is: nodes settled, and the wave it works on. */
export interface RunProgress {
  /** Ids of all nodes that the author wrote, in the order of the definition. */
  readonly nodes: readonly string[];
  /** Ids of the nodes that completed, in the order of the definition. */
  readonly completed: readonly string[];
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** The wave of the first node that is not settled, counted from 0; as many as there are waves: all are. */
  readonly wave: number;
  readonly waveCount: number;
  /** Nodes settled of all, 0 to 100. */
  readonly percent: number;
}

/** The outputs of a state by node id. */
type OutputsOf<State> = State extends { readonly outputs: infer Outputs } ? Outputs : Readonly<Record<string, unknown>>;

/** How far the nodes of a run's own graph have come. */
export interface Positions<Id extends string = string> {
  /** Nodes whose last visit completed. */
  readonly visitedNodes: readonly Id[];
  /** Nodes that routing decisions skipped. */
  readonly skippedNodes: readonly Id[];
  /** Edges that fired (`from->to`) and whose target has not settled since. */
  readonly pendingEdges: readonly string[];
}

/** A run at one of its checkpoints, in the form that checkpoint stores keep, with values as they were recorded. */
export interface WholeCheckpoint<State = StateAt> extends Positions<keyof OutputsOf<State> & string> {
  readonly id: string;
  readonly graphId: string;
  readonly runId: string;
  /** Id of the node after which the checkpoint was made; `__start__` for the first. */
  readonly nodeId: string;
  /** Epoch ms. */
  readonly timestamp: number;
  readonly state: State;
  /** Results of the nodes that completed, by node id. */
  readonly nodeResults: {
    readonly [Id in keyof OutputsOf<State>]?: NodeResult<Exclude<OutputsOf<State>[Id], undefined>>;
  };
  readonly progress: RunProgress;
}
