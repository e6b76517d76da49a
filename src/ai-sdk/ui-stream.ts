/** A chat of a run as the AI SDK's interfaces read it: its messages, and a stream of the one under way. */
import type { UIMessage } from 'ai';
import { CairnError } from '../errors.ts';
import { stoppedName, type StoppedAnswer } from '../agents/model/model-step.ts';
import type { ModelDeltaEvent } from '../graph/contracts/model-messages.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import type { History } from '../history/history.ts';
import type { FollowedCheckpoint } from '../history/read/follow.ts';
import type { ListedRun } from '../history/read/list-runs.ts';
import type { OpenQuestion } from '../history/stored/wait-row.ts';
import { isUnderWay } from '../state/tree.ts';
import { turnFailure } from './turn-failure.ts';
import { type ChatChunk, type ChatMessage, type MessageView, MessageWriter, messageOf, viewOf } from './ui-messages.ts';

/** A run, and where its history is read: in any process on its store. */
export interface ChatRun {
  readonly runId: string;
  readonly history: Pick<History, 'find' | 'follow' | 'visit' | 'waits'>;
}

export interface UIMessageStreamOptions {
  /** The agent's message as the client has it: what it has is not sent again. Default: it has nothing of it. */
  readonly after?: UIMessage | undefined;
  /**
   * What was posted to the run when its newest checkpoint had this seq: the stream goes on until the run has taken it and rests again.
   * Default: it ends at once if the run rests.
   */
  readonly since?: number;
  /** The first visit of the agent that is streamed. Default: its last. */
  readonly visit?: number;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

const optionNames = ['after', 'since', 'visit', 'signal'] as const satisfies readonly (keyof UIMessageStreamOptions)[];

/**
 * Streams an agent's message: what is recorded of it, each text in one piece, and then the answer under way, until it ends or waits. The
 * message has the same id and the same parts in every process and after every reload.
 * @param node - id of the agent's node
 * @throws CONFIG_INVALID an option is unknown. The stream fails with the errors of the store
 */
export function toUIMessageStream(
  run: ChatRun,
  node: string,
  options: UIMessageStreamOptions = {},
): ReadableStream<ChatChunk> {
  refuseUnknownKeys('toUIMessageStream', options, optionNames);
  return ReadableStream.from(messageChunks(run, node, options));
}

const idOf = (runId: string, node: string, visit: number): string => `${runId}:${node}:${visit}`;

/** @param seq - default: as it is now */
export async function readMessageView(
  { runId, history }: ChatRun,
  node: string,
  seq?: number,
): Promise<MessageView | undefined> {
  const questions: OpenQuestion[] = [];
  for await (const question of history.waits({ run: seq === undefined ? runId : { runId, seq } }))
    questions.push(question);
  try {
    return viewOf(await history.visit(seq === undefined ? runId : { runId, seq }, node), questions);
  } catch (error) {
    // The agent has not begun.
    if (CairnError.is(error, 'USAGE_INVALID')) return undefined;
    throw error;
  }
}

/** The chunks of {@link toUIMessageStream}. */
export async function* messageChunks(
  run: ChatRun,
  node: string,
  { after, since, visit: first = 0, signal }: UIMessageStreamOptions,
): AsyncGenerator<ChatChunk, void, undefined> {
  const { runId, history } = run;
  const listed = await history.find(runId);
  const { head } = listed;
  const writer = new MessageWriter((visit) => idOf(runId, node, visit), after);
  let view = await readMessageView(run, node, head);
  const isWanted = (): boolean => view !== undefined && view.visit >= first;
  if (view !== undefined && isWanted()) yield* writer.update(view);
  let hasPaused = false;
  if (!isResting(listed, since) && !(isWanted() && view?.isSettled === true && since === undefined))
    for await (const event of history.follow(runId, {
      after: head,
      live: true,
      ...(signal !== undefined && { signal }),
    })) {
      if (event.type === 'live') {
        if (event.node.length !== 1 || event.node[0] !== node) continue;
        const { type, call, delta } = event.detail as
          | Partial<ModelDeltaEvent>
          | ({ readonly type: 'model-restarted' } & { call?: string; delta?: undefined });
        if (type === 'model-restarted') yield* writer.restart();
        else if (type === 'model-delta' && call !== undefined && delta !== undefined) yield* writer.piece(call, delta);
        continue;
      }
      if (event.type !== 'checkpoint') continue;
      if (concerns(event, node)) {
        // Who takes the run up makes the answer under way anew.
        if (event.change.some(({ kind }) => kind === 'resume')) yield* writer.restart();
        view = await readMessageView(run, node, event.seq);
        if (view !== undefined && isWanted()) yield* writer.update(view);
        if (isWanted() && view?.isSettled === true) break;
        if (isRest(event) && !isPause(event)) break;
        hasPaused ||= isPause(event);
      }
      // What was posted just before a pause is taken behind it: the run may have gone on since, and rest again further on.
      if (!hasPaused) continue;
      const now = await history.find(runId);
      if (event.seq >= now.head && isResting(now, since)) break;
    }
  if (signal?.aborted !== true) yield* writer.finish(await endOf(run, view));
}

/** Whether nothing that was posted is still to be taken, and nothing goes on. */
function isResting({ status, hasMessages, head }: ListedRun, since = -1): boolean {
  return !isUnderWay(status) && !hasMessages && head > since;
}

async function endOf(
  { runId, history }: ChatRun,
  view: MessageView | undefined,
): Promise<'finish' | 'abort' | { readonly error: string }> {
  const { status } = await history.find(runId);
  if (status === 'failed') return { error: turnFailure(view?.failed?.error) };
  return status === 'cancelled' || status === 'cancelling' ? 'abort' : 'finish';
}

const isPause = ({ change }: FollowedCheckpoint): boolean => change.some(({ kind }) => kind === 'pause');
const isRest = ({ change }: FollowedCheckpoint): boolean =>
  change.some(({ kind }) => kind === 'pause' || kind === 'end' || kind === 'cancel');

function concerns(event: FollowedCheckpoint, node: string): boolean {
  return isRest(event) || event.change.some((part) => part.kind === 'resume' || part.node?.[0] === node);
}

export interface ChatMessagesOptions {
  /** Name of the signal that brings what the user says. Default `message`. */
  readonly signal?: string;
}

/**
 * Reads a chat's messages, oldest first. What the user said is the run's input (a text, or its `prompt`), and each signal that the run took.
 * @throws CONFIG_INVALID an option is unknown; RUN_NOT_FOUND, CHECKPOINT_CORRUPT, STORE_*
 */
export async function readUIMessages(
  run: ChatRun,
  node: string,
  options: ChatMessagesOptions = {},
): Promise<readonly ChatMessage[]> {
  refuseUnknownKeys('readUIMessages', options, ['signal']);
  return readMessagesSince(run, node, options);
}

/**
 * The messages of a run behind one of its checkpoints.
 * @param since - its seq: where a run goes on that is another's, whose messages are known. Default: from the beginning
 */
export async function readMessagesSince(
  run: ChatRun,
  node: string,
  { signal = 'message' }: ChatMessagesOptions,
  since = -1,
): Promise<readonly ChatMessage[]> {
  const { runId, history } = run;
  const known = since < 0 ? undefined : await readMessageView(run, node, since);
  const messages: ChatMessage[] = [];
  const stopped = new Map<number, StoppedAnswer>();
  const leaving = new AbortController();
  const { head } = await history.find(runId);
  const say = (text: string, id = `${runId}:user:${messages.length + 1}`): void =>
    void messages.push({ id, role: 'user', parts: [{ type: 'text', text }] });
  const agentMessage = async (seq: number): Promise<void> => {
    const read = await readMessageView(run, node, seq);
    if (read === undefined || read.visit <= (known?.isSettled === true ? known.visit : 0)) return;
    // What is waited for now is no matter of messages before the last.
    const view = seq === head ? read : { ...read, waits: [] };
    const message = messageOf(idOf(runId, node, view.visit), view, stopped.get(view.visit));
    // A visit that failed and was tried again ends twice.
    const place = messages.findIndex(({ id }) => id === message.id);
    if (place < 0) messages.push(message);
    else messages[place] = message;
  };
  if (head >= 0)
    for await (const event of history.follow(runId, { signal: leaving.signal, ...(since >= 0 && { after: since }) })) {
      if (event.type !== 'checkpoint') continue;
      for (const { kind, path, ...record } of event.recorded) {
        const value = 'value' in record ? record.value : undefined;
        if (kind === 'input' && path.length === 0) forEachText(value, say);
        if (kind === 'step' && path.length === 2 && path[1]?.split('\0')[0] === signal) forEachText(value, say);
      }
      for (const { kind, name, detail, visit = 1, node: path } of event.change)
        if (kind === 'event' && name === stoppedName && path?.length === 1 && path[0] === node)
          stopped.set(visit, detail as StoppedAnswer);
      const isEnd = event.change.some(
        (part) => part.kind === 'settle' && part.node?.length === 1 && part.node[0] === node,
      );
      if (isEnd) await agentMessage(event.seq);
      if (event.seq >= head) break;
    }
  leaving.abort();
  await agentMessage(head);
  return messages;
}

function forEachText(value: unknown, say: (text: string, id?: string) => void): void {
  if (typeof value === 'string') return say(value);
  const {
    id,
    text,
    prompt = text,
  } = (value ?? {}) as { readonly id?: unknown; readonly text?: unknown; readonly prompt?: unknown };
  if (typeof prompt === 'string') say(prompt, typeof id === 'string' ? id : undefined);
}
