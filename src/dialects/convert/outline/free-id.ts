/** Ids of steps that conversion adds. */

/** An id that is not taken yet. */
export function freeId(wanted: string, taken: { has(id: string): boolean }): string {
  let id = wanted;
  for (let count = 2; taken.has(id); count += 1) id = `${wanted}_${count}`;
  return id;
}
