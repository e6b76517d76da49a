/** Converts node paths to places in the run's tree. A node path alternates between node ids and names of child runs, and ends with a node id. */

/** Keys from the run's root tree to the frame that holds the last node of the path. */
export function treePathOf(nodePath: readonly string[]): readonly string[] {
  const path = ['frame'];
  for (let index = 0; index + 1 < nodePath.length; index += 2) {
    path.push('nodes', nodePath[index] as string, 'children', nodePath[index + 1] as string);
  }
  return path;
}

/** Keys from the run's root tree to the record of the node. */
export function recordPathOf(nodePath: readonly string[]): readonly string[] {
  return [...treePathOf(nodePath), 'nodes', nodePath.at(-1) as string];
}

/** The key of a node path in tables of the tree. */
export function pathKeyOf(path: readonly string[]): string {
  return JSON.stringify(path);
}

/**
 * The key under which an outcome's original updates are stored. It includes the visit, because several visits may settle in one checkpoint.
 */
export function outcomeKeyOf(path: readonly string[], visit: number): string {
  return visit === 1 ? pathKeyOf(path) : `${pathKeyOf(path)}#${visit}`;
}

/** The key for steps of a given key, whatever the visit. */
export const stepKeyOf = (path: readonly string[], step: string): string => `${pathKeyOf(path)}\0${step}`;
