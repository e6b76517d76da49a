/** One loop of an agent, for views of the agent's state. */
import { resultAt } from '../../graph/runnable-graph.ts';
import {
  type ModelUsage,
  textOf,
  type ModelMessage,
  type ModelResponse,
  type ToolCallPart,
} from '../../graph/contracts/model-messages.ts';
import { isCutOff } from '../../graph/contracts/cut-off.ts';
import type { NodeRecord, StepRecord } from '../../state/tree.ts';
import { callName } from '../tools/tool-calls.ts';
import { nthName, toolOfName } from '../tools/tool-records.ts';
import type { RecordedCall } from '../model/call-record.ts';
import { createMode } from '../modes/modes.ts';
import type { Turn } from '../modes/text-modes.ts';
import { readTurn } from '../modes/read-turn.ts';
import { observation, type Observation } from '../tools/observation.ts';
import { questionName } from '../tools/approval.ts';
import { readApproval } from '../../schema/approval-answer.ts';
import type { AgentParts, ChangeNote, SavedConversation, OpeningNote, ResultNote, TurnNote } from '../turn-note.ts';

/** A tool call and its status. */
export interface AgentCall {
  /** The provider's id of the call. */
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  /** `waiting`: for a person's answer. `started`: begun, and its end is not recorded. `due`: not begun yet. */
  readonly status: 'done' | 'failed' | 'waiting' | 'started' | 'due';
  /** Name of the step or child run that the call was recorded as. */
  readonly step?: string;
  readonly output?: unknown;
  /** Of one that waits: id of the question, which may be about a budget. */
  readonly waitId?: string;
  /** A person's decision before the call, if there was one. A refused call has failed. */
  readonly decision?: 'approved' | 'refused';
  /** Why it was refused, if that was said. */
  readonly refusal?: string;
  /** Whether it got the result of an earlier equal call. */
  readonly isCached?: true;
}

/** One loop: an answer of the model and the calls it made. */
export interface AgentLoopState {
  readonly loop: number;
  /** Name of the model that answered. */
  readonly model: string;
  /** The text of the answer. */
  readonly text: string;
  /** What the model said of its reasoning, if anything. */
  readonly reasoning?: string;
  readonly usage: ModelUsage;
  /** Whether the answer ended at the limit of its tokens. */
  readonly isCutOff?: true;
  readonly calls: readonly AgentCall[];
}

/** What is shown of a loop to people. */
export type ShownLoop = Pick<AgentLoopState, 'loop' | 'text' | 'reasoning' | 'calls'>;

// Rebuilds a conversation from the records of its steps, without running the agent's code.

export interface FoldedVisit {
  readonly opening: OpeningNote;
  readonly messages: readonly ModelMessage[];
  /** Number of system messages at the beginning. */
  readonly headCount: number;
  /** Number of messages after them that were not sent in the last request. */
  readonly omitted: number;
  readonly loop: number;
  readonly loops: readonly AgentLoopState[];
  readonly cache: Readonly<Record<string, unknown>>;
  readonly isAsking: boolean;
  /** Names of the tools that the model was offered, as far as that is recorded. */
  readonly offered: ReadonlySet<string>;
}

/** The key of the model call that is in progress, or was when the process died: pieces of its answer are streamed under it. */
export function openCallOf(record: NodeRecord): string | undefined {
  return modelCallsOf(record).find(({ status }) => status === 'started')?.intent?.key;
}

type Call = RecordedCall<ModelResponse> & { readonly note?: TurnNote };

