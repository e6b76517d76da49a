/** Chats over HTTP, as the AI SDK's `useChat` and its `DefaultChatTransport` speak: each chat is one run, and what is shown is folded from its record. */
import { createHash } from 'node:crypto';
import { messageChunks, readMessageView, readMessagesSince, type ChatRun } from '../ai-sdk/ui-stream.ts';
import type { ChatWait } from '../ai-sdk/message-parts.ts';
import type { ChatMessage, MessageView } from '../ai-sdk/ui-messages.ts';
import { mayPass, turnFailure } from '../ai-sdk/turn-failure.ts';
import type { WorkedGraph } from '../app/worker.ts';
import { CairnError } from '../errors.ts';
import { timer } from '../history/read/follow.ts';
import { readPendingSignals } from '../history/stored/messages.ts';
import { derivedRunId, isOfOrigin } from '../history/stored/run-ids.ts';
import { metaOf } from '../history/stored/stored-meta.ts';
import { refuseUnknownKeys } from '../operations/contract/known-keys.ts';
import type { WorkContext } from '../operations/contract/operation.ts';
import { refuseAnswer } from '../operations/runs/reserved-answers.ts';
import { doorOf } from '../operations/contract/door.ts';
import { readQuestions } from '../operations/waits/give-answers.ts';
import type { Caller } from './authorize.ts';
import { serverSentEvents, type Leaving } from './events.ts';
import { answerHeaders, HttpRefused, jsonResponse, problemOf } from './problem.ts';

export interface ChatOptions {
  /** Id of the agent's node: an `agent`, or a function that makes one of the AI SDK durable (`durable`). */
  readonly node: string;
  /** The graph whose runs are chats. Default: the only one of `graphs`. */
  readonly graph?: string;
  /** Name of the signal that brings what the user says later: `{ id, text }`. Default `message`. */
  readonly signal?: string;
  /** The input of a chat's run. Default: `{ prompt }`. */
  readonly input?: (text: string, caller: Caller) => unknown;
}

/** A request for a chat, with what is known of who sends it. */
export interface ChatRequest {
  readonly method: string;
  /** What stands behind `/chat`. */
  readonly path: readonly string[];
  readonly caller: Caller;
  readonly context: WorkContext;
  readonly readBody: () => Promise<Readonly<Record<string, unknown>>>;
  /** Takes one of the places for streams. @throws 429 */
  readonly openStream: () => Leaving;
}

const optionNames = Object.keys({ node: true, graph: true, signal: true, input: true } satisfies Record<
  keyof ChatOptions,
  true
>);

/** Types of nodes that ask no model themselves: their messages would be empty. */
const withoutConversation: ReadonlySet<string> = new Set(['human', 'judge', 'restarts', 'subgraph']);
/** What a message may have in bytes: events of a run carry values up to this size. */
const messageBytesMax = 15_000;
/** Runs of one chat: each but the last was stopped, or ended with a turn that failed. */
const runsMax = 1_000;
const endOfStream = 'data: [DONE]\n\n';

type Row = NonNullable<Awaited<ReturnType<WorkContext['store']['readRun']>>>;

/** A chat of a caller: its run, if it has begun. */
interface Chat {
  readonly runId: string;
  readonly row: Row | undefined;
  /** The run before, if that was stopped. */
  readonly stopped: string | undefined;
  /** The id of the run in which it goes on behind this one. */
  readonly next: string;
  /** Its runs so far, oldest first, this one among them. */
  readonly runs: readonly Row[];
}

/** What a post brings. */
interface Posted {
  readonly text: string | undefined;
  readonly messageId: string | undefined;
  /** The agent's message as the client has it, if the post goes on with that. */
  readonly known: ChatMessage | undefined;
  readonly answers: Readonly<Record<string, unknown>>;
  readonly isRetry: boolean;
}

/** The node of a name, which is that in the code or the one on record. */
const nodeIn = ({ nodes }: WorkedGraph['graph'], name: string): WorkedGraph['graph']['nodes'][number] | undefined =>
  nodes.find(({ inCode }) => inCode?.node === name) ?? nodes.find(({ id }) => id === name);

