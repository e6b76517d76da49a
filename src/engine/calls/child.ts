/** `ctx.start` and `ctx.run`: child runs, and the handles through which their parent uses them (W6). */
import type { StateView, ChildHandle, ChildResult } from '../../graph/contracts/node-contract.ts';
import { DeltaBuilder } from '../../state/delta.ts';
import { Frame } from '../../state/frame.ts';
import { callKey, nextCallKey, nextChildKey } from '../visit-records/call-keys.ts';
import { nextEndOrder } from '../visit-records/call-order.ts';
import type { FrameRun, Activation, LiveChild } from '../live-run/loop.ts';
import { recordedIdOf } from '../../graph/compile/recorded-names.ts';
import { graphTables } from '../live-run/graph-tables.ts';
import { CairnError } from '../../errors.ts';
import type { OnWaiting } from '../../graph/contracts/parts.ts';
import { asError } from '../validate/admit-error.ts';
import { guardCall, never, type RunCore } from '../live-run/run-core.ts';
import { cancelChild, dropActivations } from '../settle/cancel.ts';
import { failIdleChild } from '../settle/settle.ts';
import { inTurn } from '../waits/give-back.ts';
import { beginCall, endCall, goesOn, updateBusy } from '../waits/leave-at-wait.ts';
import { hasDoubtIn } from '../waits/open-wait.ts';
import { noteNewCall } from '../visit-records/continued-visits.ts';
import { afterRecorded, hasEffectNodes } from './changed-code.ts';
import { callOnce, sendSignal } from './child-calls.ts';
import { openChild, type ChildCall } from './child-frame.ts';
import { runStepOf } from './steps.ts';

/** Options of a child run. */
interface ChildOptions {
  readonly name: string;
  readonly onWaiting: OnWaiting | undefined;
  /** Whether its end is reported in the order in which calls ended (X4.13). */
  readonly isOrdered: boolean;
}

/**
 * Starts a child run, or takes up the one recorded under this name. @throws RUN_LIMIT, INPUT_INVALID, VALUE_UNSTORABLE, NODE_CALL_REFUSED
 */
export async function startChild(
  core: RunCore,
  activation: Activation,
  call: ChildCall,
  { name, onWaiting, isOrdered }: ChildOptions,
): Promise<ChildRun> {
  const depth = activation.frameRun.depth + 1;
  const { childDepth } = core.env.bounds;
  if (depth > childDepth)
    throw new CairnError('RUN_LIMIT', { limit: 'childDepth', value: childDepth, path: activation.path.join('/') });
  const key = nextChildKey(core, activation, name);
  const { generation } = activation;
  const live = activation.children?.get(key) ?? (await takeUp(core, activation, key, call));
  if (live === undefined || !isRunning(activation, generation)) return never();
  if (onWaiting !== undefined) live.frameRun.onWaiting = onWaiting;
  return new ChildRun(core, activation, live, { name, isOrdered });
}

function isRunning(activation: Activation, generation: number): boolean {
  return activation.generation === generation && activation.phase === 'running';
}

/** Opens the child. That may take a moment, during which the parent counts as working. */
async function takeUp(
  core: RunCore,
  activation: Activation,
  key: string,
  call: ChildCall,
): Promise<LiveChild | undefined> {
  const { generation } = activation;
  beginCall(core, activation);
  try {
    const isNew = activation.frameRun.openRecordOf(activation.node)?.children?.[key] === undefined;
    if (isNew && hasEffectNodes(call.graph)) await afterRecorded(core, activation, key);
    if (!isRunning(activation, generation)) return undefined;
    if (isNew) noteNewCall(core, activation);
    const frameRun = await openChild(core, activation, key, call);
    return frameRun === undefined || !isRunning(activation, generation)
      ? undefined
      : watchChild(core, activation, key, frameRun);
  } finally {
    if (activation.generation === generation) endCall(core, activation);
  }
}

function watchChild(core: RunCore, activation: Activation, key: string, frameRun: FrameRun): LiveChild {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const live: LiveChild = { key, frameRun, ended, hasEnded: false, awaited: 0 };
  (activation.children ??= new Map()).set(key, live);
  activation.childrenInFlight += 1;
  const { generation } = activation;
  whenEnded(core, frameRun, () => {
    core.agenda.childFrames.delete(frameRun);
    dropActivations(core, frameRun);
    live.hasEnded = true;
    if (!isRunning(activation, generation)) return;
    numberEnd(activation, frameRun);
    // Must happen now, not a microtask later: until its function continues, the parent counts as working.
    activation.childrenInFlight -= 1;
    activation.childrenAwaited -= live.awaited;
    activation.stepsInFlight += live.awaited;
    goesOn(core, activation);
    resolve();
  });
  return live;
}

/** Calls back when a child has ended: its plan is done, or it failed and nothing in it is still being worked on. */
function whenEnded(core: RunCore, frameRun: FrameRun, onEnded: () => void): void {
  const check = (): void => {
    failIdleChild(core, frameRun);
    if (!frameRun.plan.isDone && !hasStopped(frameRun)) return;
    frameRun.onEnd = undefined;
    onEnded();
  };
  frameRun.onEnd = check;
  check();
}

