/** Which runs are chosen. */

/** Chosen one by one, or all that the filter names, those that are not loaded too. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly isAll: boolean;
}

export const nothingChosen: Selection = { ids: new Set(), isAll: false };
