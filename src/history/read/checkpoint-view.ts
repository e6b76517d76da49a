/** What users see of a checkpoint: a view computed from the stored tree, the same for every dialect (C9). */
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
