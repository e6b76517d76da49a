/** The names of nodes that the author did not name are made of a name beside them, and are renamed with it (G15). */
import type { NodeDefinition } from '../graph/graph.ts';

/** What is added to a name, by the type of the node that it makes. */
const suffixes: Readonly<Record<string, readonly string[]>> = {
  approval: ['?'],
  router: ['_branch'],
  join: ['_join', '_end'],
};

/** Also renames the nodes whose names are made of a renamed one. */
export function withDerived(
  renamed: Readonly<Record<string, string>>,
  nodes: readonly NodeDefinition[],
): Readonly<Record<string, string>> {
  const derived = nodes.flatMap(({ id, type }) =>
    (suffixes[type] ?? []).flatMap((suffix) => {
      const recorded = id.endsWith(suffix) ? renamed[id.slice(0, -suffix.length)] : undefined;
      return recorded === undefined ? [] : [[id, `${recorded}${suffix}`] as const];
    }),
  );
  return { ...Object.fromEntries(derived), ...renamed };
}
