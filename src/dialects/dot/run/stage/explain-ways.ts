/** Explains why a pipeline took the edge it took from a stage: evaluates the condition of every edge again. */
import type { ConditionScope, ExplainedWay } from '../../../../graph/graph.ts';
import { holds, type ConditionFacts } from '../../model/condition.ts';
import { asText, contextValue } from '../context/context-keys.ts';
import { chooseEdge, deadEndLabel, jumpLabel, type Way } from './choose-edge.ts';
import { exitWays } from './explain-exit.ts';
import { jumpsMade } from './stage-node.ts';
import type { StageOutput } from './stage-outcome.ts';
import { conditionText, exitChoice, readChoice, type StoredChoice } from './stored-choice.ts';
import { jumpsUsedUp, whyNot, whyTaken } from './why-way.ts';

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
  // A stage that failed the run has its outcome in its failure; one from which no edge leads has kept it.
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

/** How a stage ended, and the edge by which it was left, if by one. */
interface Left {
  readonly ending: StageOutput;
  readonly taken: Way | undefined;
}

/** @param left - `value` reads the context as it is after the stage */
function explainEdges(
  { ways }: StoredChoice,
  { ending, taken, value }: Left & { readonly value: (key: string) => unknown },
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

/** @param left - `madeTo` tells how often the stage has jumped to a target */
function explainJumps(
  { jumps, jumpsMax }: StoredChoice,
  { ending, taken, madeTo }: Left & { readonly madeTo: (target: string) => number },
): readonly ExplainedWay[] {
  const { outcome, jump } = ending;
  const why = (target: string): string => {
    if (jump === target) return `the failure jumps to the retry target, ${madeTo(target)} of ${jumpsMax} times`;
    if (taken !== undefined) return 'no jump was needed';
    if (outcome !== 'fail') return 'it is for failures';
    const isBefore = jump === undefined || jumps.indexOf(target) < jumps.indexOf(jump);
    return isBefore ? jumpsUsedUp(jumpsMax) : `the retry target ${jump} comes before it`;
  };
  return [...new Set(jumps)].map((target) => ({ label: jumpLabel(target), because: why(target) }));
}
