/** Explains why a pipeline took the edge it took from a stage: evaluates the condition of every edge again. */
import { normalLabel } from '../../model/edge-label.ts';
import { holds, type ConditionFacts } from '../../model/edge-condition.ts';
import {
  hasElse,
  isAnswer,
  type Way,
  type Ways,
  endLabel,
  jumpLabel,
  chooseEdge,
  deadEndLabel,
  conditionText,
  exitChoice,
  readChoice,
  type StoredChoice,
} from './choose-edge.ts';
import { isFailure, type StageOutput } from './stage-outcome.ts';
import type { ExplainedWay, ConditionScope } from '../../../../graph/graph.ts';
import { asText, contextValue } from '../context/context-reader.ts';
import { jumpsMade } from './stage-node.ts';

// Says in words why an edge out of a stage was taken or not, by the rules of `chooseEdge`.

function whyTaken(way: Way, { edges, isChosen }: Ways, ending: StageOutput): string {
  const preference = whyPreferred(way, ending);
  if (isChosen && hasChosen(ending)) return `it was chosen: ${JSON.stringify(ending.preferred_label ?? way.to)}`;
  if (isChosen) return 'nobody chose, and its condition holds';
  if (preference !== '') return preference;
  if (way.clauses.length > 0) return 'its condition holds';
  if (edges.length === 1) return isFailure(ending.outcome) ? 'it takes failures' : 'it is the only one';
  if (isFailure(ending.outcome)) return 'it is there for failures';
  const isElse = edges.some(({ clauses }) => clauses.length > 0);
  return isElse ? 'no condition held, and it has none' : 'it comes before the others';
}

interface NotTaken {
  /** Whether its condition holds. */
  readonly isOpen: boolean;
  /** The edge that was taken instead. */
  readonly taken: Way | undefined;
  readonly ways: Ways;
  readonly ending: StageOutput;
}

function whyNot(way: Way, { isOpen, taken, ways, ending }: NotTaken): string {
  if (ways.isChosen && hasChosen(ending)) return isOpen ? 'another was chosen' : 'its condition does not hold';
  if (!isOpen) return 'its condition does not hold';
  if (!hasChosen(ending) && isAnswer(ways, way)) return 'nobody gave that answer';
  if (way.clauses.length === 0 && taken !== undefined && taken.clauses.length > 0)
    return `the condition of the way to ${taken.to} holds`;
  if (ways.isChosen) return 'nobody chose it';
  const isBarred = way.clauses.length === 0 && isFailure(ending.outcome) && !way.takesFailures && !hasElse(ways);
  if (taken === undefined || (isBarred && whyPreferred(way, ending) === '')) return 'it is not meant for failures';
  if (whyPreferred(taken, ending) !== '' && whyPreferred(way, ending) === '')
    return `the stage asked for the way to ${taken.to}`;
  return `the way to ${taken.to} comes before it`;
}

function jumpsUsedUp(jumpsMax: number): string {
  return `max_retry_jumps of ${jumpsMax} is used up`;
}

function hasChosen({ preferred_label: label = '', suggested_next_ids: ids = [] }: StageOutput): boolean {
  return label !== '' || ids.length > 0;
}

/** How a stage requested an edge. Empty if it did not. */
function whyPreferred(
  { caption, to }: Way,
  { preferred_label: label, suggested_next_ids: ids = [] }: StageOutput,
): string {
  const isLabelled = caption !== '' && label !== undefined && normalLabel(caption) === normalLabel(label);
  if (isLabelled) return `the stage preferred ${JSON.stringify(label)}`;
  return ids.includes(to) ? `the stage suggested ${to}` : '';
}

// Explains where the exit of a pipeline leads, which depends on how the goal gates ended.

/** The parts of the exit's end, or of its failure, that say where it led. */
export interface ExitEnd {
  /** The goal gate that has not succeeded. Absent if all have, and of runs that recorded no more than the jump. */
  readonly gate?: string;
  /** Where that gate leads back. Absent if it has no retry target that may still be jumped to. */
  readonly jump?: string;
}

/** The config of the exit's node. */
interface ExitConfig {
  /** Each gate with its retry targets, in the order in which they are tried. */
  readonly gates?: readonly (readonly [gate: string, targets: readonly string[]])[];
  readonly jumpsMax?: number;
}

/** @param end - how the exit ended, or why it did not come to check its gates */
function exitWays(end: ExitEnd | string, config: unknown): readonly ExplainedWay[] {
  const { gates = [], jumpsMax = 0 } = (config ?? {}) as ExitConfig;
  const targets = [...new Set(gates.flatMap(([, each]) => each))];
  if (typeof end === 'string') return [endLabel, ...targets.map(jumpLabel)].map((label) => ({ label, because: end }));
  const { gate, jump } = end;
  const isOpen = gate !== undefined || jump !== undefined;
  const open = gate === undefined ? 'a goal gate' : `the goal gate ${gate}`;
  const own = gates.find(([id]) => id === gate)?.[1];
  const whyJump = (target: string): string => {
    if (!isOpen) return 'no goal gate leads back there';
    if (target === jump) return `${open} has not succeeded, and leads back there`;
    if (own === undefined) return 'it was not taken';
    if (!own.includes(target)) return `it is no retry target of ${open}`;
    const isBefore = jump === undefined || own.indexOf(target) < own.indexOf(jump);
    return isBefore ? jumpsUsedUp(jumpsMax) : `the retry target ${jump} comes before it`;
  };
  return [
    {
      label: endLabel,
      because: isOpen ? `${open} has not succeeded` : 'every goal gate that was visited succeeded',
    },
    ...targets.map((target) => ({ label: jumpLabel(target), because: whyJump(target) })),
  ];
}

