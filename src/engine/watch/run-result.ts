/** Where a run stands, in the form returned to callers. */
import { CairnError, errorTable, reasonOf, type ErrorCode, type ErrorData } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { Graph } from '../../graph/graph.ts';
import type { StateView } from '../../graph/contracts/node-contract.ts';
import { nodeRecord, type RunTree } from '../../state/tree.ts';
import type { OpenQuestion, RunResult } from '../api.ts';
import { type FrameRun, rootFrameRun } from '../run/frame-run.ts';

/** The root frame of a tree that is not being advanced. */
export function restingFrame(root: RunTree, graph: Graph): FrameRun {
  return rootFrameRun(graph, root.frame);
}

const nothing: Amounts = Object.freeze({});

/** For each result, the frame from which its state is made on first access. */
const frames = new WeakMap<object, FrameRun>();

/** One getter shared by all results. With getters of their own, V8 would keep each result's whole run until the next full collection. */
const stateWhenAsked: PropertyDescriptor = {
  enumerable: true,
  configurable: true,
  get(this: object): StateView | undefined {
    const state = frames.get(this)?.frame.openView().state;
    Object.defineProperty(this, 'state', { value: state, enumerable: true });
    return state;
  },
};

/** The result of a run that has ended or paused. Its state is read on first access, and frozen. */
export function resultOf(runId: string, seq: number, root: RunTree, frameRun: FrameRun): RunResult {
  const graphId = frameRun.graph.id;
  const error = root.status === 'failed' ? failureOf(root) : undefined;
  // A run that is over keeps what it asked, for its resume, and takes no answers to it.
  const isOver = root.status === 'failed' || root.status === 'cancelled';
  const answerable = isOver ? [] : Object.entries(root.waits);
  const result = {
    runId,
    status: root.status,
    seq,
    waits: answerable.map(([waitId, wait]): OpenQuestion => ({ ...wait, waitId, runId, graphId })),
    ...(error === undefined ? {} : { error }),
    failed: failedNodes(root),
    skipped: frameRun.plan.skippedNodes(),
    spent: root.frame.spent ?? nothing,
    saved: root.frame.spared ?? nothing,
  };
  frames.set(result, frameRun);
  return Object.defineProperty(result, 'state', stateWhenAsked) as typeof result & Pick<RunResult, 'state'>;
}

function failedNodes(root: RunTree): readonly string[] {
  const { nodes } = root.frame;
  return Object.keys(nodes).filter((id) => nodes[id]?.status === 'failed');
}

/** The first unhandled failure. What a node threw is wrapped once. */
function failureOf(root: RunTree): CairnError {
  const [node, cause] = Object.entries(root.failures ?? {})[0] ?? ['?', new Error('unknown')];
  const { code, data } = cause as Error & { code?: unknown; data?: unknown };
  if (code === 'STATE_WRITE_CONFLICT')
    return new CairnError('STATE_WRITE_CONFLICT', (data ?? {}) as Record<string, unknown>, { cause });
  if (code === 'BUDGET_EXCEEDED')
    return new CairnError('BUDGET_EXCEEDED', (data ?? {}) as Record<string, unknown>, { cause });
  if (code === 'NODE_TIMED_OUT') return new CairnError('NODE_TIMED_OUT', { ...(data as object), node }, { cause });
  return new CairnError(
    'NODE_FAILED',
    {
      node,
      reason: reasonOf(cause),
      ...withheldIn(root, node),
      ...(typeof code === 'string' ? { code } : {}),
      ...wayOutOf(cause),
    },
    { cause },
  );
}

/** Why attempts that a retry policy allows were not made, and what lets them be made (X3.3). */
function withheldIn(root: RunTree, node: string): { readonly withheld?: string } {
  const record = nodeRecord(root.frame, { id: node });
  const steps = Object.entries(record?.steps ?? {});
  const [step] = steps.find(([, { status, withheld }]) => status === 'failed' && withheld === true) ?? [];
  if (record?.withheld !== true && step === undefined) return {};
  const what = step === undefined ? 'it' : `its step ${step}`;
  return {
    withheld: `${what} was not tried again, as its effect may have happened: where it certainly has not, throw a NodeFailure with applied: 'no'; where a repetition does no harm, declare it idempotent`,
  };
}

/** What to do according to the innermost error of Cairn among the causes. Stored errors keep only their values. */
function wayOutOf(cause: unknown): { readonly wayOut?: string } {
  if (!(cause instanceof Error)) return {};
  const inner = wayOutOf(cause.cause);
  const { code, data = {} } = cause as Error & { readonly code?: unknown; readonly data?: ErrorData };
  if (inner.wayOut !== undefined || typeof code !== 'string' || !Object.hasOwn(errorTable, code)) return inner;
  return { wayOut: `${new CairnError(code as ErrorCode, data).hint.replace(/\.$/, '')};` };
}
