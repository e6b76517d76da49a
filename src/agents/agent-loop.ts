/** The agent loop: ask the model, run the tools it calls, and repeat until it answers. The conversation is rebuilt from recorded steps. */
import type { ModelMessage, ModelResponse, ToolCallPart } from '../graph/contracts/model-messages.ts';
import type { TraceSpan } from '../graph/contracts/trace-span.ts';
import { NodeFailure, type NodeContext } from '../graph/contracts/node-contract.ts';
import { CairnError } from '../errors.ts';
import { cutOffFailure } from '../graph/contracts/cut-off.ts';
import type { Amounts } from '../graph/amounts.ts';
import { boundsOf, ModelSteps, type ModelSettings, type ModelStepOptions } from './model/model-step.ts';
import { readFinal, type FinalForm } from './answers/final-answer.ts';
import { Conversation, type ConversationMark, type HistoryLimit, summarize } from './history/conversation.ts';
import { createMode } from './modes/modes.ts';
import { readTurn } from './modes/read-turn.ts';
import type { FinalAnswer, Mode, ModeName } from './modes/text-modes.ts';
import type { Observation } from './tools/observation.ts';
import { ServerTools } from './mcp/mcp-tool-box.ts';
import type { McpTools } from './mcp/mcp-tools.ts';
import { ToolCalls, type CheckedCall } from './tools/tool-calls.ts';
import { isComposed, type NamedTool, type ToolBox, type ToolOffer } from './tools/tool-box.ts';
import {
  separator,
  type AgentParts,
  type ChangeNote,
  type ResultNote,
  type SavedConversation,
  type OpeningNote,
  type TurnNote,
} from './turn-note.ts';
import { partsOf, RecordedAgent } from './history/agent-change.ts';
import { agentChanged, type AgentChange } from '../graph/contracts/agent-change.ts';

// The opening messages of a conversation. What the mode says about tools and answer format is added to the system message.

export interface OpenedConversation {
  /** The system messages at the beginning. */
  readonly head: readonly ModelMessage[];
  readonly rest: readonly ModelMessage[];
  /** Index in the first message's text at which the mode's part begins; 0 if that is all of it, or if there is none. */
  readonly guideFrom: number;
}

function openWith(messages: readonly ModelMessage[], guide: string | undefined): OpenedConversation {
  const first = messages.findIndex(({ role }) => role !== 'system');
  const end = first < 0 ? messages.length : first;
  const [system, ...others] = messages.slice(0, end);
  const rest = messages.slice(end);
  if (guide === undefined) return { head: messages.slice(0, end), rest, guideFrom: 0 };
  if (system?.role !== 'system') return { head: [{ role: 'system', content: guide }], rest, guideFrom: 0 };
  const guideFrom = system.content.length + separator.length;
  return { head: [{ ...system, content: `${system.content}${separator}${guide}` }, ...others], rest, guideFrom };
}

export interface LoopOptions {
  /** All of a request except messages, tools and answer format. */
  readonly settings: ModelSettings;
  readonly box: ToolBox;
  /** MCP servers whose tools are offered as well. */
  readonly servers: readonly McpTools[];
  readonly allow: readonly string[] | true;
  readonly form: FinalForm | undefined;
  /** How model and tools communicate. Default `native`. */
  readonly mode?: ModeName;
  readonly loopsMax: number;
  readonly history: HistoryLimit;
  readonly steps: ModelStepOptions;
  /** What identifies the instructions where a function gives them. Default: their text. */
  readonly source?: string | undefined;
  /** For whom the agent works; recorded for those who look at the agent. */
  readonly context?: unknown;
  /** Parent span of the model and tool calls in telemetry. Default: the attempt's span. */
  readonly span?: TraceSpan | undefined;
}

/** After this many unusable calls or answers in a row, the model is considered lost and the agent fails. */
const faultyCallsMax = 8;
/** How often an answer that does not fit the schema is requested again. */
const repairsMax = 2;

