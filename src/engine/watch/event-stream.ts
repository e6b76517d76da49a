/** Streams the events of a run after a seq, each once and in order, from any process. */
import { requireRun } from '../live-run/require-run.ts';
import { CairnError, errorTable, reasonOf, type ErrorCode, type ErrorData } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { Graph } from '../../graph/graph.ts';
import type { StateView } from '../../graph/contracts/node-contract.ts';
import { readPostedSignals } from '../../history/stored/messages.ts';
import { isUnderWay, nodeRecord, type PendingSignal, type RunTree } from '../../state/tree.ts';
import type { OpenQuestion, RunResult, LiveEvent, RunEvent, StateEvent, StreamEvent, RunHandle } from '../api.ts';
import { type FrameRun, rootFrameRun } from '../live-run/loop.ts';
import { checkpointId } from '../../history/stored/checkpoint.ts';
import { readFailures } from '../../history/read/failures.ts';
import { loadState, readHistory } from '../../history/load/load.ts';
import type { RunRow } from '../../ports/store.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import type { RunFeed } from '../live-run/committer.ts';

// Where a run stands, in the form returned to callers.

/** The root frame of a tree that is not being advanced. */
export function restingFrame(root: RunTree, graph: Graph): FrameRun {
  return rootFrameRun(graph, root);
}

const nothing: Amounts = Object.freeze({});

/** For each result, the frame from which its state is made on first access. */
const frames = new WeakMap<object, FrameRun>();

/** One getter shared by all results. With getters of their own, V8 would keep each result's whole run until the next full collection. */
const lazyState: PropertyDescriptor = {
  enumerable: true,
  configurable: true,
  get(this: object): StateView | undefined {
    const state = frames.get(this)?.frame.openView().state;
    Object.defineProperty(this, 'state', { value: state, enumerable: true });
    return state;
  },
};

/** The result of a run that has ended or paused. Its state is read on first access, and frozen. */
export function resultOf(
  runId: string,
  seq: number,
  root: RunTree,
  frameRun: FrameRun,
  repeated: ReadonlySet<string> = new Set(),
): RunResult {
  const standing = standingOf(runId, frameRun.graph.id, seq, root, frameRun.plan.skippedNodes());
  const result = {
    ...standing,
    waits: inOrder(standing.waits, frameRun.graph),
    ...(repeated.size === 0 ? {} : { repeated: [...repeated] }),
  };
  frames.set(result, frameRun);
  return Object.defineProperty(result, 'state', lazyState) as typeof result & Pick<RunResult, 'state'>;
}

/**
 * The nodes of a run's own graph that are completed, also those that gave nothing, which have no output. @param result - as the engine gave
 * it, no copy of it
 */
export function completedNodes(result: RunResult): readonly string[] {
  const nodes = frames.get(result)?.frame.tree.nodes ?? {};
  return Object.keys(nodes).filter((id) => nodes[id]?.status === 'completed');
}

/** Waits in the order of the graph's nodes: branches that ask at once open theirs in any order, and a stored state has them by id. */
function inOrder(waits: readonly OpenQuestion[], { nodeIndex }: Graph): readonly OpenQuestion[] {
  const placeOf = ({ node: [id = ''] }: OpenQuestion): number => nodeIndex.get(id) ?? nodeIndex.size;
  return waits.toSorted((a, b) => placeOf(a) - placeOf(b) || (a.openedAt ?? 0) - (b.openedAt ?? 0));
}

/** All of a result but its state. */
export function standingOf(
  runId: string,
  graphId: string,
  seq: number,
  root: RunTree,
  skipped: readonly string[],
): Omit<RunResult, 'state'> {
  const error = root.status === 'failed' ? failureOf(root) : undefined;
  // The questions of a run that is over stay open, for its resume, and cannot be answered before.
  const isOver = root.status === 'failed' || root.status === 'cancelled';
  const answerable = isOver ? [] : Object.entries(root.waits);
  return {
    runId,
    status: root.status,
    seq,
    waits: answerable.map(([waitId, wait]): OpenQuestion => ({ ...wait, waitId, runId, graphId })),
    ...(error === undefined ? {} : { error }),
    failed: failedNodes(root),
    skipped,
    spent: root.frame.spent ?? nothing,
    saved: root.frame.spared ?? nothing,
    ...(root.signals !== undefined && withUnreceived(Object.entries(root.signals).map(toUnreceived))),
  };
}

type UnreceivedSignal = NonNullable<RunResult['unreceived']>[number];

function toUnreceived([id, { signal = '', value }]: readonly [string, PendingSignal]): UnreceivedSignal {
  return { id: id.replace(/^id /u, ''), name: signal, value };
}

const withUnreceived = (unreceived: readonly UnreceivedSignal[]): Pick<RunResult, 'unreceived'> =>
  unreceived.length === 0 ? {} : { unreceived };

/** A result with the signals that were posted and that no commit has taken yet. */
export async function withPosted({ store }: EngineEnvironment, run: RunRow, result: RunResult): Promise<RunResult> {
  if (!run.hasMessages) return result;
  const posted = await readPostedSignals(store, run);
  const signals = posted.map(({ id, signal = '', value }): UnreceivedSignal => ({ id, name: signal, value }));
  return Object.assign(result, withUnreceived([...(result.unreceived ?? []), ...signals]));
}

function failedNodes(root: RunTree): readonly string[] {
  const { nodes } = root.frame;
  return Object.keys(nodes).filter((id) => nodes[id]?.status === 'failed');
}