export function foldVisit(record: NodeRecord): FoldedVisit | undefined {
  const calls = modelCallsOf(record);
  const retired = record.retired?.from as SavedConversation | undefined;
  const done = calls.filter(({ status }) => status === 'done').map(({ output }) => output as Call);
  const begun = retired?.opening ?? done[0]?.note?.opening;
  if (begun === undefined) return undefined;
  let opening: OpeningNote = begun;
  const mode = createMode(opening.mode, { tools: [], answer: undefined });
  const messages: ModelMessage[] = [...opening.messages, ...(retired?.messages ?? [])];
  const loops: AgentLoopState[] = [];
  const cache: Record<string, unknown> = { ...retired?.tools.cache };
  let loop = (retired?.loop ?? 1) - 1;
  const used = new Set<string>();
  const offered = new Set(toolsOf(opening.parts));
  let requested: readonly ToolCallPart[] = [];
  /** Number of messages before each answer. */
  const lengths: number[] = [];
  for (const [index, { response, note = {}, by }] of done.entries()) {
    if (note.changed !== undefined) {
      for (const tool of toolsOf(note.changed.parts)) offered.add(tool);
      const before = messages.length;
      opening = changedOpening(opening, messages, note.changed);
      for (const place of lengths.keys()) lengths[place] = (lengths[place] as number) + messages.length - before;
    }
    if (note.anew !== undefined) messages.length = lengths.at(-note.anew) ?? messages.length;
    if (note.results !== undefined) {
      const results = note.results.map((result) => ({
        ...resultOf(record, result),
        ...(result.isError && { isError: result.isError }),
      }));
      messages.push(mode.toMessage(requested, results));
      settle(loops, requested, note.results, results, cache);
      for (const { from } of note.results) if (from !== undefined) used.add(from);
    }
    if (note.text !== undefined) messages.push({ role: 'user', content: note.text });
    loop += 1;
    const turn = readTurn(mode, response, loop, done[index + 1]?.note);
    lengths.push(messages.length);
    messages.push(turn.message);
    requested = turn.calls;
    loops.push({ loop, ...loopOf({ record, used: new Set(used), cache }, turn, response, by) });
  }
  const headCount = headCountOf(messages);
  return {
    opening,
    messages,
    headCount,
    omitted: done.at(-1)?.note?.left ?? 0,
    loop,
    loops,
    cache,
    isAsking: calls.some(({ status }) => status === 'started'),
    offered,
  };
}

/** Names of the tools among the parts of an agent. */
export function toolsOf(parts: AgentParts = {}): readonly string[] {
  return Object.keys(parts).flatMap((name) => (name.startsWith('tool ') ? [name.slice('tool '.length)] : []));
}

/** The opening with the system messages of a changed agent, which replace those of the conversation. */
function changedOpening(opening: OpeningNote, messages: ModelMessage[], { opening: now }: ChangeNote): OpeningNote {
  if (now === undefined) return opening;
  messages.splice(0, headCountOf(messages), ...now.messages);
  const { guideFrom: _, ...rest } = opening;
  return { ...rest, ...now, messages: [...now.messages, ...opening.messages.slice(headCountOf(opening.messages))] };
}

/** Number of system messages at the beginning. */
function headCountOf(messages: readonly ModelMessage[]): number {
  const first = messages.findIndex(({ role }) => role !== 'system');
  return first < 0 ? messages.length : first;
}

const modelName = /^model [\w-]{43}(?:\0|$)/u;

function modelCallsOf({ steps = {} }: NodeRecord): readonly StepRecord[] {
  return Object.entries(steps).flatMap(([key, step]) => (modelName.test(key) ? [step] : []));
}

/** The step or child run that a call was recorded as. Those from before a summary are not in the table any more. */
function under<Value>(table: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return Object.entries(table ?? {}).find(([key]) => key === name || key.startsWith(`${name}\0`))?.[1];
}

/** What the model got as the result of a call. */
function resultOf(record: NodeRecord, note: ResultNote): Pick<Observation, 'output' | 'parts'> {
  const { from, output } = note;
  if (from === undefined || 'output' in note) return { output };
  const step = under(record.steps, from);
  if (step?.kind === 'step') return observation(step.output, from, note.isShown);
  const child = under(record.children, from);
  if (child === undefined) return { output: undefined };
  const artifacts = child.channels['artifacts'] ?? {};
  const outputs = Object.fromEntries(Object.entries(child.nodes).map(([id, { output }]) => [id, output]));
  const place = note.node === undefined ? toolOfName(from) : note.node;
  // In older records artifacts are the result where there is no such node.
  const isThere = typeof place !== 'string' || Object.hasOwn(outputs, place);
  return observation(resultAt(isThere ? place : null, { outputs, artifacts }), from, note.isShown);
}

interface Folding {
  readonly record: NodeRecord;
  /** Names of the calls whose result the model got. */
  readonly used: Set<string>;
  readonly cache: Readonly<Record<string, unknown>>;
}

