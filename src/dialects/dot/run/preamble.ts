/** What the prompt of a stage is told of the run so far: by fidelity, more or less of it. */
import type { StateView } from '../../../graph/contracts/node-contract.ts';
import { asText, contextOf, contextValue } from './context-keys.ts';
import type { StageOutput } from './stage-outcome.ts';

interface Amount {
  /** Characters of the whole; four of them count as a token. */
  readonly total: number;
  /** Stages of the history that are told, the newest. */
  readonly stages: number;
  /** Characters of one context value, and of the newest answer. */
  readonly value: number;
  readonly answer: number;
}

const compact: Amount = { total: 4_000, stages: 10, value: 300, answer: 2_000 };
const amounts: Readonly<Record<string, Amount>> = {
  truncate: { total: 1_000, stages: 0, value: 0, answer: 0 },
  'summary:low': { total: 2_400, stages: 5, value: 100, answer: 500 },
  compact,
  'summary:medium': { total: 6_000, stages: 20, value: 500, answer: 3_000 },
  'summary:high': { total: 12_000, stages: 100, value: 1_000, answer: 8_000 },
};

/** Values that say nothing beside what else is told. */
const untold = /^(?:graph\.|internal\.|current_node$|last_response$|last_stage$|outcome$|preferred_label$)/;

/** `` where there is nothing to tell. */
export function preambleOf(state: StateView, fidelity: string): string {
  // Stages share no conversation, so all that there is of one is what can be summed up of it.
  const amount = amounts[fidelity === 'full' ? 'summary:high' : fidelity] ?? compact;
  const parts = [
    section('Goal', asText(contextValue(state, 'graph.goal'))),
    section('Stages so far', historyOf(state, amount.stages)),
    section('Context', valuesOf(state, amount.value)),
    section(`Answer of ${asText(contextValue(state, 'last_stage'))}`, answerOf(state, amount.answer)),
  ];
  const text = parts.filter((part) => part !== '').join('\n\n');
  return cut(text, amount.total);
}

function section(title: string, text: string): string {
  return text === '' ? '' : `${title}:\n${text}`;
}

function historyOf({ diagnostics }: StateView, count: number): string {
  const history = (diagnostics['history'] ?? []) as readonly { readonly stage: string; readonly outcome: string }[];
  const told = count === 0 ? [] : history.slice(-count);
  const left = history.length - told.length;
  const lines = told.map(({ stage, outcome }) => `- ${stage}: ${outcome}`);
  return (left > 0 && count > 0 ? [`- ${left} more before`, ...lines] : lines).join('\n');
}

function valuesOf(state: StateView, length: number): string {
  if (length === 0) return '';
  const told = Object.entries(contextOf(state)).filter(([key, value]) => !untold.test(key) && asText(value) !== '');
  return told.map(([key, value]) => `- ${key}: ${cut(asText(value), length)}`).join('\n');
}

function answerOf(state: StateView, length: number): string {
  const stage = asText(contextValue(state, 'last_stage'));
  const output = (stage === '' ? undefined : state.outputs[stage]) as Partial<StageOutput> | undefined;
  return cut(output?.response ?? asText(contextValue(state, 'last_response')), length);
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)} […${text.length - length} more characters]`;
}
