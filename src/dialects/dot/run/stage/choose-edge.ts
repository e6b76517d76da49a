/** Chooses the edge by which a pipeline leaves a stage. A pure decision from how the stage ended and the context. */
import { holds, type Clause, type ConditionFacts } from '../../model/edge-condition.ts';
import { normalLabel } from '../../model/edge-label.ts';
import { asText } from '../context/context-reader.ts';
import { isFailure, type StageOutput } from './stage-outcome.ts';

/** One edge out of a stage, with what the choice needs to know of it. */
export interface Way {
  /** Name of the edge in the compiled graph. */
  readonly label: string;
  readonly to: string;
  /** Label of the edge in the file. */
  readonly caption: string;
  readonly clauses: readonly Clause[];
  readonly weight: number;
  /** Whether the target decides about failures itself: a diamond, or the fan-in of a parallel stage. */
  readonly takesFailures: boolean;
}

/** The label in the compiled graph for an edge of the file. */
export function wayLabel(index: number): string {
  return `edge ${index}`;
}

/** The label in the compiled graph for a jump, which is no edge of the file. */
export function jumpLabel(target: string): string {
  return `jump ${target}`;
}

/** The label in the compiled graph of the exit's edge to the end. */
export const endLabel = 'end';

/** The label in the compiled graph of the edge of a stage that leads nowhere. It is never taken: the run fails there. */
export const deadEndLabel = 'dead end';

/** The index in the file of the edge with this label. Undefined for the join of branches, which is no edge of the file. */
export function edgeIndexOf(label: string): number | undefined {
  const [, index] = /^edge (\d+)$/.exec(label) ?? [];
  return index === undefined ? undefined : Number(index);
}

/** All edges out of a stage, in the order of the file. */
export interface Ways {
  readonly edges: readonly Way[];
  /** Whether a person chooses among them. Conditions then decide which are offered, and which is taken when nobody chose. */
  readonly isChosen: boolean;
  /** Labels that are answers to a question of yes and no. Only who gave that answer goes there. */
  readonly answers?: readonly string[];
}

/** The parts of a stage's end that affect which edge is taken. */
export type Ending = Pick<StageOutput, 'outcome' | 'preferred_label' | 'suggested_next_ids'>;

/** The edge to take. Undefined means that none fits. @param value - reads the context as it is after the stage */
export function chooseEdge(ways: Ways, ending: Ending, value: (key: string) => unknown): Way | undefined {
  const facts: ConditionFacts = {
    outcome: ending.outcome,
    preferredLabel: ending.preferred_label ?? '',
    context: (key) => asText(value(key)),
  };
  const hasChosen = facts.preferredLabel !== '' || (ending.suggested_next_ids ?? []).length > 0;
  if (ways.isChosen && hasChosen) return chosenWay(ways, ending);
  const open = ways.edges.filter((way) => holds(way.clauses, facts) && (hasChosen || !isAnswer(ways, way)));
  const conditional = open.filter(({ clauses }) => clauses.length > 0);
  if (conditional.length > 0) return bestOf(conditional, ending, false);
  if (ways.isChosen) return undefined;
  return isFailure(ending.outcome) ? forFailure(ways, open, ending) : bestOf(open, ending, false);
}

/** Whether an edge stands for an answer, and asks for nothing else. */
export function isAnswer({ answers = [] }: Ways, { caption, clauses }: Way): boolean {
  return clauses.length === 0 && answers.includes(normalLabel(caption));
}

/** The edge that a person chose, whatever the conditions say now: they decided what was offered. */
function chosenWay(
  { edges }: Ways,
  { preferred_label: label = '', suggested_next_ids: ids = [] }: Ending,
): Way | undefined {
  const isChosen = ({ caption, to }: Way): boolean =>
    (ids.length === 0 || ids.includes(to)) &&
    (label === '' || normalLabel(caption === '' ? to : caption) === normalLabel(label));
  return heaviest(edges.filter(isChosen));
}

/**
 * The edge for a failed stage. An edge without a condition is taken only if it is meant for failures: the stage requested it, it is the
 * else of conditions on the outcome, or its target decides about failures.
 */
function forFailure(ways: Ways, open: readonly Way[], ending: Ending): Way | undefined {
  const matching = bestOf(open, ending, true);
  if (matching !== undefined) return matching;
  return bestOf(hasElse(ways) ? open : open.filter(({ takesFailures }) => takesFailures), ending, false);
}

/** Whether an edge asks for the outcome, so that those without a condition are its else. */
export function hasElse({ edges }: Ways): boolean {
  return edges.some(({ clauses }) => clauses.some(({ key }) => key === 'outcome'));
}

/** The best edge: by preferred label, suggested stages, weight, bytes of the target's name, and order in the file. */
function bestOf(ways: readonly Way[], ending: Ending, mustMatch: boolean): Way | undefined {
  const { preferred_label: label, suggested_next_ids: ids = [] } = ending;
  if (label !== undefined && label !== '') {
    const labelled = ways.filter(({ caption }) => caption !== '' && normalLabel(caption) === normalLabel(label));
    if (labelled.length > 0) return heaviest(labelled);
  }
  for (const id of ids) {
    const suggested = ways.filter(({ to }) => to === id);
    if (suggested.length > 0) return heaviest(suggested);
  }
  return mustMatch ? undefined : heaviest(ways);
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

// What a graph keeps of the choice that a stage's edges share: a text, which is read again to tell people about the edges.

/** The text of the exit's choice, which holds nothing. */
export const exitChoice = 'exit';

/** The stage's edges, the stages to which it may jump, and how often. */
export interface StoredChoice {
  readonly ways: Ways;
  readonly jumps: readonly string[];
  readonly jumpsMax: number;
}

/** Undefined if the text is no choice of a stage. */
export function readChoice(text: string): StoredChoice | undefined {
  if (!text.startsWith('[{"edges":')) return undefined;
  try {
    const [ways, jumps, jumpsMax] = JSON.parse(text) as [Ways, readonly string[], number];
    return Array.isArray(ways.edges) ? { ways, jumps: jumps ?? [], jumpsMax: jumpsMax ?? 0 } : undefined;
  } catch {
    return undefined;
  }
}

/** A condition as it may stand in a file. Empty if there is none. */
export function conditionText(clauses: readonly Clause[]): string {
  return clauses.map(clauseText).join(' && ');
}

function clauseText({ key, operator, value }: Clause): string {
  if (operator === 'set') return key;
  return `${key}${operator}${/^[A-Za-z0-9_.:+-]+$/.test(value) ? value : JSON.stringify(value)}`;
}

/**
 * What stands at an edge when its graph is drawn: the author's label, else the condition; at a jump, what jumps. Empty if there is nothing.
 */
export function captionOf(choice: StoredChoice | undefined, label: string): string {
  const way = choice?.ways.edges.find((one) => one.label === label);
  if (way !== undefined) return way.caption || conditionText(way.clauses);
  if (label === deadEndLabel) return 'the run fails here';
  const isJump = label.startsWith(jumpLabel(''));
  return isJump ? (choice === undefined ? 'goal gate' : 'retry target') : '';
}
