/**
 * Pending signals, which came before anything waited for them. They are recorded in the run's tree, so forks have them and no worker is
 * woken for them again (W5).
 */
import { encodeValue } from '../../state/values/encode.ts';
import type { Admitted } from '../../state/values/admit.ts';
import type { FrameRun } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';
import type { PendingSignal } from '../../state/tree.ts';
import type { MessageBody } from './wait.ts';

/**
 * Where pending signals are. A signal of the run may be taken by any of its frames; one sent to a child run, by that and the child runs in
 * it.
 */
function signalsOf(core: RunCore, { parent, frame }: FrameRun): Readonly<Record<string, PendingSignal>> {
  return (parent === undefined ? core.root.signals : frame.tree.signals) ?? {};
}

/**
 * Records a pending signal.
 * @param to - the run's own frame, or that of the child run it was sent to
 * @param form - the stored form of its value
 */
export function recordSignal(core: RunCore, to: FrameRun, id: string, body: MessageBody, form: unknown): void {
  const json = encodeValue({ ...body, value: form });
  if (to.parent === undefined) core.draft.set(['signals', `id ${id}`], body, json);
  else to.frame.setField('signals', [`id ${id}`], body, json);
  core.draft.mustCommit = true;
}

/** A pending signal, and the frame in which it is recorded. */
interface FoundSignal {
  readonly to: FrameRun;
  readonly id: string;
  readonly body: PendingSignal;
}

/** The oldest pending signal of a name, in the nearest frame that has one. */
export function earlySignalOf(core: RunCore, frameRun: FrameRun, name: string): FoundSignal | undefined {
  for (let to: FrameRun | undefined = frameRun; to !== undefined; to = to.parent) {
    const found = Object.entries(signalsOf(core, to)).find(([, body]) => body.signal === name);
    if (found !== undefined) return { to, id: found[0], body: found[1] };
  }
  return undefined;
}

/**
 * Finds the oldest pending signal of a name. Validating it may take a moment in which another call takes it; `take` returns whether it was
 * still there.
 */
export async function findEarlySignal(
  core: RunCore,
  frameRun: FrameRun,
  name: string,
  admit: (value: unknown) => Promise<Admitted>,
): Promise<{ readonly admitted: Admitted; readonly by: string; readonly take: () => boolean } | undefined> {
  const found = earlySignalOf(core, frameRun, name);
  if (found === undefined) return undefined;
  const { to, id, body } = found;
  const take = (): boolean => {
    if (!Object.hasOwn(signalsOf(core, to), id)) return false;
    if (to.parent === undefined) core.draft.delete(['signals', id]);
    else to.frame.deleteField('signals', [id]);
    return true;
  };
  return { admitted: await admit(body.value), by: body.by ?? 'signal', take };
}
