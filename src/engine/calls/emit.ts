/** `ctx.emit` of a recorded event. It is validated and kept until it can be recorded together with the node's next call. */
import { CairnError } from '../../errors.ts';
import { admitValue } from '../../state/values/codec.ts';
import { checkId } from '../admit/check-id.ts';
import { checkWritten } from '../admit/checkpoint-size.ts';
import { tellEvent } from '../record/told-events.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

/** @throws ID_INVALID, VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE */
export function emitRecorded(core: RunCore, activation: Activation, name: string, event: unknown): void {
  const { limits } = core.env;
  checkId('event name', name, limits.idBytes);
  const path = [...activation.path, name];
  // Changes are read without the state, so an event is stored in its change completely.
  const admitted = admitValue(event, path, { ...limits, valueBytes: limits.inlineBytes }, core.secrets.intake);
  if (admitted.hasTags)
    throw new CairnError('VALUE_UNSTORABLE', {
      path: path.join('.'),
      reason: 'a recorded event is plain JSON: no dates, bytes, files, or undefined',
    });
  checkWritten(core, activation, () => [{ path, ...admitted }]);
  tellEvent(activation, { name, detail: admitted.value });
}
