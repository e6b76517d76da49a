/** `ctx.append` and `ctx.list`: lists of a composed node that grow call by call, each item stored once (X4). */
import { CairnError } from '../../errors.ts';
import { admitValue, maskedText, type Admitted } from '../../state/values/admit.ts';
import { deepFreeze } from '../../state/values/freeze.ts';
import { checkId } from '../validate/check-id.ts';
import { offloadValue } from '../validate/offload.ts';
import { checkWritten } from '../validate/checkpoint-size.ts';
import {
  addCall,
  callsBeforeSave,
  callsOf,
  cursorOf,
  dropCalls,
  isLeftCall,
  isSameCall,
} from '../visit-records/list-record.ts';
import { enterEvents } from '../visit-records/recorded-events.ts';
import { visitOf } from '../visit-records/visit-part.ts';
import type { Activation } from '../live-run/loop.ts';
import { mayCallOtherwise, noteNewCall } from '../visit-records/continued-visits.ts';
import { guardCall, never, refusal, type RunCore } from '../live-run/run-core.ts';
import { endCall } from '../waits/leave-at-wait.ts';

/** Identifies a call: the n-th of its list. */
interface AppendCall {
  readonly list: string;
  readonly n: number;
  readonly items: Admitted;
}

/** @throws NODE_CALL_REFUSED, ID_INVALID, RUN_LIMIT, VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE */
export async function append(
  core: RunCore,
  activation: Activation,
  list: string,
  appended: readonly unknown[],
): Promise<void> {
  const { generation } = activation;
  guardCall(activation, generation, 'append');
  const items = admitItems(core, activation, list, appended);
  const cursor = cursorOf(activation, list);
  const { steps: limit } = core.env.bounds;
  if (cursor.called - callsBeforeSave(activation, list) >= limit)
    throw new CairnError('RUN_LIMIT', { limit: 'steps', value: limit });
  cursor.called += 1;
  activation.stepsInFlight += 1;
  const before = cursor.last;
  cursor.last = recordInTurn(core, activation, { list, n: cursor.called, items }, before);
  try {
    await cursor.last;
  } finally {
    if (activation.generation === generation) endCall(core, activation);
  }
}

function admitItems(core: RunCore, activation: Activation, list: string, appended: readonly unknown[]): Admitted {
  checkId('list name', list, core.env.bounds.idBytes);
  if (!Array.isArray(appended)) refuse(activation, 'what is appended is a list of items');
  const path = [...activation.path, list];
  const storable =
    core.env.intake?.keepsOut?.(list, () => activation.path) === true ? appended.map(() => maskedText) : appended;
  const items = admitValue(storable, path, core.env.bounds, core.secrets.intake);
  checkWritten(core, activation, () => [{ path, ...items }]);
  return items;
}

/** Records a call after those before it. If it is recorded already, nothing changes. */
async function recordInTurn(
  core: RunCore,
  activation: Activation,
  { list, n, items }: AppendCall,
  before: Promise<void>,
): Promise<void> {
  const { generation } = activation;
  const isCurrent = (): boolean => activation.generation === generation && activation.phase === 'running';
  await before;
  const pause = core.env.pace.turn();
  if (pause !== undefined) await pause;
  const refused = refusal(core, activation);
  if (refused !== undefined) await refused;
  if (!isCurrent()) return never();
  const cursor = cursorOf(activation, list);
  const recorded = callsOf(activation, list)[n - 1];
  if (recorded === undefined || !isSameAsRecorded(core, recorded, items)) {
    const isOriginals = mayCallOtherwise(activation) || isLeftCall(activation, list, n);
    if (recorded !== undefined && !isOriginals)
      refuse(
        activation,
        `call ${n} of list ${list} is recorded with other items; what is appended must be the same whenever its node is repeated`,
      );
    const stored = await offloadValue(core, items);
    if (recorded !== undefined) await dropCalls(core, activation, list, n - 1);
    if (!isCurrent()) return never();
    noteNewCall(core, activation);
    addCall(core, activation, list, stored);
    enterEvents(core, activation);
    core.draft.note({ kind: 'append', node: activation.path, list, ...visitOf(activation) });
    core.loop.requestFlush();
  }
  cursor.recorded = n;
}

/** Whether a call was recorded with these items. Items recorded before the run knew a secret are compared as they would be masked now. */
function isSameAsRecorded({ env, secrets }: RunCore, recorded: readonly unknown[], items: Admitted): boolean {
  if (isSameCall(recorded, items)) return true;
  if (secrets.mask === undefined) return false;
  return isSameCall(admitValue(recorded, [], env.bounds, secrets.intake).value as readonly unknown[], items);
}

function refuse({ path }: Activation, reason: string): never {
  throw new CairnError('NODE_CALL_REFUSED', { call: 'append', node: path.join('/'), reason });
}

/**
 * The items added by the calls made so far in this attempt. Later recorded calls are left out, so that a repeated function sees the same.
 */
export function listOf(activation: Activation, list: string): readonly unknown[] {
  return deepFreeze(callsOf(activation, list).slice(0, cursorOf(activation, list).recorded).flat());
}