function loopOf(
  { record, used, cache }: Folding,
  { calls }: Turn,
  response: ModelResponse,
  by: string | undefined,
): Omit<AgentLoopState, 'loop'> {
  return {
    model: by ?? response.model,
    text: textOf(response.content),
    ...reasoningOf(response),
    usage: response.usage,
    ...(isCutOff(response) && { isCutOff: true }),
    calls: calls.map(({ id, tool, input }): AgentCall => {
      const first = callName({ tool, input });
      if (Object.hasOwn(cache, first)) return { id, tool, input, status: 'done', output: cache[first], isCached: true };
      let nth = 1;
      while (used.has(nthName(first, nth))) nth += 1;
      const name = nthName(first, nth);
      used.add(name);
      return { id, tool, input, ...callStanding(record, name) };
    }),
  };
}

function reasoningOf({ content }: ModelResponse): Pick<AgentLoopState, 'reasoning'> {
  const reasoning = content.map((part) => (part.type === 'reasoning' ? part.text : '')).join('');
  return reasoning === '' ? {} : { reasoning };
}

/** How a call stands that was recorded under this name, whose result the model has not got. */
export function callStanding(
  record: NodeRecord,
  name: string,
): Pick<AgentCall, 'status' | 'step' | 'waitId' | 'decision' | 'refusal'> {
  return { ...standingOf(record, name), ...decisionOf(record, name) };
}

/** What a person decided about a call. Arguments that were edited are asked about again, so the last answer counts. */
function decisionOf({ steps = {} }: NodeRecord, name: string): Pick<AgentCall, 'decision' | 'refusal'> {
  const question = questionName(name);
  const step = Object.entries(steps).findLast(([key]) => key === question || key.startsWith(`${question}\0`))?.[1];
  if (step?.kind !== 'ask' || step.status !== 'done') return {};
  const { approved, feedback } = readApproval(step.output);
  if (approved) return { decision: 'approved' };
  return { decision: 'refused', ...(feedback !== undefined && { refusal: feedback }) };
}

/** The status of a call whose result the model has not got. */
function standingOf(record: NodeRecord, name: string): Pick<AgentCall, 'status' | 'step' | 'waitId'> {
  const step = under(record.steps, name);
  const statuses = { open: 'waiting', started: 'started', done: 'done', failed: 'failed' } as const;
  if (step !== undefined) return { status: statuses[step.status], step: name, ...waitOf(step) };
  const child = under(record.children, name);
  // A node or another agent, whose own record tells how it ended.
  const ended = child?.nodes[toolOfName(name)]?.status === 'completed';
  if (child !== undefined) return { status: ended ? 'done' : 'started', step: name };
  const own = Object.entries(record.steps ?? {}).filter(
    ([key]) => key === `approve ${name}` || key.startsWith(`${name} `),
  );
  const open = own.find(([, { status }]) => status === 'open')?.[1];
  if (open !== undefined) return { status: 'waiting', step: name, ...waitOf(open) };
  return own.length > 0 ? { status: 'started', step: name } : { status: 'due' };
}

function waitOf({ wait }: StepRecord): Pick<AgentCall, 'waitId'> {
  return wait === undefined ? {} : { waitId: wait };
}

/** Enters the results that the model got into the calls of the last loop. */
function settle(
  loops: AgentLoopState[],
  requested: readonly ToolCallPart[],
  notes: readonly ResultNote[],
  results: readonly { readonly output: unknown }[],
  cache: Record<string, unknown>,
): void {
  const last = loops.at(-1);
  if (last === undefined) return;
  const calls = last.calls.map((call, index): AgentCall => {
    const { from, isError, isCached } = notes[index] ?? { call: '' };
    const output = results[index]?.output;
    const { step: _, waitId: __, ...rest } = call;
    const status = isError === true ? 'failed' : 'done';
    return { ...rest, status, output, ...(from !== undefined && { step: from }), ...(isCached && { isCached }) };
  });
  for (const [index, note] of notes.entries())
    if (note.isKept === true) cache[callName(requested[index] as ToolCallPart)] = results[index]?.output;
  loops[loops.length - 1] = { ...last, calls };
}
