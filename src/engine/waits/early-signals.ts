/** Signals that came before they were asked for: kept in the run's own tree, so forks have them, and no worker is called for them again (W5). */
import { encodeValue, type Admitted } from '../../state/values/codec.ts';
import type { RunCore } from '../run/run-core.ts';
import type { RunTree } from '../../state/tree.ts';
import type { MessageBody } from './wait.ts';

type KeptSignal = NonNullable<RunTree['signals']>[string];

/** @param form - of the value, as it is written */
export function keepSignal(core: RunCore, id: string, body: MessageBody, form: unknown): void {
  core.draft.set(['signals', `id ${id}`], body, encodeValue({ ...body, value: form }));
  core.draft.note({ kind: 'signal', detail: body.signal });
  core.draft.mustCommit = true;
}

/** The oldest of a name, with its id. */
export function earlySignalOf(core: RunCore, name: string): readonly [id: string, body: KeptSignal] | undefined {
  return Object.entries(core.root.signals ?? {}).find(([, body]) => body.signal === name);
}

/** The oldest of a name, if there is one. To admit it may take a moment, in which another call may take it: `take` says whether it is there still. */
export async function findEarlySignal(
  core: RunCore,
  name: string,
  admit: (value: unknown) => Promise<Admitted>,
): Promise<{ readonly admitted: Admitted; readonly by: string; readonly take: () => boolean } | undefined> {
  const found = earlySignalOf(core, name);
  if (found === undefined) return undefined;
  const [id, body] = found;
  const take = (): boolean => {
    if (core.root.signals === undefined || !Object.hasOwn(core.root.signals, id)) return false;
    core.draft.delete(['signals', id]);
    return true;
  };
  return { admitted: await admit(body.value), by: body.by ?? 'signal', take };
}
