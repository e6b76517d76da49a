/** Describes the run so far for the prompt of a stage, in the detail that its fidelity asks for. */
import type { StateView } from '../../../../graph/contracts/node-contract.ts';
import { asText, contextOf, contextValue } from '../context/context-keys.ts';
import { isLarge, shownLarge } from '../context/large-values.ts';
import type { ShownResult } from '../stage/branch-result.ts';
import type { Turn } from './conversation.ts';
import { cut, cutMiddle } from './cut.ts';
import { historyOf, tellStages, tellStagesSince } from './ended-stages.ts';
import { newestAnswer } from './newest-answer.ts';
import { tellBranches } from './tell-branches.ts';

interface Amount {
  /** Characters of the whole description. Four characters count as one token. */
  readonly total: number;
  /** How many stages of the history are described, from the newest back. */
  readonly stages: number;
  /** Characters of one context value. `answer` is the limit of the newest answer. */
  readonly value: number;
  readonly answer: number;
}

const compact: Amount = { total: 4_000, stages: 10, value: 300, answer: 2_000 };
const amounts: ReadonlyMap<string, Amount> = new Map(
  Object.entries({
    truncate: { total: 1_000, stages: 0, value: 0, answer: 0 },
    'summary:low': { total: 2_400, stages: 5, value: 100, answer: 500 },
    compact,
    'summary:medium': { total: 6_000, stages: 20, value: 500, answer: 3_000 },
    'summary:high': { total: 12_000, stages: 100, value: 1_000, answer: 8_000 },
    /** For a model that writes a summary. */
    whole: { total: 200_000, stages: 1_000, value: 20_000, answer: 50_000 },
  }),
);

/** Context values that repeat what the description says anyway. */
const untold =
  /^(?:graph\.|internal\.|parallel\.stage$|current_node$|last_response$|last_stage$|outcome$|preferred_label$)/;

/** The description, `` if there is nothing to say. A conversation that begins gets that of `summary:high`. */
export function preambleOf(state: StateView, fidelity: string): string {
  const amount = amounts.get(fidelity === 'full' ? 'summary:high' : fidelity) ?? compact;
  return joined(amount, [
    section('Goal', asText(contextValue(state, 'graph.goal'))),
    section('Stages so far', tellStages(state, amount)),
    section('Context', valuesOf(state, amount.value)),
    branchesOf(state, amount),
    answerSection(state, amount.answer),
  ]);
}

/** What other stages did since the thread's last turn. Sent when the thread goes on. */
export function newsOf(state: StateView, { answer, after }: Turn): string {
  const amount = amounts.get('summary:high') ?? compact;
  // The first one in the history behind the turn is the stage of the turn itself.
  const first = after + 1;
  if (historyOf(state).length <= first) return '';
  return joined(amount, [
    section('Stages since then', tellStagesSince(state, first, amount)),
    section('Context', valuesOf(state, amount.value)),
    branchesOf(state, amount),
    newestAnswer(state)?.text === answer ? '' : answerSection(state, amount.answer),
  ]);
}

function joined({ total }: Amount, parts: readonly string[]): string {
  return cut(parts.filter((part) => part !== '').join('\n\n'), total);
}

function answerSection(state: StateView, length: number): string {
  const newest = newestAnswer(state);
  return length === 0 || newest === undefined ? '' : section(`Answer of ${newest.stage}`, cut(newest.text, length));
}

function section(title: string, text: string): string {
  return text === '' ? '' : `${title}:\n${text}`;
}

/** How the branches of the last parallel stage ended. Results that are kept as a file are told as a value of the context. */
function branchesOf(state: StateView, { value, answer }: Amount): string {
  const results = contextValue(state, 'parallel.results');
  if (!Array.isArray(results) || value === 0) return '';
  const each = { value, answer: Math.floor(answer / results.length) };
  return section('Results of the branches', tellBranches(results as readonly ShownResult[], each));
}

function valuesOf(state: StateView, length: number): string {
  if (length === 0) return '';
  const isTold = (key: string, value: unknown): boolean =>
    !untold.test(key) && asText(value) !== '' && !(key === 'parallel.results' && Array.isArray(value));
  const told = Object.entries(contextOf(state)).filter(([key, value]) => isTold(key, value));
  return told
    .map(([key, value]) => `- ${key}: ${isLarge(value) ? shownLarge(value, length) : cutMiddle(asText(value), length)}`)
    .join('\n');
}