const invalid = (reason: string): CairnError => new CairnError('USAGE_INVALID', { reason });

export class ChatRoutes {
  readonly #options: ChatOptions;
  readonly #graph: string;
  /** The node under the name that runs have on record, which is another one where it was renamed; undefined until the graph was read. */
  #node: string | undefined;
  /** Name of the signal that brings what the user says. */
  readonly #signal: string;

  /** @throws CONFIG_INVALID an option is unknown, no node is named, the graph is not known, or the node has no conversation */
  constructor(options: ChatOptions, graphs: readonly WorkedGraph['graph'][]) {
    refuseUnknownKeys('createHandler chat', options, optionNames);
    const { node, graph = graphs.length === 1 ? graphs[0]?.id : undefined, signal = 'message' } = options;
    const refuse = (path: string, reason: string): CairnError => new CairnError('CONFIG_INVALID', { path, reason });
    if (typeof node !== 'string' || node === '') throw refuse('chat.node', 'it names the agent’s node');
    if (graph === undefined) throw refuse('chat.graph', 'it names the graph whose runs are chats');
    // A graph of an app's workflows is read when it is asked for.
    const known = graphs.find(({ id }) => id === graph);
    const found = known === undefined ? undefined : nodeIn(known, node);
    if (known !== undefined && found === undefined) throw refuse('chat.node', `the graph ${graph} has no node ${node}`);
    if (found !== undefined && withoutConversation.has(found.type))
      throw refuse(
        'chat.node',
        `${node} is a node of type ${found.type}, which has no conversation: name an agent, or a function that makes one durable`,
      );
    this.#options = options;
    this.#node = found?.id;
    this.#graph = graph;
    this.#signal = signal;
  }

