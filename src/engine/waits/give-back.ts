/** Returns a call's recorded result to its function. Results of overlapping calls are returned in the order in which the calls ended (X4.13). */
import { deepFreeze } from '../../state/values/freeze.ts';
import type { StepRecord, NodeRecord } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { type RunCore, never } from '../live-run/run-core.ts';
import { endOrders } from '../visit-records/call-order.ts';
import { failureOf } from '../visit-records/step-failure.ts';
import { CallOrder } from '../live-run/open-calls.ts';
import { beginCall, endCall } from './leave-at-wait.ts';

/**
 * Resolves when it is the turn of a call that has ended; at once if it overlapped no other. Parts of a node's work do not wait for each
 * other.
 */
export async function inTurn(core: RunCore, activation: Activation, order: number | undefined): Promise<void> {
  if (order === undefined) return;
  const { generation } = activation;
  activation.order ??= orderOf(core, activation);
  await activation.order.turnOf(order);
  if (activation.generation !== generation) await never();
}

function orderOf({ env }: RunCore, { frameRun, node }: Activation): CallOrder {
  const record: NodeRecord | undefined = frameRun.openRecordOf(node);
  return new CallOrder(record === undefined ? [] : endOrders(record), env.clock);
}

/**
 * Lets a call wait until the rest of the process had its turn. Meanwhile it counts as under way, and if its attempt ends it never returns.
 */
async function paused(core: RunCore, activation: Activation, pause: Promise<void>): Promise<void> {
  const { generation } = activation;
  beginCall(core, activation);
  await pause;
  if (activation.generation !== generation) await never();
  endCall(core, activation);
}

/** Returns the recorded end of a call. @param isPart - whether one of several parts of the work made the call: see `NodeContext.part` */
export async function giveBack(
  core: RunCore,
  activation: Activation,
  recorded: StepRecord,
  isPart: boolean,
): Promise<unknown> {
  const { status, order, output } = recorded;
  // A function that repeats many recorded calls must not hold up the rest of the process.
  const pause = core.env.pace.turn();
  if (pause !== undefined) await paused(core, activation, pause);
  if (order !== undefined && !isPart) {
    beginCall(core, activation);
    await inTurn(core, activation, order);
    endCall(core, activation);
  }
  if (status === 'failed') throw failureOf(recorded);
  return deepFreeze(output);
}
