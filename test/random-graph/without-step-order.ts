/** The steps of a map stand in the order in which they were recorded, which in a fork is another. */
export function withoutStepOrder(state: string): string {
  return state.replaceAll(/\[[\d,]+\]/gu, (list) => `[${list.slice(1, -1).split(',').toSorted().join()}]`);
}