  get #recorded(): string {
    return this.#node ?? this.#options.node;
  }

  /** Messages can be read without the graph. */
  async #readNode({ context }: ChatRequest): Promise<string | undefined> {
    const loaded = await context.loadGraph(this.#graph).catch(() => undefined);
    return loaded === undefined ? undefined : nodeIn(loaded.graph, this.#options.node)?.id;
  }

  /** The agent that chats are with. */
  get about(): { readonly graph: string; readonly node: string } {
    return { graph: this.#graph, node: this.#recorded };
  }

  /**
   * `POST` and `POST /{id}`: says something, or answers. `GET /{id}`: the messages. `GET /{id}/stream`: the message under way; 204 if none
   * is. `POST /{id}/stop`: ends it.
   */
  async answer(request: ChatRequest): Promise<Response> {
    const { method, path } = request;
    const [id, action] = path;
    if (path.length > 2 || (action !== undefined && action !== 'stream' && action !== 'stop'))
      throw new HttpRefused(404, 'there is nothing here');
    const allow = action === 'stream' ? 'GET' : action === 'stop' || id === undefined ? 'POST' : 'GET, POST';
    if (!allow.split(', ').includes(method)) throw new HttpRefused(405, `${method} is not served here`, { allow });
    if (!request.caller.scopes.includes('chat')) throw new HttpRefused(403, 'the scope chat is needed');
    this.#node ??= await this.#readNode(request);
    if (action === 'stop') return this.#stop(request, id ?? '');
    if (method === 'GET')
      return action === 'stream' ? this.#stream(request, id ?? '') : this.#messages(request, id ?? '');
    const body = await request.readBody();
    return this.#post(request, readChatId(id, body['id']), readPosted(body));
  }

  /** The run of a chat is named by who calls and the id together, so that nobody can name the run of somebody else. */
  async #find({ context: { store, tenant }, caller }: ChatRequest, id: string): Promise<Chat> {
    const name = createHash('sha256')
      .update(JSON.stringify([this.#graph, caller.principal, id]))
      .digest('base64url')
      .slice(0, 32);
    let stopped: string | undefined;
    for (let nth = 1; nth <= runsMax; nth += 1) {
      const runId = earlierRunId(name, nth);
      const row = await store.readRun({ tenant, runId });
      if (row === undefined || !this.#isEarlierChat(row, caller)) break;
      if (row.status !== 'cancelled') return { runId, row, stopped, next: derivedRunId('chat', name), runs: [row] };
      stopped = runId;
    }
    const runs: Row[] = [];
    for (let nth = 1; nth <= runsMax; nth += 1) {
      const runId = derivedRunId('chat', name, ...(nth === 1 ? [] : [String(nth)]));
      const row = await store.readRun({ tenant, runId });
      // Not begun by a chat: an export that is not trusted brought it, and its texts are nobody's here.
      if (row !== undefined && !isOfOrigin(row, 'chat'))
        throw new CairnError('RUN_EXISTS', { runId, difference: 'origin' });
      if (row !== undefined) runs.push(row);
      // A conversation that was removed is gone; the next one takes the next id.
      else if ((await store.removals?.read({ tenant, runId })) === undefined) {
        const last = runs.at(-1);
        const isOver = last?.status === 'cancelled';
        const current = isOver || last === undefined ? { runId, row } : { runId: last.runId, row: last };
        return { ...current, stopped: isOver ? last.runId : stopped, next: runId, runs };
      }
    }
    throw invalid('the chat was stopped or has failed too often');
  }

  #isEarlierChat(row: Row, { principal }: Caller): boolean {
    const { labels, isImported } = metaOf(row);
    return row.graphId === this.#graph && labels?.['user'] === principal && isImported !== true;
  }

  #runOf({ context: { engine } }: ChatRequest, runId: string): ChatRun {
    return { runId, history: engine.history };
  }

  async #messages(request: ChatRequest, id: string): Promise<Response> {
    const { runId, row, stopped, runs } = await this.#find(request, id);
    const visibleRunId = row === undefined ? stopped : runId;
    if (visibleRunId === undefined) return jsonResponse({ messages: [], isUnderWay: false });
    const node = this.#recorded;
    const run = this.#runOf(request, visibleRunId);
    // Before the record, so that what the run takes meanwhile is in one of them.
    const pending = await this.#pending(request, visibleRunId);
    const messages = await this.#messagesOf(request, visibleRunId, runs);
    // Behind a message that is not whole, the client could not go on with it.
    if (pending.length > 0 && (await readMessageView(run, node))?.isSettled === true)
      messages.push(...pending.filter(({ id }) => !messages.some((known) => known.id === id)));
    return jsonResponse({ messages, isUnderWay: row !== undefined && isUnderWay(row) });
  }

  /** The messages of a run, behind those of the runs that ended with a turn that failed, in whose place it goes on. */
  async #messagesOf(request: ChatRequest, runId: string, runs: readonly Row[]): Promise<ChatMessage[]> {
    const node = this.#recorded;
    const visible = runs.filter((row) => row.runId === runId || row.status !== 'cancelled');
    const byId = new Map(runs.map((row) => [row.runId, row]));
    const messages: ChatMessage[] = [];
    const told = new Set<string>();
    for (const row of visible) {
      const since = seqBehind(row, told, byId);
      messages.push(
        ...(await readMessagesSince(this.#runOf(request, row.runId), node, { signal: this.#signal }, since)),
      );
      told.add(row.runId);
      if (row.runId !== runId && row.status !== 'failed') messages.push(endedMessage(row.runId));
    }
    // A run of an earlier version is named otherwise.
    return visible.length > 0
      ? messages
      : [...(await readMessagesSince(this.#runOf(request, runId), node, { signal: this.#signal }))];
  }

  /** What the user said and the run has not taken yet. */
  async #pending({ context: { store, tenant } }: ChatRequest, runId: string): Promise<readonly ChatMessage[]> {
    const values = await readPendingSignals(store, { tenant, runId }, this.#signal);
    return (values as readonly Partial<Record<'id' | 'text', unknown>>[]).flatMap(({ id, text }) =>
      typeof id === 'string' && typeof text === 'string' ? [{ id, role: 'user', parts: [{ type: 'text', text }] }] : [],
    );
  }

  async #stream(request: ChatRequest, id: string): Promise<Response> {
    const { runId, row } = await this.#find(request, id);
    if (row === undefined || !isUnderWay(row)) return new Response(null, { status: 204, headers: answerHeaders });
    const view = await readMessageView(this.#runOf(request, runId), this.#recorded);
    // Behind a message that is whole, the next one may be on its way.
    return this.#respond(request, runId, { visit: nextVisit(view) });
  }

  async #stop(request: ChatRequest, id: string): Promise<Response> {
    const { runId, row } = await this.#find(request, id);
    if (row === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: id });
    if (isUnderWay(row))
      await request.context.engine.cancel(runId, {
        ...doorOf(request.context),
        by: request.caller.principal,
        reason: 'stopped in the chat',
      });
    return jsonResponse({ isStopped: isUnderWay(row) });
  }

  async #post(request: ChatRequest, id: string, posted: Posted): Promise<Response> {
    const chat = await this.#find(request, id);
    if (chat.row === undefined) return this.#begin(request, chat, posted);
    const { runId, row } = chat;
    const { context, caller } = request;
    const { engine } = context;
    const view = await readMessageView(this.#runOf(request, runId), this.#recorded);
    const answers = answersTo(view, posted);
    const since = row.head;
    const isNew = posted.text !== undefined && !posted.isRetry;
    // A turn that has failed for good is over, and so is a conversation that cannot go on under the graph as it is now.
    if (isNew && row.status === 'failed' && !mayPass(view?.failed?.error))
      return this.#begin(request, { ...chat, runId: chat.next, stopped: runId }, posted);
    if (isNew && !(await this.#canGoOn(request, row)))
      return this.#begin(request, { ...chat, runId: chat.next, stopped: undefined }, posted);
    if (row.status === 'failed' && (posted.isRetry || posted.text !== undefined)) {
      await this.#say(request, runId, posted);
      await engine.resume(runId, { ...doorOf(context), detach: context.isDetached === true, by: caller.principal });
      await untilMoved(context, runId, since);
      return this.#respond(request, runId, { since });
    }
    if (posted.isRetry) throw invalid('only an answer that failed is made again');
    if (answers.length > 0) {
      if (caller.kind === 'program') await refuseOfPrograms(context, runId, answers);
      await engine.answerAll(runId, answers, {
        ...context.acting,
        by: caller.principal,
        readsTexts: true,
        stays: true,
      });
      context.posted?.(runId);
      // A text that is an answer stands behind the agent's message, which the client then gets whole.
      return this.#respond(request, runId, { since, after: posted.known });
    }
    if (posted.text === undefined) {
      if (posted.known === undefined) throw invalid('there is nothing to say or to answer');
      return this.#respond(request, runId, { after: posted.known });
    }
    await this.#say(request, runId, posted);
    context.posted?.(runId);
    return this.#respond(request, runId, { since, visit: nextVisit(view) });
  }

  /** Whether the chat's run can go on under the graph as it is now. */
  async #canGoOn({ context }: ChatRequest, { runId, head, status, graphHash }: Row): Promise<boolean> {
    if (status !== 'paused') return true;
    const { graph } = await context.loadGraph(this.#graph);
    if (graph.hash === graphHash) return true;
    try {
      await context.engine.preview({ runId, seq: head }, { graph });
      return true;
    } catch (error) {
      if (CairnError.is(error, 'RUN_GRAPH_CHANGED')) return false;
      throw error;
    }
  }

  async #say({ context, caller }: ChatRequest, runId: string, { text, messageId }: Posted): Promise<void> {
    if (text === undefined) return;
    const id = messageId ?? createHash('sha256').update(text).digest('hex').slice(0, 16);
    const how = { id: `chat:${id}`, stays: true, ...doorOf(context), by: caller.principal };
    await context.engine.signal(runId, this.#signal, { id, text }, how);
  }

  async #begin(request: ChatRequest, { runId, stopped }: Chat, posted: Posted): Promise<Response> {
    const { context, caller } = request;
    const { engine } = context;
    const { text } = posted;
    if (text === undefined) throw invalid('a chat begins with a text');
    const from = stopped === undefined ? undefined : await lastRest(engine.history, stopped);
    if (from !== undefined) {
      await engine.fork(from, { runId, origin: 'chat', ...doorOf(context), by: caller.principal });
      await this.#say(request, runId, posted);
      context.posted?.(runId);
      const view = await readMessageView(this.#runOf(request, runId), this.#recorded);
      return this.#respond(request, runId, { since: from.seq + 1, visit: (view?.visit ?? 0) + 1 });
    }
    const { graph } = await context.loadGraph(this.#graph);
    const input = this.#options.input?.(text, caller) ?? { prompt: text };
    const labels = { user: caller.principal };
    try {
      const detach = context.isDetached === true;
      const handle = await engine.start(graph, input, {
        runId,
        origin: 'chat',
        meta: { labels },
        detach,
        ...doorOf(context),
        by: caller.principal,
      });
      // How it ends is in its history.
      handle.result().catch(() => undefined);
    } catch (error) {
      // Another post began the chat a moment ago; this one says something in it.
      if (!CairnError.is(error, 'RUN_EXISTS') || error.data['difference'] === 'origin') throw error;
      await this.#say(request, runId, posted);
      context.posted?.(runId);
    }
    return this.#respond(request, runId, { visit: 1 });
  }

  #respond(
    request: ChatRequest,
    runId: string,
    options: { readonly since?: number; readonly visit?: number; readonly after?: ChatMessage | undefined },
  ): Response {
    const leaving = request.openStream();
    const chunks = messageChunks(this.#runOf(request, runId), this.#recorded, {
      ...options,
      signal: leaving.signal,
    });
    const frames = async function* (): AsyncGenerator<string> {
      for await (const chunk of chunks) yield `data: ${JSON.stringify(chunk)}\n\n`;
      yield endOfStream;
    };
    const failed = (error: unknown): string =>
      `data: ${JSON.stringify({ type: 'error', errorText: problemOf(error).title })}\n\n${endOfStream}`;
    return serverSentEvents(frames(), leaving, {
      failed,
      headers: { 'x-vercel-ai-ui-message-stream': 'v1', 'x-workflow-run-id': runId },
    });
  }
}

/** The id that a chat's run had before ids of the system were reserved. */
const earlierRunId = (name: string, nth: number): string => `chat-${name}${nth === 1 ? '' : `-${nth}`}`;

const isUnderWay = ({ status, hasMessages }: Row): boolean =>
  status === 'running' || status === 'cancelling' || (status === 'paused' && hasMessages);

const nextVisit = (view: MessageView | undefined): number =>
  view === undefined ? 1 : view.visit + (view.isSettled ? 1 : 0);

/** The checkpoint at which a run goes on from one whose messages are told already; -1 if it begins anew. */
function seqBehind(row: Row, told: ReadonlySet<string>, byId: ReadonlyMap<string, Row>): number {
  for (let at: Row | undefined = row; at?.parent !== undefined; at = byId.get(at.parent.runId))
    if (told.has(at.parent.runId)) return at.parent.seq;
  return -1;
}

/** Stands behind the messages of a run that could not go on. */
const endedMessage = (runId: string): ChatMessage => ({
  id: `${runId}:ended`,
  role: 'assistant',
  parts: [{ type: 'text', text: turnFailure({ code: 'RUN_GRAPH_CHANGED' }), state: 'done' }],
});

/** Waits for the first checkpoint behind a seq: before it, a run that goes on is still recorded as failed. */
async function untilMoved({ store, tenant }: WorkContext, runId: string, seq: number): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const row = await store.readRun({ tenant, runId });
    if (row === undefined || row.head > seq) return;
    await timer(20, undefined);
  }
}

/** The newest checkpoint at which a run rested: what was stopped behind it is no part of the chat. */
async function lastRest(
  history: WorkContext['engine']['history'],
  runId: string,
): Promise<{ readonly runId: string; readonly seq: number } | undefined> {
  for await (const { seq, change } of history.log(runId, { ancestors: true }))
    if (change.some(({ kind }) => kind === 'pause')) return { runId, seq };
  return undefined;
}

function readChatId(inPath: string | undefined, inBody: unknown): string {
  const id = inPath ?? inBody;
  if (typeof id !== 'string' || id === '' || id.length > 200) throw invalid('a chat has an id of 1 to 200 characters');
  return id;
}

/** @throws USAGE_INVALID */
function readPosted({ messages, trigger, answers = {} }: Readonly<Record<string, unknown>>): Posted {
  if (!Array.isArray(messages)) throw invalid('messages is the list of the chat’s messages');
  if (typeof answers !== 'object' || answers === null || Array.isArray(answers))
    throw invalid('answers has values by the ids of questions');
  const last = messages.at(-1) as Partial<ChatMessage> | undefined;
  const parts: unknown = last?.parts ?? [];
  if (!Array.isArray(parts) || parts.some((part) => typeof part !== 'object' || part === null))
    throw invalid('a message has parts');
  const isUser = last?.role === 'user';
  const texts = parts as readonly { readonly type?: unknown; readonly text?: unknown }[];
  if (isUser && texts.some(({ type, text }) => type !== 'text' || typeof text !== 'string'))
    throw invalid('a chat takes texts; put files into your own store, and name them');
  const text = isUser ? texts.map((part) => part.text as string).join('\n') : undefined;
  if (text !== undefined && (text.trim() === '' || Buffer.byteLength(text) > messageBytesMax))
    throw invalid(`a message has text, ${messageBytesMax} bytes at most`);
  return {
    text: trigger === 'regenerate-message' ? undefined : text,
    messageId: typeof last?.id === 'string' ? last.id.slice(0, 100) : undefined,
    known: last?.role === 'assistant' ? (last as ChatMessage) : undefined,
    answers: answers as Readonly<Record<string, unknown>>,
    isRetry: trigger === 'regenerate-message',
  };
}

/**
 * The answers in a post, by the ids of their questions. Only questions for the user are answered here: who runs the workflow is asked
 * elsewhere, or a customer would approve a refund to himself. @throws 403
 */
function answersTo(view: MessageView | undefined, posted: Posted): readonly (readonly [string, unknown])[] {
  const { waits = [], approvals = new Set<string>() } = view ?? {};
  const found = new Map<string, unknown>();
  const answer = (wait: ChatWait | undefined, value: unknown): void => {
    if (wait === undefined) return;
    if (wait.waitId === undefined)
      throw new HttpRefused(403, 'this question is not for the user of the chat', {}, 'ANSWER_RESERVED');
    found.set(wait.waitId, value);
  };
  for (const part of (posted.known?.parts ?? []) as readonly Record<string, unknown>[]) {
    const wait = waits.find(({ toolCallId }) => toolCallId !== undefined && toolCallId === part['toolCallId']);
    if (part['state'] === 'approval-responded') answer(wait, approvalOf(part['approval']));
    else if (part['state'] === 'output-available' && !approvals.has(String(part['toolCallId'])))
      answer(wait, part['output']);
  }
  for (const [waitId, value] of Object.entries(posted.answers)) {
    const wait = waits.find((open) => open.waitId === waitId);
    if (wait === undefined)
      throw new HttpRefused(403, 'there is no such question for the user of the chat', {}, 'ANSWER_RESERVED');
    answer(wait, value);
  }
  const [only, ...others] = waits.filter(
    ({ waitId, toolCallId = '' }) => waitId !== undefined && !approvals.has(toolCallId),
  );
  if (found.size === 0 && posted.text !== undefined && only !== undefined && others.length === 0)
    answer(only, posted.text);
  return [...found];
}

/** A program that speaks in a chat says what a user would, and approves nothing. @throws ANSWER_RESERVED */
async function refuseOfPrograms(
  context: WorkContext,
  runId: string,
  answers: readonly (readonly [string, unknown])[],
): Promise<void> {
  const { waits } = await readQuestions(context, runId);
  const reserved = { questions: 'approvals', command: (...words: string[]) => `cairn ${words.join(' ')}` } as const;
  for (const [waitId] of answers)
    refuseAnswer({ reserved }, { runId, waitId, wait: waits.find((wait) => wait.waitId === waitId) });
}

function approvalOf(approval: unknown): unknown {
  const { approved, reason } = (approval ?? {}) as { readonly approved?: unknown; readonly reason?: unknown };
  if (approved === true) return 'approve';
  return { decision: 'refuse', ...(typeof reason === 'string' && { reason }) };
}