/** The first unhandled failure. What a node threw is wrapped once. */
function failureOf(root: RunTree): CairnError {
  const [node, cause] = Object.entries(root.failures ?? {})[0] ?? ['?', new Error('unknown')];
  const { code, data } = cause as Error & { code?: unknown; data?: unknown };
  if (code === 'RUN_TIMED_OUT')
    return new CairnError('RUN_TIMED_OUT', (data ?? {}) as Record<string, unknown>, { cause });
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
  // The hint of NODE_FAILED, which takes this in, ends with the resume itself.
  return {
    wayOut: `${new CairnError(code as ErrorCode, data).hint.replace(/(?:[,;]? then resume the run(?::.*)?)?\.$/su, '')};`,
  };
}

interface StreamOptions {
  /** Seq of the last event seen; default: none. */
  readonly after?: number;
  /** Whether to include live events. Default true. */
  readonly live?: boolean;
}

/**
 * Streams events. With a feed (the run is advanced here): until the run pauses or ends. Without: what is stored, and what is added while
 * somebody advances the run.
 */
export async function* streamEvents(
  env: EngineEnvironment,
  runId: string,
  feed: RunFeed | undefined,
  graph: Graph,
  options: StreamOptions,
): AsyncGenerator<StreamEvent> {
  const queue = new EventQueue();
  const stop =
    feed === undefined || feed.isClosed ? undefined : feed.listen((event, error) => queue.push(event, error));
  try {
    let cursor = options.after ?? -1;
    for await (const event of storedEvents(env, runId, graph, cursor)) {
      cursor = event.seq;
      yield event;
    }
    if (stop === undefined) {
      yield* polledEvents(env, runId, graph, cursor);
      return;
    }
    for await (const event of queue) {
      if (event.type !== 'checkpoint') {
        if (options.live !== false) yield event;
      } else if (event.seq > cursor) {
        cursor = event.seq;
        yield event;
      }
    }
  } finally {
    stop?.();
  }
}

/** The stored events after a seq. If checkpoints there were pruned, first the state at the oldest one that remains. */
async function* storedEvents(
  env: EngineEnvironment,
  runId: string,
  graph: Graph,
  after: number,
): AsyncGenerator<RunEvent | StateEvent> {
  const run = await requireRun(env, runId);
  let from = after + 1;
  if (from < run.prunedBelow) {
    const { root, seq } = await loadState(env.store, env.blobs, run, run.prunedBelow);
    const { state } = resultOf(runId, seq, root, restingFrame(root, graph));
    yield { type: 'state', runId, seq, checkpointId: checkpointId(run.key, seq), state };
    from = seq + 1;
  }
  for await (const { run: owner, checkpoint } of readHistory(env.store, run, { from, to: run.head })) {
    const { seq, at, change } = checkpoint;
    yield { type: 'checkpoint', runId, seq, checkpointId: checkpointId(owner.key, seq), at, change };
  }
}

async function* polledEvents(
  env: EngineEnvironment,
  runId: string,
  graph: Graph,
  after: number,
): AsyncGenerator<StreamEvent> {
  let cursor = after;
  for (;;) {
    const run = await requireRun(env, runId);
    for await (const event of storedEvents(env, runId, graph, cursor)) {
      cursor = event.seq;
      yield event;
    }
    if (!isUnderWay(run.status) || run.claim === undefined) return;
    await new Promise<void>((resolve) => {
      env.clock.setTimer(env.bounds.messagePollMs, resolve);
    });
  }
}

type QueuedEvent = RunEvent | LiveEvent;

/** Turns a listener's callbacks into an async iterable. */
class EventQueue {
  readonly #events: QueuedEvent[] = [];
  #isClosed = false;
  #error: unknown;
  #wake: (() => void) | undefined;

  push(event: QueuedEvent | undefined, error: unknown): void {
    if (event === undefined) {
      this.#isClosed = true;
      this.#error = error;
    } else this.#events.push(event);
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<QueuedEvent> {
    for (;;) {
      yield* this.#events.splice(0);
      if (this.#events.length > 0) continue;
      if (this.#error !== undefined) throw this.#error;
      if (this.#isClosed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

// Reads how a run stands that is not advanced here, from its history.

export async function inspectRow(
  env: EngineEnvironment,
  run: RunRow,
  graph: Graph,
  seq: number = run.head,
): Promise<RunResult> {
  const { store, blobs } = env;
  const loaded = await loadState(store, blobs, run, seq);
  return withFailures(env, run, resultOf(run.runId, loaded.seq, loaded.root, restingFrame(loaded.root, graph)));
}

export function restingHandle(env: EngineEnvironment, run: RunRow, graph: Graph, created: boolean): RunHandle {
  return {
    runId: run.runId,
    created,
    result: async () => inspectRow(env, run, graph),
    events: (options = {}) => streamEvents(env, run.runId, undefined, graph, options),
  };
}

/** A result with why nodes failed, if any did. A history that cannot be read takes nothing else from it. */
export async function withFailures(
  { store }: Pick<EngineEnvironment, 'store'>,
  key: RunRow,
  result: RunResult,
): Promise<RunResult> {
  if (result.failed.length === 0) return result;
  try {
    const run = await store.readRun(key);
    const failures = run === undefined ? [] : await readFailures(store, run, result.seq, result.failed);
    return failures.length === 0 ? result : Object.assign(result, { failures });
  } catch {
    return result;
  }
}
