/** Posts a signal. It is durable before it is acknowledged, and pending if nothing waits for it yet (W5, O1). */
import { admitExternal, takeFiles } from '../validate/admit-input.ts';
import { nodeNameOf } from '../validate/find-wait.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { CairnError } from '../../errors.ts';
import { schemaFault, type Schema } from '../../schema/json-schema.ts';
import { postSealed, readMessagesIntact } from '../../history/stored/messages.ts';
import type { Message, MessageReply } from '../../ports/store.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { OpenQuestion, SignalOptions } from '../api.ts';
import { actorIn } from '../validate/whose-answer.ts';
import { messageBody } from '../run-loop/message-intake.ts';
import { checkId } from '../validate/check-id.ts';
import { requireRun } from '../live-run/require-run.ts';
import { listOpenWaits } from './answer.ts';

const encoder = new TextEncoder();

/**
 * @throws RUN_NOT_FOUND, RUN_FINISHED the run has completed or was cancelled, SIGNAL_INVALID it is waited for, and does not fit,
 * SIGNAL_EXISTS, ID_INVALID, VALUE_UNSTORABLE, FILE_NOT_FOUND, STORE_CORRUPT a signal that was posted before is damaged
 */
export async function postSignal(
  env: EngineEnvironment,
  runId: string,
  name: string,
  value: unknown,
  options: SignalOptions,
): Promise<void> {
  const { store } = env;
  const { value: admitted, ...message } = admitSignal(env, runId, { name, value }, options);
  const { status } = await requireRun(env, runId);
  // A failed run may be resumed and then finds its signals.
  const refusal =
    status === 'completed' || status === 'cancelled'
      ? new CairnError('RUN_FINISHED', { runId, status })
      : await misfitOf(env, runId, { name, value: admitted });
  if (refusal !== undefined) {
    // What was posted already is that signal, whatever has become of the run since.
    if (!(await store.hasMessage(message, message))) throw refusal;
    if (options.isOnlyThis === true) refuseOther(message, await postSealed(store, message));
    return;
  }
  await takeFiles(env, admitted, 'the signal');
  const reply = await postSealed(store, message);
  if (options.isOnlyThis === true) refuseOther(message, reply);
}

/** What was sent first under an id has it; who sent it is no part of what it says. @throws SIGNAL_EXISTS it was another signal */
export function refuseOther({ runId, body }: Message, reply: MessageReply): void {
  if (reply.status !== 'taken') return;
  const said = (bytes: Uint8Array): string => {
    const { signal, value } = messageBody(bytes);
    return Buffer.from(encodeValue({ signal, value })).toString();
  };
  if (said(reply.first) !== said(body))
    throw new CairnError('SIGNAL_EXISTS', { runId, name: messageBody(reply.first).signal });
}

/** A signal as a message, and the value in it as it is stored. @throws ID_INVALID, VALUE_UNSTORABLE */
export function admitSignal(
  env: EngineEnvironment,
  runId: string,
  { name, value }: { readonly name: string; readonly value: unknown },
  { id = env.ids.createRunId(env.clock.now()), by, door, as }: SignalOptions,
): Message & { readonly value: unknown } {
  const { clock, bounds, tenant } = env;
  checkId('signal name', name, bounds.idBytes);
  checkId('signal id', id, bounds.idBytes);
  const admitted = admitExternal(env, value, ['signal'], 'the signal').value;
  const sender =
    by === undefined
      ? {}
      : { sender: actorIn({ by, ...(door !== undefined && { door }), ...(as !== undefined && { as }) }) };
  const body = encoder.encode(encodeValue({ signal: name, value: admitted, ...sender }));
  return { tenant, runId, kind: 'signal', name: id, body, at: clock.now(), value: admitted };
}

/**
 * Why a signal is refused that would close a wait whose schema it does not fit: whoever sends it hears of it now, and the run goes on
 * waiting. Signals that are posted and not taken yet close the waits that are older.
 */
export async function misfitOf(
  env: EngineEnvironment,
  runId: string,
  { name, value }: { readonly name: string; readonly value: unknown },
): Promise<CairnError | undefined> {
  const found = await listOpenWaits(env, runId, ['signal']);
  const waits = found.filter((wait) => wait.name === name);
  if (waits.every(({ schema }) => schema === undefined)) return undefined;
  const posted = (await readMessagesIntact(env.store, { tenant: env.tenant, runId })).filter(
    (message) => message.kind === 'signal' && messageBody(message.body).signal === name,
  );
  const openedAt = waits.map((wait) => wait.openedAt ?? 0).toSorted((a, b) => a - b)[posted.length];
  // Of those opened in the same millisecond the order is not known here.
  const meant = waits.filter((wait) => (wait.openedAt ?? 0) === openedAt);
  const faults = meant.map(({ schema }) =>
    schema === undefined ? undefined : schemaFault(schema as Schema, value, 'the value'),
  );
  const reason = faults.every((fault) => fault !== undefined) ? faults[0] : undefined;
  if (reason === undefined) return undefined;
  return new CairnError('SIGNAL_INVALID', { name, node: nodeNameOf(meant[0] as OpenQuestion), reason });
}
