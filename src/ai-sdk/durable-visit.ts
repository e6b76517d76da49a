/**
 * A visit of a node that made its agent durable (`durable`), as its chat shows it: the model's answers and their calls, folded from the steps
 * that are recorded of them.
 */
import { callStanding, toolsOf, type AgentCall, type ShownLoop } from '../agents/view/agent-loop-state.ts';
import type { RecordedCall } from '../agents/model/call-record.ts';
import type { AgentParts } from '../agents/turn-note.ts';
import { toolCallKey } from '../model-calls/model-access.ts';
import type { NodeRecord, StepRecord } from '../state/tree.ts';
import { argumentsOf, type RecordedAnswer } from './recorded-calls.ts';

export interface DurableVisit {
  readonly loops: readonly ShownLoop[];
  /** Names of the tools that the model was offered. */
  readonly offered: ReadonlySet<string>;
  /** Key of the model call in progress. */
  readonly openCall: string | undefined;
}

/** Conversations within composed tools begin with the tool's key, which holds spaces. */
const modelCall = /^([\w.-]{1,64}) model [\w-]{43}(?:\0|$)/u;

/** @returns undefined if the node has made no model call */
export function foldDurableVisit(record: NodeRecord): DurableVisit | undefined {
  const calls = Object.entries(record.steps ?? {}).flatMap(([key, step]) => {
    const [, name] = modelCall.exec(key) ?? [];
    return name === undefined ? [] : [{ name, step }];
  });
  if (calls.length === 0) return undefined;
  const answered = calls.filter(({ step }) => step.status === 'done');
  const counts = new Map<string, number>();
  const offered = new Set<string>();
  const loops = answered.map(({ name, step }, index): ShownLoop => {
    const { response, note } = step.output as RecordedCall<RecordedAnswer>;
    for (const tool of toolsOf((note as { readonly parts?: AgentParts } | undefined)?.parts)) offered.add(tool);
    const isLast = index === answered.length - 1;
    return { loop: index + 1, ...textsOf(response), calls: callsOf(record, name, response, { counts, isLast }) };
  });
  return { loops, offered, openCall: calls.find(({ step }) => step.status === 'started')?.step.intent?.key };
}

function textsOf({ content }: RecordedAnswer): Pick<ShownLoop, 'text' | 'reasoning'> {
  const all = (type: 'text' | 'reasoning'): string =>
    content.map((part) => (part.type === type && 'text' in part ? part.text : '')).join('');
  const reasoning = all('reasoning');
  return { text: all('text'), ...(reasoning !== '' && { reasoning }) };
}

/** @param counts - how often each call was requested so far in the visit, since equal ones are told apart by their number */
function callsOf(
  record: NodeRecord,
  name: string,
  { content }: RecordedAnswer,
  { counts, isLast }: { readonly counts: Map<string, number>; readonly isLast: boolean },
): readonly AgentCall[] {
  const own = content.filter((part) => part.type === 'tool-call').filter((call) => call.providerExecuted !== true);
  return own.map(({ toolCallId: id, toolName: tool, input: text }): AgentCall => {
    const counted = JSON.stringify([name, tool, text]);
    const nth = (counts.get(counted) ?? 0) + 1;
    counts.set(counted, nth);
    const input = argumentsOf(text);
    const key = `${name} ${toolCallKey(tool, input)}${nth === 1 ? '' : ` ${nth}`}`;
    const standing = callStanding(record, key);
    const known = { id, tool, input, ...standing };
    const step = stepOf(record, key);
    if (step?.status === 'done') return { ...known, output: step.output };
    if (step?.status === 'failed') return { ...known, output: messageOf(step.error) };
    if (isLast || standing.decision === 'refused' || standing.status === 'waiting') return known;
    // The model has answered since: a call of several steps is over, and one of none was not made.
    return standing.status === 'started'
      ? { ...known, status: 'done', output: undefined }
      : { ...known, status: 'failed', output: 'The call was not made.' };
  });
}

function stepOf({ steps = {} }: NodeRecord, name: string): StepRecord | undefined {
  return Object.entries(steps).find(([key]) => key === name || key.startsWith(`${name}\0`))?.[1];
}

function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { readonly message?: unknown };
  return typeof message === 'string' ? message : 'The call failed.';
}
