/** Small graphs written as lines, and runs of them written as what each visit fires. */
import { compileGraph } from '../../src/graph/compile/compile-graph.ts';
import { type Graph, type Join, END, START } from '../../src/graph/graph.ts';
import { createDriver, type Driver } from './plan-driver.ts';

export type Joins = Readonly<Record<string, Join>>;

const names = new Map([
  ['START', START],
  ['END', END],
]);

/** A graph from lines such as `a > b c`; `a >! b` is an `always` edge. */
export function graphOf(lines: readonly string[], joins: Joins = {}): Graph {
  const real = (id: string): string => names.get(id) ?? id;
  const edges = lines.flatMap((line) => {
    const [from = '', always, targets = ''] = line.split(/ >(!?) /);
    return targets.split(' ').map((to) => ({ from: real(from), to: real(to), always: always === '!' }));
  });
  const ids = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const nodes = [...ids]
    .filter((id) => id !== START && id !== END)
    .map((id) => ({
      id,
      type: 'function',
      effect: 'pure' as const,
      join: Object.hasOwn(joins, id) ? (joins[id] ?? 'some') : ('some' as const),
      implementation: { run: (): undefined => undefined },
    }));
  return compileGraph({ id: 'case', nodes, edges });
}

/** For each node, what its visits fire in turn: targets, `-` for none, `?` for a `when` that is false. Default: every edge. */
export type Script = Readonly<Record<string, readonly string[]>>;

export const idOf = (graph: Graph, node: number): string => {
  const id = graph.nodes[node]?.id ?? '';
  return [...names].find(([, real]) => real === id)?.[0] ?? id;
};

export function drive(
  lines: readonly string[],
  script: Script = {},
  joins: Joins = {},
): Driver & { readonly number: (id: string) => number } {
  const graph = graphOf(lines, joins);
  const driver = createDriver(graph, (node, visit) => {
    const outgoing = graph.nodes[node]?.outgoing ?? [];
    const said = script[idOf(graph, node)]?.[visit - 1];
    if (said === '?') return undefined;
    if (said === undefined) return outgoing;
    return outgoing.filter((edge) => said.split(' ').includes(idOf(graph, edge.to)));
  });
  const number = (id: string): number => graph.nodeIndex.get(names.get(id) ?? id) ?? -1;
  return Object.defineProperties(
    { number } as Driver & { number: (id: string) => number },
    Object.getOwnPropertyDescriptors(driver),
  );
}

/** Settles what is open, oldest first, until nothing is; returns the visits in order. */
export function finish(driver: Driver, keepOpen: readonly string[] = []): readonly string[] {
  const log: string[] = [];
  const next = (): number | undefined =>
    [...driver.open.keys()].find((node) => !keepOpen.includes(idOf(driver.graph, node)));
  for (let node = next(); node !== undefined && log.length < 200; node = next()) {
    log.push(`${idOf(driver.graph, node)}${driver.open.get(node)?.visit ?? ''}`);
    driver.settle(node);
  }
  return log.slice(log[0] === 'START1' ? 1 : 0);
}