/** How a stage failed. */
interface StageError {
  readonly code?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
}

/**
 * @param text - text of the choice that a stage's edges share. The result is undefined if it is no choice of a pipeline.
 * @param config - the config of the stage's node
 */
export function explainWays(
  text: string,
  { outcome: { status, output, error }, state }: ConditionScope,
  config: unknown,
): readonly ExplainedWay[] | undefined {
  const choice = readChoice(text);
  if (choice === undefined && text !== exitChoice) return undefined;
  const { code, data = {} } = (error ?? {}) as StageError;
  if (choice === undefined) {
    const isSettled = status === 'completed' || code === 'GATE_UNSATISFIED';
    return exitWays(isSettled ? { ...data, ...(output as object | undefined) } : whyUnsettled({ code, data }), config);
  }
  // A stage that failed the run has its outcome in its failure; one from which no edge leads has it as output.
  const isRouted = status === 'completed' || code === 'CONDITION_FAILED';
  const ended = (data['outcome'] ?? (isRouted ? output : undefined)) as StageOutput | null | undefined;
  if (typeof ended !== 'object' || ended === null) return sayOfAll(choice, whyUnsettled({ code, data }));
  const value = (key: string): unknown => contextValue(state, key);
  const stage = asText(data['stage'] ?? value('current_node'));
  const taken = ended.jump === undefined ? chooseEdge(choice.ways, ended, value) : undefined;
  return [
    ...explainEdges(choice, { ending: ended, taken, value }),
    ...explainJumps(choice, { ending: ended, taken, madeTo: (target) => jumpsMade(state, stage, target) }),
    { label: deadEndLabel, because: 'it leads nowhere' },
  ];
}

/** Why a stage that ended without an outcome led nowhere, by the bound that it met if it met one. */
function whyUnsettled({ code, data = {} }: StageError): string {
  if (code === 'RUN_LIMIT') return `${asText(data['limit'])} of ${asText(data['value'])} is used up`;
  if (code === 'BUDGET_EXCEEDED') return `the budget of ${asText(data['of'])} is used up`;
  return 'the stage failed before a way was chosen';
}

function sayOfAll({ ways, jumps }: StoredChoice, because: string): readonly ExplainedWay[] {
  const edges = ways.edges.map(({ label, caption, clauses }): ExplainedWay => {
    const condition = conditionText(clauses);
    return { label, ...(caption !== '' && { caption }), ...(condition !== '' && { condition }), because };
  });
  return [...edges, ...[...jumps.map(jumpLabel), deadEndLabel].map((label) => ({ label, because }))];
}

/** How a stage ended, and the edge that was taken, if any. */
interface EndedStage {
  readonly ending: StageOutput;
  readonly taken: Way | undefined;
}

/** @param ended - `value` reads the context as it is after the stage */
function explainEdges(
  { ways }: StoredChoice,
  { ending, taken, value }: EndedStage & { readonly value: (key: string) => unknown },
): readonly ExplainedWay[] {
  const facts: ConditionFacts = {
    outcome: ending.outcome,
    preferredLabel: ending.preferred_label ?? '',
    context: (key) => asText(value(key)),
  };
  return ways.edges.map((way): ExplainedWay => {
    const isOpen = holds(way.clauses, facts);
    const condition = conditionText(way.clauses);
    return {
      label: way.label,
      ...(way.caption !== '' && { caption: way.caption }),
      ...(condition !== '' && { condition, holds: isOpen }),
      because: way === taken ? whyTaken(way, ways, ending) : whyNot(way, { isOpen, taken, ways, ending }),
    };
  });
}

/** @param ended - `madeTo` returns how often the stage has jumped to a target */
function explainJumps(
  { jumps, jumpsMax }: StoredChoice,
  { ending, taken, madeTo }: EndedStage & { readonly madeTo: (target: string) => number },
): readonly ExplainedWay[] {
  const { outcome, jump } = ending;
  const why = (target: string): string => {
    if (jump === target) return `the failure jumps to the retry target, ${madeTo(target)} of ${jumpsMax} times`;
    if (taken !== undefined) return 'no jump was needed';
    if (!isFailure(outcome)) return 'it is for failures';
    const isBefore = jump === undefined || jumps.indexOf(target) < jumps.indexOf(jump);
    return isBefore ? jumpsUsedUp(jumpsMax) : `the retry target ${jump} comes before it`;
  };
  return [...new Set(jumps)].map((target) => ({ label: jumpLabel(target), because: why(target) }));
}