/**
 * Runs a conversation to its end.
 * @returns the final answer: a text, or a value that fits the schema
 * @throws AGENT_DIVERGED; NodeFailure AGENT_LOOPS_EXCEEDED, AGENT_LOST, OUTPUT_INVALID; the errors of models and tools
 */
export async function converse(
  ctx: NodeContext,
  messages: readonly ModelMessage[],
  options: LoopOptions,
): Promise<unknown> {
  const { box, servers } = options;
  // Must be read before the first call: it says where a repeated function goes on from.
  const saved = ctx.retired as SavedConversation | undefined;
  const offer = servers.length === 0 ? box : await ServerTools.open(ctx, box, servers, saved?.served);
  const loop = new AgentLoop(ctx, messages, { ...options, offer }, saved);
  while (loop.countedLoops < options.loopsMax) {
    const answer = await loop.turn();
    if (answer !== undefined) return answer.value;
  }
  throw new NodeFailure(`the agent did not come to an end within ${options.loopsMax} loops`, {
    code: 'AGENT_LOOPS_EXCEEDED',
    data: { loops: options.loopsMax },
  });
}

/** Answers that were cut off one after the other, and how the conversation stood before the first of them. */
interface CutAnswers {
  readonly before: ConversationMark;
  readonly repairs: number;
  readonly count: number;
}

class AgentLoop {
  readonly #ctx: NodeContext;
  /** The opening messages as the agent gives them now. */
  readonly #messages: readonly ModelMessage[];
  readonly #options: LoopOptions & { readonly offer: ToolOffer };
  /** How the conversation stands on record, if anything of it is. */
  #recorded: RecordedAgent | undefined;
  /** The opening with which the last call was made, so that it is on record. */
  #told: OpeningNote | undefined;
  #mode!: Mode;
  #settings!: ModelSettings;
  #opening!: OpeningNote & { readonly parts: AgentParts };
  readonly #conversation: Conversation;
  readonly #tools: ToolCalls;
  #models: ModelSteps;
  /** Calls for a summary since the last one that was used: a model may have said nothing. */
  #summaries: ModelSteps | undefined;
  /** Whether summaries on record that nobody asked for were passed over. */
  #hasPassedSummaries = false;
  /** Everything that was sent to the model since its last answer; recorded with the next model call. */
  #note: TurnNote;
  #faulty: number;
  #repairs: number;
  #cut: CutAnswers | undefined;
  /** Number of answers that were requested anew. */
  #anew: number;
  number: number;

