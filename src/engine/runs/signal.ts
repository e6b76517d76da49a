/** Posts a signal. It is durable before it is acknowledged, and kept if nothing waits for it yet (W5, O1). */
import { CairnError } from '../../errors.ts';
import { postSealed } from '../../history/stored/messages.ts';
import { encodeValue } from '../../state/values/codec.ts';
import { admitGiven } from '../admit/admit-given.ts';
import { checkId } from '../admit/check-id.ts';
import { takeFiles } from '../admit/take-files.ts';
import type { EngineEnvironment } from '../run/run-core.ts';
import { requireRun } from './require-run.ts';

const encoder = new TextEncoder();

/** @throws RUN_NOT_FOUND, RUN_FINISHED the run has completed or was cancelled, ID_INVALID, VALUE_UNSTORABLE, FILE_NOT_FOUND */
export async function postSignal(
  env: EngineEnvironment,
  runId: string,
  name: string,
  value: unknown,
  id: string = env.ids.createRunId(env.clock.now()),
): Promise<void> {
  const { store, clock, limits, tenant } = env;
  checkId('signal name', name, limits.idBytes);
  checkId('signal id', id, limits.idBytes);
  const { status } = await requireRun(env, runId);
  // A failed run may be resumed and then finds its signals.
  if (status === 'completed' || status === 'cancelled') throw new CairnError('RUN_FINISHED', { runId, status });
  const admitted = admitGiven(env, value, ['signal'], 'the signal');
  await takeFiles(env, admitted.value, 'the signal');
  const body = encoder.encode(encodeValue({ signal: name, value: admitted.value }));
  await postSealed(store, { tenant, runId, kind: 'signal', name: id, body, at: clock.now() });
}
