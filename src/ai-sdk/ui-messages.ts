/**
 * An agent's visit as a message of the AI SDK's user interfaces: folded from the record, so that every process and every tab shows the
 * same.
 */
import type { UIMessage, UIMessageChunk } from 'ai';
import type { OpenQuestion } from '../history/stored/wait-row.ts';
import { shown } from '../state/secrecy/shown-text.ts';
import { toJson } from '../state/values/to-json.ts';
import type { AgentVisit } from '../agents/view/agent-state.ts';
import { foldDurableVisit } from './durable-visit.ts';
import { foldVisit, openCallOf, type AgentCall, type ShownLoop } from '../agents/view/agent-loop-state.ts';
import type { ModelDelta } from '../graph/contracts/model-messages.ts';
import type { StoppedAnswer } from '../agents/model/model-step.ts';
import { turnFailure } from './turn-failure.ts';
import { partsAfter, type ChatWait, type MessagePart } from './message-parts.ts';

/** What `message.metadata` of an agent's message tells. */
export interface ChatMetadata {
  readonly waits: readonly ChatWait[];
}

export type ChatMessage = UIMessage<ChatMetadata>;
export type ChatChunk = UIMessageChunk<ChatMetadata>;

/** One visit of the agent, as far as it is recorded. */
export interface MessageView {
  readonly visit: number;
  readonly loops: readonly ShownLoop[];
  /** Names of the tools that the model was offered. */
  readonly offered: ReadonlySet<string>;
  /** Key of the model call in progress. */
  readonly openCall: string | undefined;
  readonly isSettled: boolean;
  /** The error with which it failed, if it did. */
  readonly failed?: { readonly error: unknown };
  readonly waits: readonly ChatWait[];
  /** Ids of calls that wait for the user's approval. */
  readonly approvals: ReadonlySet<string>;
}

/** The id of a call in its chat: the visit, the answer that made it, and its place in that. */
const callId = (visit: number, { loop }: ShownLoop, index: number): string => `${visit}:${loop}:${index + 1}`;

/** @param questions - the open questions of the run */
export function viewOf(visit: AgentVisit, questions: readonly OpenQuestion[]): MessageView {
  const { record } = visit;
  const number = record.visits ?? 1;
  const durable = foldDurableVisit(record);
  const { loops, offered } = durable ?? foldVisit(record) ?? { loops: [], offered: new Set<string>() };
  const calls = new Map<string, string>();
  for (const loop of loops)
    for (const [index, { waitId }] of loop.calls.entries())
      if (waitId !== undefined) calls.set(waitId, callId(number, loop, index));
  // One that failed may be tried again, as the same visit.
  const isSettled = record.fired !== undefined || !['started', 'waiting', 'failed'].includes(record.status);
  const approvals = questions.flatMap(({ waitId, isApproval, audience }) => {
    const call = calls.get(waitId);
    return call !== undefined && isApproval === true && audience === 'user' ? [call] : [];
  });
  return {
    visit: number,
    loops,
    offered,
    openCall: isSettled ? undefined : (durable?.openCall ?? openCallOf(record)),
    isSettled,
    ...(record.status === 'failed' && record.fired === undefined && { failed: { error: record.error } }),
    waits: questions.map((question) => waitOf(question, calls.get(question.waitId))),
    approvals: new Set(approvals),
  };
}

function waitOf({ waitId, audience, prompt, choices, schema }: OpenQuestion, toolCallId: string | undefined): ChatWait {
  const call = toolCallId === undefined ? {} : { toolCallId };
  if (audience !== 'user') return { audience: 'staff', ...call };
  return {
    audience,
    ...call,
    waitId,
    ...(prompt !== undefined && { prompt }),
    ...(choices !== undefined && { choices: toJson(choices) as readonly unknown[] }),
    ...(schema !== undefined && { schema: toJson(schema) }),
  };
}

/** How far a call was sent to the client: its arguments, that the user is asked, what was decided, how it ended. */
type CallProgress = 'input' | 'asked' | 'decided' | 'ended';

/** What was sent of one answer of the model. */
interface SentStep {
  reasoning: string;
  text: string;
  /** Parts whose end was not sent. */
  readonly open: Set<'reasoning' | 'text'>;
  /** Whether all of it is sent. */
  isWhole: boolean;
}