  constructor(
    ctx: NodeContext,
    messages: readonly ModelMessage[],
    options: LoopOptions & { readonly offer: ToolOffer },
    saved: SavedConversation | undefined,
  ) {
    this.#ctx = ctx;
    this.#messages = messages;
    this.#options = options;
    this.#models = new ModelSteps(ctx, options.steps, options.span);
    this.#recorded = recordedAgent(saved, this.#models.notes);
    const { head, rest } = this.#open();
    this.#conversation = new Conversation(head, saved?.messages ?? rest, options.history, saved?.replies);
    this.#tools = new ToolCalls(ctx, {
      box: options.offer,
      allow: options.allow,
      counted: options.steps.counted,
      span: options.span,
      saved: saved?.tools,
      changed: this.#recorded?.changedTools(this.#opening.parts),
    });
    this.#note = saved === undefined ? { opening: this.#opening } : {};
    this.#faulty = saved?.faulty ?? 0;
    this.#repairs = saved?.repairs ?? 0;
    this.number = saved?.loop ?? 1;
    this.#anew = saved?.anew ?? 0;
  }

  /** Number of answers so far that count as loops. */
  get countedLoops(): number {
    return this.number - 1 - this.#anew;
  }

  /** The beginning of the conversation, with the tools that are offered now. */
  #open(): OpenedConversation {
    const { offer, form, mode: ownMode = 'native', context, settings, source, box, steps } = this.#options;
    const composed = composedSources(box);
    const { offered } = offer;
    const parts = partsOf({ messages: this.#messages, source, settings, form, mode: ownMode, offered, composed });
    const isRefusing = steps.onChange === 'refuse';
    const mode = (isRefusing ? undefined : this.#recorded?.mode) ?? ownMode;
    this.#mode = createMode(mode, { tools: offered, answer: form?.json });
    this.#settings = { ...settings, ...this.#mode.request };
    // What refuses changes goes on from its own words, so that others are found to differ.
    const messages = isRefusing ? undefined : this.#recorded?.messagesFor(parts, this.#messages);
    const opened = openWith(messages ?? this.#messages, this.#mode.guide);
    const { head, rest, guideFrom } = opened;
    const about = { mode, ...(guideFrom > 0 && { guideFrom }), ...(context !== undefined && { context }) };
    this.#opening = { ...about, messages: [...head, ...rest], parts };
    return opened;
  }

  /**
   * Before new calls, checks that the tools are still those that were agreed to. If a person accepts changes, the new tools are offered
   * from here on.
   */
  async #checkOffer(): Promise<void> {
    const { offer } = this.#options;
    const { offered } = offer;
    await offer.check?.(this.number - 1, this.#models.isCaughtUp);
    if (offer.offered === offered) return;
    this.#conversation.head = this.#open().head;
    if (this.#note.opening !== undefined) this.#note = { opening: this.#opening };
  }

  /** Makes one model call, and the tool calls that it requests. @returns the final answer, if this was it */
  async turn(): Promise<{ readonly value: unknown } | undefined> {
    await this.#checkOffer();
    const response = await this.#ask();
    const before = this.#conversation.mark();
    const next = this.#models.noteOfNext() as TurnNote | undefined;
    const {
      message,
      calls,
      last,
      correction,
      isCut,
      fault = 'it is empty',
    } = readTurn(this.#mode, response, this.number, next);
    this.#conversation.add(message);
    this.number += 1;
    if (isCut) {
      const { before: first = before, repairs = this.#repairs, count = 0 } = this.#cut ?? {};
      this.#cut = { before: first, repairs, count: count + 1 };
      this.#tellCut(response, correction as string, next);
      return undefined;
    }
    this.#cut = undefined;
    if (calls.length > 0) {
      await this.#checkOffer();
      await this.#callTools(calls, next);
    } else if (last === undefined) this.#tellFault(fault, next?.text ?? correction);
    else if (next?.text === undefined) return this.#take(last);
    else this.#repair(next.text);
    return undefined;
  }

  async #ask(): Promise<ModelResponse> {
    const conversation = this.#conversation;
    const { history, steps } = this.#options;
    const name = `${steps.name ?? 'model'}-summary`;
    if (history.summary !== undefined && history.summary !== false && conversation.isLong) {
      this.#summaries ??= new ModelSteps(this.#ctx, { ...steps, name }, this.#options.span);
      // What is on record was said to a conversation of another length, where the limits are others now.
      const isDue = this.#models.isCaughtUp || !this.#summaries.isCaughtUp;
      if (isDue && (await summarize(this.#summaries, this.#settings, conversation, history))) await this.#retire();
    }
    const { messages, omitted } = conversation.take();
    if (omitted > 0) this.#ctx.emit({ type: 'history-truncated', loop: this.number, left: omitted });
    const changed = this.#tellChange();
    const note = { ...this.#note, ...(omitted > 0 && { left: omitted }), ...(changed !== undefined && { changed }) };
    // What was to be said in short is not, under other limits. Once all on record was called again, there is none any more.
    if (this.#summaries === undefined && this.#models.isCaughtUp && !this.#hasPassedSummaries) {
      this.#ctx.past.passOver((one) => one.startsWith(`${name} `));
      this.#hasPassedSummaries = true;
    }
    const atMost = (): Amounts => boundsOf(this.#ctx.models, this.#settings, conversation.tokens(), steps);
    const response = await this.#models.call(this.#settings, messages, { note, atMost });
    conversation.report(response.usage.inputTokens);
    return response;
  }

  /**
   * Tells with which call the agent was another for the first time: on record, so a repeated function tells it at the same call.
   * @returns what to note with the next call, if that is new
   */
  #tellChange(): ChangeNote | undefined {
    const { isCaughtUp } = this.#models;
    const changed = isCaughtUp ? this.#takeChange() : (this.#models.noteOfUpcoming() as TurnNote | undefined)?.changed;
    if (changed === undefined) return undefined;
    const event: AgentChange = { type: agentChanged, call: this.number, changes: changed.changes };
    this.#ctx.emit(event, { recorded: true, name: agentChanged });
    return isCaughtUp ? changed : undefined;
  }

  /** What has changed since the last answer on record, which is taken from here on. */
  #takeChange(): ChangeNote | undefined {
    const opening = this.#opening;
    if (opening === this.#told) return undefined;
    this.#told = opening;
    if (this.#note.opening === undefined && this.#recorded !== undefined)
      return this.#recorded.change(opening, this.#messages);
    this.#recorded = new RecordedAgent(opening, []);
    return undefined;
  }

  /** Retires everything before a summary from the live state. A repeated function begins here. */
  async #retire(): Promise<void> {
    const { messages, ...opening } = this.#opening;
    const servers = this.#options.offer.keep?.();
    const saved: SavedConversation = {
      opening: { ...opening, messages: messages.filter(({ role }) => role === 'system') },
      ...this.#conversation.snapshot(),
      loop: this.number,
      ...(this.#anew > 0 && { anew: this.#anew }),
      faulty: this.#faulty,
      repairs: this.#repairs,
      tools: this.#tools.keep(),
      ...(servers !== undefined && { served: servers }),
    };
    await this.#ctx.retire(saved);
    this.#ctx.emit({ type: 'history-truncated', loop: this.number, isSummarized: true });
    this.#models = new ModelSteps(this.#ctx, this.#options.steps, this.#options.span);
    this.#summaries = undefined;
    this.#note = {};
    this.#cut = undefined;
  }

  /** @param next - what was sent to the model about these calls, if that is on record */
  async #callTools(calls: readonly ToolCallPart[], next: TurnNote | undefined): Promise<void> {
    const { results, isAllFaulty } = await callSideBySide(this.#tools, calls, next);
    this.#faulty = isAllFaulty ? this.#faulty + calls.length : 0;
    if (this.#faulty > faultyCallsMax)
      throw lost(
        this.#faulty,
        results.map(({ output }) => output),
      );
    this.#conversation.add(this.#mode.toMessage(calls, results), true);
    this.#note = {
      results: results.map(({ output, parts, from, node, isRecorded, whole, isError, isKept, isCached }, index) => ({
        call: (calls[index] as ToolCallPart).id,
        ...(from !== undefined && { from }),
        ...(node !== undefined && { node }),
        ...(isRecorded !== true && { output }),
        ...(whole !== undefined && { whole }),
        ...(isError && { isError }),
        ...(parts !== undefined && { isShown: true }),
        ...(isKept && { isKept }),
        ...(isCached && { isCached }),
      })),
    };
  }

  #tellFault(
    fault: string,
    correction = `Your answer cannot be used: ${fault}.\nCall a tool, or give your last answer in the form asked for.`,
  ): void {
    this.#faulty += 1;
    if (this.#faulty > faultyCallsMax) throw lost(this.#faulty, [correction]);
    this.#say(correction);
  }

  /**
   * An answer that was cut off is requested again, as one that does not fit is. Where that would end the agent, and the bound of its tokens
   * was raised since, the conversation goes back to before the answers that were cut off, and the call is made anew.
   *
   * @param next - what was sent to the model after this answer, if that is on record
   */
  #tellCut(response: ModelResponse, correction: string, next: TurnNote | undefined): void {
    if (this.#repairs < repairsMax) {
      this.#repairs += 1;
      return this.#say(correction);
    }
    const isAnew = next === undefined ? this.#models.mayComeWhole : next.anew !== undefined;
    if (!isAnew) throw cutOffFailure(response, 'settings');
    const { before, repairs, count } = this.#cut as CutAnswers;
    this.#conversation.backTo(before);
    this.#repairs = repairs;
    this.#anew += count;
    this.#cut = undefined;
    this.#note = { anew: count };
    this.#ctx.emit(
      { type: 'model-asked-anew', loop: this.number, dropped: count },
      { recorded: true, name: 'model-asked-anew' },
    );
  }

  async #take(last: FinalAnswer): Promise<{ readonly value: unknown } | undefined> {
    const answer = await readFinal(last, this.#options.form);
    if (answer.fault === undefined) return answer;
    if (this.#repairs === repairsMax) throw misfit(answer.fault, last);
    this.#repair(`The answer does not fit: ${answer.fault}\nAnswer again, with nothing but what fits.`);
    return undefined;
  }

  #repair(correction: string): void {
    this.#repairs += 1;
    this.#say(correction);
  }

  #say(text: string): void {
    this.#conversation.add({ role: 'user', content: text });
    this.#note = { text };
  }
}

/** How the conversation stands on record; undefined if it has no answer yet. */
function recordedAgent(saved: SavedConversation | undefined, notes: readonly unknown[]): RecordedAgent | undefined {
  const opening = saved?.opening ?? (notes[0] as TurnNote | undefined)?.opening;
  return opening && new RecordedAgent(opening, notes);
}

function composedSources(box: ToolBox): Readonly<Record<string, string>> {
  return Object.fromEntries(
    box.names.flatMap((name) => {
      const { definition } = box.find(name) as NamedTool;
      return isComposed(definition) ? [[name, String(definition.run)]] : [];
    }),
  );
}

/**
 * Makes the calls of one answer in parallel; the results are in the order of the calls.
 * @param next - the record of what was sent to the model then, if there is one
 */
async function callSideBySide(
  tools: ToolCalls,
  calls: readonly ToolCallPart[],
  next: TurnNote | undefined,
): Promise<{ readonly results: readonly Observation[]; readonly isAllFaulty: boolean }> {
  const checked = await Promise.all(calls.map((call) => tools.check(call)));
  const recordedOf = (index: number): ResultNote | undefined => {
    const recorded = next?.results?.[index];
    return recorded?.call === calls[index]?.id ? recorded : undefined;
  };
  const made = calls.map((call, index) => tools.make(call, checked[index] as CheckedCall, recordedOf(index)));
  const settled = await Promise.allSettled(made);
  const failed = settled.filter((one) => one.status === 'rejected');
  // Throw our own error first: it says that the attempt is over, and must not be hidden by a tool's failure.
  const first = failed.find(({ reason }) => CairnError.is(reason)) ?? failed[0];
  if (first !== undefined) throw first.reason;
  const results = settled.map((one) => (one as PromiseFulfilledResult<Observation>).value);
  // What was made once was no fault, whatever its tool takes now.
  const isFaulty = ({ fault }: CheckedCall, index: number): boolean =>
    fault !== undefined && recordedOf(index)?.from === undefined;
  return { results, isAllFaulty: checked.every(isFaulty) };
}

function lost(count: number, last: readonly unknown[]): NodeFailure {
  return new NodeFailure(`the model made ${count} calls or answers in a row of which nothing can be made`, {
    code: 'AGENT_LOST',
    data: { last },
  });
}

function misfit(fault: string, last: FinalAnswer): NodeFailure {
  const text = 'text' in last ? last.text : JSON.stringify(last.value);
  return new NodeFailure(`the answer does not fit after ${repairsMax} repairs: ${fault}`, {
    code: 'OUTPUT_INVALID',
    data: { text, fault },
  });
}
