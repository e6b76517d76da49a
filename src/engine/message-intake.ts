/** Takes answers, signals and cancel requests into a run; the next commit says that they are taken (O1). */
import { decodeJson, encodeValue } from '../state/codec.ts';
import type { MessageRow } from '../ports/store.ts';
import { closeWait, timeoutOf } from './open-wait.ts';
import type { RunCore } from './run-core.ts';
import type { MessageBody } from './wait.ts';

const decoder = new TextDecoder();

/** The body of an answer or a signal. */
export function messageBody(body: Uint8Array): MessageBody {
  return decodeJson(decoder.decode(body)) as MessageBody;
}

/** Reads messages and lets each do its work in the run, once. */
export class MessageIntake {
  readonly #core: RunCore;
  readonly #onCancel: () => void;
  /** Messages taken or kept here already: a read may return them until the commit that takes them has landed. */
  readonly #seen = new Set<number>();
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(core: RunCore, onCancel: () => void) {
    this.#core = core;
    this.#onCancel = onCancel;
  }

  /** Looks regularly, where other processes may post. */
  start(): void {
    const { env } = this.#core;
    if (!env.store.capabilities.isShared || this.#isStopped) return;
    this.#cancel = env.clock.setTimer(env.limits.messagePollMs, () => {
      this.read().then(
        () => this.start(),
        () => this.start(),
      );
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  async read(): Promise<void> {
    const core = this.#core;
    const rows = await core.env.store.readMessages(core.run);
    if (this.#isStopped) return;
    for (const row of rows) {
      if (this.#seen.has(row.id)) continue;
      this.#seen.add(row.id);
      this.#take(row);
    }
    if (rows.length > 0) core.requestTurn();
  }

  #take(row: MessageRow): void {
    const core = this.#core;
    if (row.kind === 'cancel') {
      core.committer.takeMessage(row.id);
      return this.#onCancel();
    }
    const body = messageBody(row.body);
    if (row.kind === 'signal') {
      const waiting = Object.entries(core.root.waits).find(
        ([, wait]) => wait.kind === 'signal' && wait.name === body.signal,
      );
      core.committer.takeMessage(row.id);
      if (waiting === undefined) return keepSignal(core, row.name, body);
      return closeWait(core, waiting[0], { output: body.value, by: body.by ?? 'signal' });
    }
    core.committer.takeMessage(row.id);
    const wait = Object.hasOwn(core.root.waits, row.name) ? core.root.waits[row.name] : undefined;
    if (wait === undefined) return;
    const by = body.by ?? 'person';
    if (body.isTimeout === true) closeWait(core, row.name, { error: timeoutOf(wait), by });
    else closeWait(core, row.name, { output: body.value, by });
  }
}

/** A signal that nobody waits for yet is kept in the run's own tree: forks have it, and no worker is called for it again. */
function keepSignal(core: RunCore, id: string, body: MessageBody): void {
  core.setRootEntry('signals', `id ${id}`, body, encodeValue(body));
  core.committer.note(JSON.stringify({ kind: 'signal', detail: body.signal }));
  core.mustCommit = true;
}

/** A signal that came before it was asked for, if there is one. */
export function takeEarlySignal(core: RunCore, name: string): MessageBody | undefined {
  const found = Object.entries(core.root.signals ?? {}).find(([, body]) => body.signal === name);
  if (found === undefined) return undefined;
  core.deleteRootEntry('signals', found[0]);
  return found[1];
}