/** Makes the chunks that lead from what a client has to what is recorded, and on with the answer under way. */
export class MessageWriter {
  readonly #messageId: (visit: number) => string;
  readonly #steps: SentStep[] = [];
  readonly #calls = new Map<string, CallProgress>();
  #waits = '';
  #visit = 0;
  /** Pieces of an answer whose beginning is not recorded yet. */
  #early: (readonly [call: string, delta: ModelDelta])[] = [];
  #openCall: string | undefined;
  #isStarted = false;

  /** @param known - the message as the client has it; what it has is not sent again */
  constructor(messageId: (visit: number) => string, known?: UIMessage) {
    this.#messageId = messageId;
    for (const part of known?.parts ?? []) {
      if (part.type === 'step-start') this.#steps.push({ reasoning: '', text: '', open: new Set(), isWhole: true });
      if ('toolCallId' in part && typeof part.toolCallId === 'string')
        this.#calls.set(part.toolCallId, progressOf(part.state));
    }
  }

  *update(view: MessageView): Generator<ChatChunk> {
    yield* this.#start(view.visit);
    for (const [index, loop] of view.loops.entries()) {
      yield* this.#step(index, loop);
      for (const [place, call] of loop.calls.entries()) yield* this.#call(callId(view.visit, loop, place), call, view);
    }
    if (view.failed !== undefined) yield* this.#fail(view.loops.length, turnFailure(view.failed.error));
    this.#openCall = view.openCall;
    for (const [call, delta] of this.#early.splice(0)) if (call === view.openCall) yield* this.piece(call, delta);
    const waits = JSON.stringify(view.waits);
    if (waits !== this.#waits && !(this.#waits === '' && view.waits.length === 0))
      yield { type: 'message-metadata', messageMetadata: { waits: view.waits } };
    this.#waits = waits;
  }

  /** A piece of the answer under way. */
  *piece(call: string, delta: ModelDelta): Generator<ChatChunk> {
    if (delta.type === 'tool-arguments' || delta.text === '') return;
    if (call !== this.#openCall) {
      this.#early.push([call, delta]);
      return;
    }
    const last = this.#steps.at(-1);
    const index = last === undefined || last.isWhole ? this.#steps.length : this.#steps.length - 1;
    yield* this.#say(index, delta.type, delta.text);
  }

  /** The answer under way is made anew: what was sent of it is void. */
  *restart(): Generator<ChatChunk> {
    const last = this.#steps.at(-1);
    this.#early = [];
    if (last !== undefined && !last.isWhole) yield* this.#reset(last);
  }

  /** An answer that was stopped, behind those that are recorded. */
  *stopped({ reasoning, text }: StoppedAnswer): Generator<ChatChunk> {
    const index = this.#steps.length;
    yield* this.#say(index, 'reasoning', reasoning);
    yield* this.#say(index, 'text', text);
    yield* this.#close(index, this.#steps[index] as SentStep);
  }

  /** Says why there is no answer, behind all that was said. */
  *#fail(index: number, reason: string): Generator<ChatChunk> {
    const known = this.#steps[index];
    if (known?.isWhole === true) return;
    if (known !== undefined) yield* this.#reset(known);
    yield* this.#say(index, 'text', reason);
    const step = this.#steps[index] as SentStep;
    step.isWhole = true;
    yield* this.#close(index, step);
  }

  *finish(end: 'finish' | 'abort' | { readonly error: string }): Generator<ChatChunk> {
    if (!this.#isStarted) return;
    for (const [index, step] of this.#steps.entries()) yield* this.#close(index, step);
    if (end === 'abort') yield { type: 'abort' };
    else if (end === 'finish') yield { type: 'finish' };
    else yield { type: 'error', errorText: end.error };
  }

  *#start(visit: number): Generator<ChatChunk> {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#visit = visit;
    yield { type: 'start', messageId: this.#messageId(visit) };
  }

  *#step(index: number, { reasoning = '', text }: ShownLoop): Generator<ChatChunk> {
    const known = this.#steps[index];
    if (known?.isWhole === true) return;
    if (known !== undefined && !(reasoning.startsWith(known.reasoning) && text.startsWith(known.text)))
      yield* this.#reset(known);
    yield* this.#say(index, 'reasoning', reasoning.slice(known?.reasoning.length ?? 0));
    yield* this.#say(index, 'text', text.slice(known?.text.length ?? 0));
    const sentStep = this.#steps[index] as SentStep;
    sentStep.isWhole = true;
    yield* this.#close(index, sentStep);
    yield { type: 'finish-step' };
  }

  *#say(index: number, type: 'reasoning' | 'text', delta: string): Generator<ChatChunk> {
    let step = this.#steps[index];
    if (step === undefined) {
      this.#steps[index] = step = { reasoning: '', text: '', open: new Set(), isWhole: false };
      yield { type: 'start-step' };
    }
    if (delta === '') return;
    const id = this.#partId(index, type);
    if (!step.open.has(type)) yield { type: `${type}-start`, id };
    step.open.add(type);
    step[type] += delta;
    yield { type: `${type}-delta`, id, delta };
  }

  *#close(index: number, step: SentStep): Generator<ChatChunk> {
    for (const type of step.open) yield { type: `${type}-end`, id: this.#partId(index, type) };
    step.open.clear();
  }

  *#reset(step: SentStep): Generator<ChatChunk> {
    if (step.reasoning === '' && step.text === '') return;
    Object.assign(step, { reasoning: '', text: '' });
    step.open.clear();
    yield { type: 'reset-step' };
  }

