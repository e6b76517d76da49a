/** What a user sees as "the checkpoint": a view computed from the tree, the same for every dialect (C9). */
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

/** The values of a run by partition. */
export interface StateValues {
  readonly input: unknown;
  readonly scratch: Keyed;
  readonly artifacts: Keyed;
  readonly diagnostics: Keyed;
  /** The last recorded output of each node of the run's own graph, by node id. */
  readonly outputs: Keyed;
  /** The error of each node of the run's own graph whose last visit failed, by node id. */
  readonly failures: Keyed;
}

export interface NodeRow {
  /** Node ids from the root, with the name of the child run between them. */
  readonly path: readonly string[];
  readonly status: NodeStatus;
  readonly visits: number;
  readonly attempt: number;
  readonly error?: unknown;
  /** Its effect was started and has no result on record: whoever started it is in it, or it is in doubt. */
  readonly hasOpenEffect: boolean;
  /** Its recorded steps by status; absent: it has none. */
  readonly steps?: Readonly<Partial<Record<StepRecord['status'], number>>>;
  /** How many of its calls were retired from the state. Absent: none. */
  readonly retired?: number;
  /** How many items each of its lists holds; absent: it has none. */
  readonly lists?: Readonly<Record<string, number>>;
  /** What its last visit has cost, and what of that a fork took over. Absent: nothing. */
  readonly spent?: Amounts;
  readonly saved?: Amounts;
}

export interface CheckpointView {
  readonly status: RunStatus;
  readonly graphHash: string;
  readonly state: StateValues;
  /** Every node that was started, children's after their parent. */
  readonly nodes: readonly NodeRow[];
  readonly waits: readonly (WaitRecord & { readonly waitId: string })[];
  /** Errors that failed the run, by node path joined with `/`. */
  readonly failures: Keyed;
  /** What the run has cost, and what a fork took over. Absent: nothing. */
  readonly spent?: Amounts;
  readonly saved?: Amounts;
}

/** Computes the view. Values are those of the tree, not copies. */
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
    // What a node wrote under a name stands before an output that is to be seen under it.
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
