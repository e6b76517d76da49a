/** Explains why a pipeline took the edge it took from a stage: evaluates the condition of every edge again. */
import type { ConditionScope, ExplainedWay } from '../../../../graph/graph.ts';
import { holds, type ConditionFacts } from '../../model/condition.ts';
import { normalLabel } from '../../model/labels.ts';
import { chooseEdge, isAnswer, jumpLabel, type Way, type Ways } from './choose-edge.ts';
import { asText, contextValue } from '../context/context-keys.ts';
import { jumpsMade } from './stage-node.ts';
import type { StageOutput } from './stage-outcome.ts';
import { conditionText, exitChoice, readChoice } from './stored-choice.ts';

/** The label of the exit's edge to the end. */
const endLabel = 'end';

/** What the failure of a stage that failed the run holds. */
interface StageFailureData {
  readonly stage?: string;
  readonly outcome?: unknown;
}

/** @param text - text of the choice that a stage's edges share. The result is undefined if it is no choice of a pipeline. */
export function explainWays(
  text: string,
  { outcome: { output, error }, state }: ConditionScope,
): readonly ExplainedWay[] | undefined {
  if (text === exitChoice) return explainExit(output);
  const choice = readChoice(text);
  const failure = (error as { readonly data?: StageFailureData } | undefined)?.data;
  const ended = output ?? failure?.outcome;
  if (choice === undefined || typeof ended !== 'object' || ended === null) return undefined;
  const { ways, jumps, jumpsMax } = choice;
  const ending = ended as StageOutput;
  const value = (key: string): unknown => contextValue(state, key);
  const taken = ending.jump === undefined ? chooseEdge(ways, ending, value) : undefined;
  const facts: ConditionFacts = {
    outcome: ending.outcome,
    preferredLabel: ending.preferred_label ?? '',
    context: (key) => asText(value(key)),
  };
  const told = ways.edges.map((way): ExplainedWay => {
    const isOpen = holds(way.clauses, facts);
    const condition = conditionText(way.clauses);
    return {
      label: way.label,
      ...(way.caption !== '' && { caption: way.caption }),
      ...(condition !== '' && { condition, holds: isOpen }),
      because: way === taken ? whyTaken(way, ways, ending) : whyNot(way, isOpen, taken, ways, ending),
    };
  });
  const jumped = [...new Set(jumps)].map((target): ExplainedWay => {
    const made = jumpsMade(state, failure?.stage ?? asText(value('current_node')), target);
    return {
      label: jumpLabel(target),
      because:
        ending.jump === target
          ? `the failure jumps to the retry target, ${made} of ${jumpsMax} times`
          : ending.outcome === 'fail' && taken === undefined
            ? `it was jumped to ${made} of ${jumpsMax} times`
            : 'no jump was needed',
    };
  });
  return [...told, ...jumped];
}

/** Explains where the exit leads, which depends on how the goal gates ended. */
function explainExit(output: unknown): readonly ExplainedWay[] {
  const { jump } = (output ?? {}) as Pick<StageOutput, 'jump'>;
  if (jump === undefined) return [{ label: endLabel, because: 'every goal gate that was visited succeeded' }];
  return [
    { label: endLabel, because: 'a goal gate has not succeeded' },
    { label: jumpLabel(jump), because: 'a goal gate has not succeeded, and leads back there' },
  ];
}

function isAsked({ caption, to }: Way, { preferred_label: label, suggested_next_ids: ids = [] }: StageOutput): string {
  const isLabelled = caption !== '' && label !== undefined && normalLabel(caption) === normalLabel(label);
  if (isLabelled) return `the stage preferred ${JSON.stringify(label)}`;
  return ids.includes(to) ? `the stage suggested ${to}` : '';
}

function whyTaken(way: Way, { edges, isChosen }: Ways, ending: StageOutput): string {
  const asked = isAsked(way, ending);
  if (isChosen)
    return asked === '' ? 'it was chosen' : `it was chosen: ${JSON.stringify(ending.preferred_label ?? way.to)}`;
  if (asked !== '') return asked;
  if (way.clauses.length > 0) return 'its condition holds';
  if (edges.length === 1) return ending.outcome === 'fail' ? 'it takes failures' : 'it is the only one';
  return ending.outcome === 'fail' ? 'it is there for failures' : 'no condition held, and it has none';
}

function whyNot(
  way: Way,
  isOpen: boolean,
  taken: Way | undefined,
  ways: Ways,
  { outcome, preferred_label: label }: StageOutput,
): string {
  if (!isOpen) return 'its condition does not hold';
  if (label === undefined && isAnswer(ways, way)) return 'nobody gave that answer';
  if (taken === undefined) return outcome === 'fail' ? 'it is not meant for failures' : 'it was not taken';
  if (ways.isChosen) return 'another was chosen';
  if (way.clauses.length === 0 && taken.clauses.length > 0) return `the condition of the way to ${taken.to} holds`;
  return `the way to ${taken.to} comes before it`;
}
