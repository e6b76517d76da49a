/** Which way a pipeline goes from a stage: a pure decision from how the stage ended and the context. */
import { holds, type Clause, type ConditionFacts } from '../model/condition.ts';
import { normalLabel } from '../model/labels.ts';
import { asText } from './context-keys.ts';
import type { StageOutput } from './stage-outcome.ts';

/** One way out of a stage. */
export interface Way {
  /** Names the edge of the graph. */
  readonly label: string;
  readonly to: string;
  /** What the edge is labelled in the file. */
  readonly caption: string;
  readonly clauses: readonly Clause[];
  readonly weight: number;
  /** Its target decides about failures itself: a diamond, or the fan-in of a parallel stage. */
  readonly takesFailures: boolean;
}

/** The label of the way that an edge of the file is. */
export function wayLabel(index: number): string {
  return `edge ${index}`;
}

/** The edge of the file that a way is; undefined: it is the join of branches. */
export function edgeIndexOf(label: string): number | undefined {
  const [, index] = /^edge (\d+)$/.exec(label) ?? [];
  return index === undefined ? undefined : Number(index);
}

/** All ways out of a stage, in the order of the file. */
export interface Ways {
  readonly edges: readonly Way[];
  /** Whether a person chose: then conditions only say what was offered. */
  readonly isChosen: boolean;
}

/** How a stage ended, as far as it says which way to go. */
export type Ending = Pick<StageOutput, 'outcome' | 'preferred_label' | 'suggested_next_ids'>;

/** The way to take; undefined: none fits. @param value - reads the context as it is after the stage */
export function chooseEdge(ways: Ways, ending: Ending, value: (key: string) => unknown): Way | undefined {
  const facts: ConditionFacts = {
    outcome: ending.outcome,
    preferredLabel: ending.preferred_label ?? '',
    context: (key) => asText(value(key)),
  };
  const open = ways.edges.filter(({ clauses }) => holds(clauses, facts));
  if (ways.isChosen) return bestOf(open, ending, true);
  const conditional = open.filter(({ clauses }) => clauses.length > 0);
  if (conditional.length > 0) return bestOf(conditional, ending, false);
  return ending.outcome === 'fail' ? forFailure(ways, open, ending) : bestOf(open, ending, false);
}

/**
 * A failure takes an edge without a condition only if that is meant for it: the stage asked for it, the edge is the else of conditions on
 * the outcome, or the stage that it leads to decides about failures.
 */
function forFailure({ edges }: Ways, open: readonly Way[], ending: Ending): Way | undefined {
  const asked = bestOf(open, ending, true);
  if (asked !== undefined) return asked;
  const isElse = edges.some(({ clauses }) => clauses.some(({ key }) => key === 'outcome'));
  return bestOf(isElse ? open : open.filter(({ takesFailures }) => takesFailures), ending, false);
}

/** By preferred label, suggested stages, weight, name of the target byte by byte, order in the file. */
function bestOf(ways: readonly Way[], ending: Ending, mustBeAsked: boolean): Way | undefined {
  const { preferred_label: label, suggested_next_ids: ids = [] } = ending;
  if (label !== undefined && label !== '') {
    const labelled = ways.filter(({ caption }) => caption !== '' && normalLabel(caption) === normalLabel(label));
    if (labelled.length > 0) return heaviest(labelled);
  }
  for (const id of ids) {
    const suggested = ways.filter(({ to }) => to === id);
    if (suggested.length > 0) return heaviest(suggested);
  }
  return mustBeAsked ? undefined : heaviest(ways);
}

function heaviest(ways: readonly Way[]): Way | undefined {
  let best: Way | undefined;
  for (const way of ways)
    if (best === undefined || way.weight > best.weight || (way.weight === best.weight && isBefore(way.to, best.to)))
      best = way;
  return best;
}

function isBefore(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
}
