/** Signals that came before they were asked for: kept in the run's own tree, so forks have them, and no worker is called for them again (W5). */
import { encodeValue, type Admitted } from '../../state/values/codec.ts';
import type { FrameRun } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import type { KeptSignal } from '../../state/tree.ts';
import type { MessageBody } from './wait.ts';

/** A signal of the run is for any of its frames; one that a parent sent to a child run, for that and the child runs in it. */
function signalsOf(core: RunCore, { parent, frame }: FrameRun): Readonly<Record<string, KeptSignal>> {
  return (parent === undefined ? core.root.signals : frame.tree.signals) ?? {};
}

/**
 * @param to - the run's own frame, or that of the child run it was sent to
 * @param form - of the value, as it is written
 */
export function keepSignal(core: RunCore, to: FrameRun, id: string, body: MessageBody, form: unknown): void {
  const json = encodeValue({ ...body, value: form });
  if (to.parent === undefined) core.draft.set(['signals', `id ${id}`], body, json);
  else to.frame.setField('signals', [`id ${id}`], body, json);
  core.draft.mustCommit = true;
}

/** A signal that was kept, and where. */
interface FoundSignal {
  readonly to: FrameRun;
  readonly id: string;
  readonly body: KeptSignal;
}

/** The oldest of a name: of the nearest frame that has one. */
export function earlySignalOf(core: RunCore, frameRun: FrameRun, name: string): FoundSignal | undefined {
  for (let to: FrameRun | undefined = frameRun; to !== undefined; to = to.parent) {
    const found = Object.entries(signalsOf(core, to)).find(([, body]) => body.signal === name);
    if (found !== undefined) return { to, id: found[0], body: found[1] };
  }
  return undefined;
}

/** The oldest of a name, if there is one. To admit it may take a moment, in which another call may take it: `take` says whether it is there still. */
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
