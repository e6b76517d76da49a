/** Says in words why an edge out of a stage was taken or not, by the rules of `chooseEdge`. */
import { normalLabel } from '../../model/labels.ts';
import { hasElse, isAnswer, type Way, type Ways } from './choose-edge.ts';
import type { StageOutput } from './stage-outcome.ts';

export function whyTaken(way: Way, { edges, isChosen }: Ways, ending: StageOutput): string {
  const asked = whyAsked(way, ending);
  if (isChosen && hasChosen(ending)) return `it was chosen: ${JSON.stringify(ending.preferred_label ?? way.to)}`;
  if (isChosen) return 'nobody chose, and its condition holds';
  if (asked !== '') return asked;
  if (way.clauses.length > 0) return 'its condition holds';
  if (edges.length === 1) return ending.outcome === 'fail' ? 'it takes failures' : 'it is the only one';
  if (ending.outcome === 'fail') return 'it is there for failures';
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

export function whyNot(way: Way, { isOpen, taken, ways, ending }: NotTaken): string {
  if (ways.isChosen && hasChosen(ending)) return isOpen ? 'another was chosen' : 'its condition does not hold';
  if (!isOpen) return 'its condition does not hold';
  if (!hasChosen(ending) && isAnswer(ways, way)) return 'nobody gave that answer';
  if (way.clauses.length === 0 && taken !== undefined && taken.clauses.length > 0)
    return `the condition of the way to ${taken.to} holds`;
  if (ways.isChosen) return 'nobody chose it';
  const isBarred = way.clauses.length === 0 && ending.outcome === 'fail' && !way.takesFailures && !hasElse(ways);
  if (taken === undefined || (isBarred && whyAsked(way, ending) === '')) return 'it is not meant for failures';
  if (whyAsked(taken, ending) !== '' && whyAsked(way, ending) === '')
    return `the stage asked for the way to ${taken.to}`;
  return `the way to ${taken.to} comes before it`;
}

export function jumpsUsedUp(jumpsMax: number): string {
  return `max_retry_jumps of ${jumpsMax} is used up`;
}

function hasChosen({ preferred_label: label = '', suggested_next_ids: ids = [] }: StageOutput): boolean {
  return label !== '' || ids.length > 0;
}

/** How a stage asked for an edge. Empty if it did not. */
function whyAsked({ caption, to }: Way, { preferred_label: label, suggested_next_ids: ids = [] }: StageOutput): string {
  const isLabelled = caption !== '' && label !== undefined && normalLabel(caption) === normalLabel(label);
  if (isLabelled) return `the stage preferred ${JSON.stringify(label)}`;
  return ids.includes(to) ? `the stage suggested ${to}` : '';
}
