/** `ctx.save`: saves a composed node's inner state and retires its recorded calls (X4.6). */
import { CairnError } from '../../errors.ts';
import { admitValue, encodeValue } from '../../state/values/codec.ts';
import type { NodeRecord } from '../../state/tree.ts';
import { checkWritten } from '../admit/checkpoint-size.ts';
import { offloadForm } from '../admit/offload.ts';
import { keepBeside } from '../record/keep-beside.ts';
import { dropUnmade } from '../record/list-record.ts';
import { ensureSteps } from '../record/step-record.ts';
import type { Activation } from '../run/frame-run.ts';
import { guardCall } from '../run/guard-call.ts';
import type { RunCore } from '../run/run-core.ts';

/**
 * Saves the state. Child runs whose end the function was not told stay under their names; everything else recorded is retired.
 * @throws NODE_CALL_REFUSED, VALUE_UNSTORABLE, CHECKPOINT_TOO_LARGE
 */
export async function save(core: RunCore, activation: Activation, state: unknown): Promise<void> {
  const { generation } = activation;
  // Decided now: a child that ends later was still running for the function when it saved.
  const kept = [...(activation.children?.values() ?? [])].filter(({ isTaken }) => !isTaken).map(({ key }) => key);
  const path = [...activation.path, 'saved'];
  const admitted = admitValue(state, path, core.env.limits, core.secrets.intake);
  checkWritten(core, activation, () => [{ path, ...admitted }]);
  const saved = await offloadForm(core, admitted.value);
  await dropUnmade(core, activation);
  guardCall(activation, generation, 'save');
  if (activation.stepsInFlight + activation.openWaits > 0)
    throw new CairnError('NODE_CALL_REFUSED', {
      call: 'save',
      node: activation.path.join('/'),
      reason: 'steps or waits are still under way',
    });
  const record = ensureSteps(activation);
  const { frame } = activation.frameRun;
  const { id } = activation.node;
  const { saves = 0 } = record;
  retireChildren(activation, record, kept);
  frame.setNodeField(id, 'saved', admitted.value, encodeValue(saved));
  frame.setNodeField(id, 'saves', saves + 1, String(saves + 1));
  frame.setNodeField(id, 'steps', {}, '{}');
  frame.deleteNodeField(id, 'retired');
  keepBeside(core, activation);
  activation.forgetCalls(kept);
  core.draft.note({ kind: 'save', node: activation.path });
  await core.loop.durable();
}

/** Keeps the records inside of child runs that are kept. */
function retireChildren(
  { frameRun: { frame }, node: { id } }: Activation,
  { saves = 0, children = {} }: NodeRecord,
  kept: readonly string[],
): void {
  if (kept.length === 0) return frame.deleteNodeField(id, 'children');
  for (const [key, { born }] of Object.entries(children)) {
    if (!kept.includes(key)) frame.deleteNodeField(id, ['children', key]);
    else if (born === undefined) frame.setNodeField(id, ['children', key, 'born'], saves, String(saves));
  }
}
