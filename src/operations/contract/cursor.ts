/**
 * Places in lists at which a next page begins. A cursor is of one list with one filter, and refused for another, where it would skip or
 * repeat.
 */
import { canonicalText, hashText } from '../../state/values/canonical-text.ts';
import { CairnError } from '../../errors.ts';
import type { Field } from './operation.ts';

/** Entries of a page at most, for callers elsewhere. */
export const pageMax = 1_000;

/** The input fields of a list that is read page by page. @param size - entries of a page unless it is said otherwise */
export function pageFields(size: number): { readonly limit: Field; readonly cursor: Field } {
  return {
    limit: { type: 'integer', description: 'how many at most', default: size, min: 1, max: pageMax },
    cursor: {
      type: 'text',
      description: 'go on where the page before ended: the cursor it gave, with the same filter',
      shownName: 'after',
    },
  };
}

/** Short for what a filter says, whatever the order of its fields; how many entries a page has is no part of it. */
const checkOf = (list: string, filter: object): string =>
  hashText(`${list} ${canonicalText(JSON.parse(JSON.stringify(filter)))}`).slice(0, 8);

/** @param place - where the next page begins, as the list itself names it @param list - its operation */
export function sealCursor(place: string, list: string, filter: object): string {
  return `${place}~${checkOf(list, filter)}`;
}

/** The place in a cursor. @throws USAGE_INVALID it is none, or is of another list or of another filter */
export function openCursor(cursor: string, list: string, filter: object): string {
  const [, place, check] = /^(.+)~([\w-]{8})$/su.exec(cursor) ?? [];
  const invalid = (reason: string): CairnError =>
    new CairnError('USAGE_INVALID', { reason, hint: 'Give the cursor of the page before, with the same filter.' });
  if (place === undefined) throw invalid(`no cursor: ${JSON.stringify(cursor.slice(0, 60))}`);
  if (check !== checkOf(list, filter)) throw invalid('the cursor is of another list or filter');
  return place;
}
