/** Signals that came before they were asked for: kept in the run's own tree, so forks have them, and no worker is called for them again (W5). */
import { encodeValue, type Admitted } from '../state/codec.ts';
import type { RunCore } from './run-core.ts';
import type { MessageBody } from './wait.ts';

/** @param form - of the value, as it is written */
export function keepSignal(core: RunCore, id: string, body: MessageBody, form: unknown): void {
  core.setRootEntry('signals', `id ${id}`, body, encodeValue({ ...body, value: form }));
  core.committer.note(JSON.stringify({ kind: 'signal', detail: body.signal }));
  core.mustCommit = true;
}

/** Takes the oldest of a name, if there is one. `admit` may take a moment, in which another call may take it first: then the next is taken. */
export async function takeEarlySignal(
  core: RunCore,
  name: string,
  admit: (value: unknown) => Promise<Admitted>,
): Promise<{ readonly admitted: Admitted; readonly by: string } | undefined> {
  for (;;) {
    const found = Object.entries(core.root.signals ?? {}).find(([, body]) => body.signal === name);
    if (found === undefined) return undefined;
    const [id, body] = found;
    const admitted = await admit(body.value);
    if (core.root.signals === undefined || !Object.hasOwn(core.root.signals, id)) continue;
    core.deleteRootEntry('signals', id);
    return { admitted, by: body.by ?? 'signal' };
  }
}