function hasStopped(frameRun: FrameRun): boolean {
  return frameRun.hasFailed && [...frameRun.activations.values()].every((activation) => activation.phase === 'waiting');
}

/** Numbers the end of a child among overlapping calls (X4.13). A child that ended before this attempt has its number. */
function numberEnd(activation: Activation, { frame }: FrameRun): void {
  const record = activation.frameRun.openRecordOf(activation.node);
  if (record === undefined || frame.tree.order !== undefined) return;
  const order = nextEndOrder(record);
  if (activation.isOverlapping || order > 1) frame.setField('order', [], order, String(order));
}

/** The handle of a child run, for one attempt. */
class ChildRun implements ChildHandle {
  readonly name: string;
  readonly #core: RunCore;
  readonly #activation: Activation;
  readonly #generation: number;
  readonly #live: LiveChild;
  readonly #isOrdered: boolean;
  #result: Promise<ChildResult> | undefined;

  constructor(
    core: RunCore,
    activation: Activation,
    live: LiveChild,
    { name, isOrdered }: Pick<ChildOptions, 'name' | 'isOrdered'>,
  ) {
    this.#core = core;
    this.#activation = activation;
    this.#generation = activation.generation;
    this.#live = live;
    this.name = name;
    this.#isOrdered = isOrdered;
  }

  /** The end is reported to the function once, however often the result is requested. */
  result(): Promise<ChildResult> {
    return (this.#result ??= this.#awaitEnd());
  }

  async #awaitEnd(): Promise<ChildResult> {
    const [core, activation, live] = [this.#core, this.#activation, this.#live];
    if (!isRunning(activation, this.#generation)) return never();
    if (live.hasEnded) activation.stepsInFlight += 1;
    else {
      live.awaited += 1;
      activation.childrenAwaited += 1;
      updateBusy(core, activation);
      await live.ended;
    }
    if (this.#isOrdered) await inTurn(core, activation, live.frameRun.frame.tree.order);
    if (!isRunning(activation, this.#generation)) return never();
    activation.children?.delete(live.key);
    endCall(core, activation);
    return resultOf(live.frameRun);
  }

  async signal(name: string, value: unknown = null): Promise<void> {
    await this.#callOnce('signal', (key) => sendSignal(this.#core, this.#activation, this.#live, { key, name, value }));
  }

  async cancel(reason = ''): Promise<void> {
    await this.#callOnce('cancel', async () => () => cancelChild(this.#core, this.#live.frameRun, reason));
  }

  state(): Promise<StateView> {
    return this.#read('state', ({ frame }) => frame.plainState());
  }

  stateIn(node: string, name: string): Promise<StateView | null> {
    return this.#read('stateIn', (child) => innerState(child, node, name));
  }

  isInDoubt(): Promise<boolean> {
    return this.#read('isInDoubt', ({ nodePath }) => hasDoubtIn(this.#core, nodePath));
  }

  /** Looks at the child, as a recorded step. */
  async #read<T>(call: string, look: (child: FrameRun) => T): Promise<T> {
    this.#guard(call);
    const { key, frameRun } = this.#live;
    const step = nextCallKey(this.#activation, key, call);
    return runStepOf(this.#core, this.#activation, step, { effect: 'read' }, () => look(frameRun), undefined);
  }

  #callOnce(call: string, prepare: (key: string) => Promise<() => void>): Promise<void> {
    this.#guard(call);
    const key = nextCallKey(this.#activation, this.#live.key, call);
    return callOnce(this.#core, this.#activation, key, () => prepare(key));
  }

  #guard(call: string): void {
    guardCall(this.#activation, this.#generation, call);
  }
}

function resultOf(frameRun: FrameRun): ChildResult {
  // Plain data, which outlives the frame's channels and their indexes.
  const state = frameRun.frame.plainState();
  const { cancelled } = frameRun.frame.tree;
  if (cancelled !== undefined) {
    const node = frameRun.nodePath.join('/');
    const error = new CairnError('NODE_CANCELLED', { node, ...(cancelled === '' ? {} : { reason: cancelled }) });
    return { status: 'cancelled', state, error };
  }
  if (!frameRun.hasFailed) return { status: 'completed', state };
  return { status: 'failed', state, error: asError(frameRun.failure) };
}

// The state of a run inside a child run, which their parent reads through the child's handle (W6.9).

/** The state of the run that a node began from its subgraph under a name; null if there is none on record. */
function innerState(frameRun: FrameRun, nodeId: string, name: string): StateView | null {
  const node = frameRun.graph.nodes.find(({ id }) => id === recordedIdOf(frameRun.graph, nodeId));
  if (node?.subgraph === undefined) return null;
  const { children = {} } = frameRun.recordOf(node) ?? {};
  const key = callKey(name, 1);
  const tree = Object.hasOwn(children, key) ? children[key] : undefined;
  if (tree === undefined) return null;
  const { channels, outputNames, codeNames } = graphTables(node.subgraph);
  return new Frame(tree, [], new DeltaBuilder(), channels, outputNames, codeNames).plainState();
}