  *#call(toolCallId: string, call: AgentCall, { approvals, offered }: MessageView): Generator<ChatChunk> {
    const { tool: toolName, input, status, decision, refusal } = call;
    // A tool that is known by its name has parts of its own type: `tool-NAME`.
    const dynamic = offered.has(toolName) ? {} : { dynamic: true };
    const rank = (progress: CallProgress | undefined): number =>
      ['input', 'asked', 'decided', 'ended'].indexOf(progress ?? '');
    const before = rank(this.#calls.get(toolCallId));
    let progress: CallProgress = 'input';
    if (before < 0) yield { type: 'tool-input-available', toolCallId, toolName, input: plain(input), ...dynamic };
    if (approvals.has(toolCallId) || decision !== undefined) {
      progress = 'asked';
      if (before < rank('asked')) yield { type: 'tool-approval-request', toolCallId, approvalId: toolCallId };
    }
    if (decision !== undefined) {
      progress = 'decided';
      const reason = refusal === undefined ? {} : { reason: refusal };
      if (before < rank('decided'))
        yield { type: 'tool-approval-response', approvalId: toolCallId, approved: decision === 'approved', ...reason };
    }
    // A call's result is known once it was sent to the model.
    if (decision === 'refused' || ((status === 'done' || status === 'failed') && 'output' in call)) {
      progress = 'ended';
      if (before < rank('ended')) yield endOf(toolCallId, call, dynamic);
    }
    if (rank(progress) > before) this.#calls.set(toolCallId, progress);
  }

  #partId(index: number, type: string): string {
    return `${this.#visit}:${index + 1}:${type}`;
  }
}

function endOf(
  toolCallId: string,
  { decision, status, output }: Pick<AgentCall, 'decision' | 'status' | 'output'>,
  dynamic: { readonly dynamic?: boolean },
): ChatChunk {
  if (decision === 'refused') return { type: 'tool-output-denied', toolCallId };
  if (status === 'done')
    return { type: 'tool-output-available', toolCallId, output: plain(output) ?? null, ...dynamic };
  const errorText = typeof output === 'string' ? output : (JSON.stringify(plain(output)) ?? 'failed');
  return { type: 'tool-output-error', toolCallId, errorText, ...dynamic };
}

/** As JSON, with what stands under names of secrets masked, as at every door. */
function plain(value: unknown): unknown {
  return toJson(shown(value));
}

function progressOf(state: unknown): CallProgress {
  if (state === 'approval-requested') return 'asked';
  if (state === 'approval-responded') return 'decided';
  // A result that the client made itself is not the recorded one.
  return state === 'output-denied' || state === 'output-error' ? 'ended' : 'input';
}

/**
 * A whole message, from the chunks that a client without any of it gets.
 * @param stopped - what was told of an answer when the run was stopped: its reader sees it as the one who stopped it did
 */
export function messageOf(messageId: string, view: MessageView, stopped?: StoppedAnswer): ChatMessage {
  let parts: readonly MessagePart[] = [];
  const writer = new MessageWriter(() => messageId);
  for (const chunk of writer.update(view)) parts = partsAfter(parts, chunk);
  if (stopped !== undefined) for (const chunk of writer.stopped(stopped)) parts = partsAfter(parts, chunk);
  const { waits } = view;
  return {
    id: messageId,
    role: 'assistant',
    parts: parts.map(donePart) as ChatMessage['parts'],
    ...(waits.length > 0 && { metadata: { waits } }),
  };
}

/** A part of which nothing more comes. */
function donePart(part: MessagePart): MessagePart {
  const { type, text = '' } = part;
  if (type === 'text') return { type, text, state: 'done' };
  return type === 'reasoning' ? { ...part, state: 'done' } : part;
}
