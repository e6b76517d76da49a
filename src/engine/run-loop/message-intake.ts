/** Takes answers, signals, cancel requests and what is told of effects into a run. The next commit records that they were taken (O1). */
import { CairnError } from '../../errors.ts';
import { readMessagesIntact } from '../../history/stored/messages.ts';
import { copyValue } from '../../state/values/admit.ts';
import { decodeJson } from '../../state/values/revive.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { MessageRow } from '../../ports/store.ts';
import { readHandOver, storedHandOver, takeHandOver } from '../effects/hand-over.ts';
import { recordSignal } from '../waits/early-signals.ts';
import { offloadForm } from '../validate/offload.ts';
import { actorIn, isBound } from '../validate/whose-answer.ts';
import { closeWait, timeoutOf } from '../waits/open-wait.ts';
import type { RunCore } from '../live-run/run-core.ts';
import type { CancelRequest } from '../live-run/run-ending.ts';
import type { MessageBody } from '../waits/wait.ts';

const decoder = new TextDecoder();
const anySize = { valueBytes: Infinity, valueDepth: Infinity };

/** Decodes the body of an answer or a signal. */
export function messageBody(body: Uint8Array): MessageBody {
  return decodeJson(decoder.decode(body)) as MessageBody;
}

/** Decodes the body of a cancel request. Older ones say nothing. */
export function cancelBody(body: Uint8Array): CancelRequest {
  if (body.byteLength === 0) return {};
  const { reason, force, ...who } = decodeJson(decoder.decode(body)) as CancelRequest;
  return { ...actorIn(who), ...(reason !== undefined && { reason }), ...(force === true && { force }) };
}

/** Reads messages and applies each to the run, once. */
export class MessageIntake {
  readonly #core: RunCore;
  readonly #onCancel: (request: CancelRequest) => void;
  /** Ids of messages that were taken or are being taken. The store returns them until the commit that takes them is written. */
  readonly #seen = new Set<number>();
  /** Messages are taken in order of arrival, one read after another. */
  #reading: Promise<void> = Promise.resolve();
  #cancel: (() => void) | undefined;
  /** Whether there may be a message that could not be read. */
  #isOverdue = false;
  #isStopped = false;

  constructor(core: RunCore, onCancel: (request: CancelRequest) => void) {
    this.#core = core;
    this.#onCancel = onCancel;
  }

  /**
   * Polls for messages, which other processes may post. Where the store notifies of them, and renewals report them, it need not be polled.
   */
  start(): void {
    const { env } = this.#core;
    if (!env.store.capabilities.isShared || this.#isStopped) return;
    this.#cancel = env.clock.setTimer(env.bounds.messagePollMs, () => {
      if (!this.#isOverdue && env.store.hearsOthers?.() === true) return this.start();
      void this.tryRead().then(() => this.start());
    });
  }

