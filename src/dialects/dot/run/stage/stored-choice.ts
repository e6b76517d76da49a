/** What a graph keeps of the choice that a stage's edges share: a text, which is read again to tell people about the edges. */
import type { Clause } from '../../model/condition.ts';
import { deadEndLabel, jumpLabel, type Ways } from './choose-edge.ts';

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

/** What stands at an edge when its graph is drawn: the author's label, else the condition; at a jump, what jumps. Empty if there is nothing. */
export function captionOf(choice: StoredChoice | undefined, label: string): string {
  const way = choice?.ways.edges.find((one) => one.label === label);
  if (way !== undefined) return way.caption || conditionText(way.clauses);
  if (label === deadEndLabel) return 'the run fails here';
  const isJump = label.startsWith(jumpLabel(''));
  return isJump ? (choice === undefined ? 'goal gate' : 'retry target') : '';
}