  /**
   * Reads because there may be a message. If that fails, the run goes on, and the next poll reads. The run fails if there are no polls, or
   * if the message can never be read, since it must not be skipped silently.
   */
  async tryRead(): Promise<void> {
    try {
      await this.read();
      this.#isOverdue = false;
    } catch (error) {
      const isPolled = this.#core.env.store.capabilities.isShared;
      if (!isPolled || CairnError.is(error, 'STORE_CORRUPT')) this.#core.loop.fail(error);
      this.#isOverdue = true;
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  /** Takes the messages that are there, after a read in progress. */
  read(): Promise<void> {
    const reading = this.#reading.then(() => this.#readAll());
    this.#reading = reading.catch(() => {});
    return reading;
  }

  async #readAll(): Promise<void> {
    const core = this.#core;
    const rows = await readMessagesIntact(core.env.store, core.run);
    if (this.#isStopped) return;
    for (const row of rows) {
      if (this.#seen.has(row.id)) continue;
      this.#seen.add(row.id);
      if (row.kind === 'cancel') this.#takeCancel(row);
      else if (row.kind === 'effect') await this.#takeEffect(row);
      else await this.#takeBody(row, messageBody(row.body));
      if (this.#isStopped) return;
    }
    if (rows.length > 0) core.loop.requestTurn();
  }

  #takeCancel(row: MessageRow): void {
    const { draft, secrets } = this.#core;
    draft.takeMessage(row.id);
    const request = cancelBody(row.body);
    const { mask } = secrets;
    this.#onCancel(mask === undefined ? request : (copyValue(request, [row.kind], anySize, { mask }) as CancelRequest));
  }

  /**
   * Takes a message. If its value is large, it is first put into the blob store; until then the message is not taken and the run does not
   * rest.
   */
  async #takeBody(row: MessageRow, posted: MessageBody): Promise<void> {
    const core = this.#core;
    const { mask } = core.secrets;
    // Whoever posted the message did not know the run's secrets. Its size was checked when it was posted.
    const body =
      mask === undefined ? posted : { ...posted, value: copyValue(posted.value, [row.kind], anySize, { mask }) };
    const take = (form: unknown): void => this.#take(row, body, form);
    return this.#withStored(row, body.value, (value) => offloadForm(core, value), take);
  }

  /** Takes what a process that had lost the run tells of an effect of its. */
  #takeEffect(row: MessageRow): Promise<void> {
    const core = this.#core;
    const handOver = readHandOver(row);
    return this.#withStored(
      row,
      handOver,
      (value) => storedHandOver(core, value),
      (stored) => {
        core.draft.takeMessage(row.id);
        takeHandOver(core, handOver, stored);
      },
    );
  }

  /** Takes a message with the stored form of what it carries, which is the value itself unless it is large. */
  async #withStored<Value>(
    row: MessageRow,
    value: Value,
    store: (value: Value) => Promise<Value>,
    take: (form: Value) => void,
  ): Promise<void> {
    const core = this.#core;
    if (row.body.byteLength <= core.env.bounds.inlineBytes) return take(value);
    core.agenda.keepAliveCount += 1;
    try {
      const form = await store(value);
      if (!this.#isStopped) take(form);
    } catch (error) {
      // A later read takes the message, here or in another process.
      this.#seen.delete(row.id);
      throw error;
    } finally {
      core.agenda.keepAliveCount -= 1;
      core.loop.requestTurn();
    }
  }

  /** @param form - the stored form of the value */
  #take(row: MessageRow, body: MessageBody, form: unknown): void {
    const core = this.#core;
    const outputJson = encodeValue(form);
    core.draft.takeMessage(row.id);
    if (row.kind === 'signal') {
      const waiting = Object.entries(core.root.waits).find(
        ([, wait]) => wait.kind === 'signal' && wait.name === body.signal,
      );
      if (waiting === undefined) {
        core.draft.note({ kind: 'signal', detail: body.signal, ...body.sender });
        return recordSignal(core, core.rootFrame, row.name, body, form);
      }
      const { by = 'signal', sender } = body;
      return closeWait(core, waiting[0], { output: body.value, outputJson, by, ...(sender && { sender }) });
    }
    const wait = Object.hasOwn(core.root.waits, row.name) ? core.root.waits[row.name] : undefined;
    const { by = 'person', isRuled, isTimeout } = body;
    // It was closed as changed after the answer was given: what was said is kept.
    const who = { ...actorIn(body), by };
    if (wait === undefined)
      return core.draft.note({ kind: 'changed', wait: row.name, ...who, detail: { answer: body.value } });
    // Posted by who did not know the question, or not its rules: it stays open, for the next answer.
    if (isBound(wait) && isRuled !== true && by !== 'timeout') return;
    if (isTimeout === true) closeWait(core, row.name, { error: timeoutOf(wait), by });
    else closeWait(core, row.name, { output: body.value, outputJson, ...who });
  }
}
