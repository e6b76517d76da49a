/** Short ways to write the graphs of tests. */
import { AgentGraph, END, START, type GraphSchemas, type StreamEvent } from '../../src/index.ts';

type Options = ConstructorParameters<typeof AgentGraph>[1];

/** A graph that takes any node id. */
export const open = (options: Options = {}, schemas: GraphSchemas = {}): AgentGraph => new AgentGraph(schemas, options);

/** START -> ids… -> END. */
export function chain(graph: AgentGraph, ...ids: readonly string[]): AgentGraph {
  for (const [index, id] of ids.entries()) graph.addEdge(ids[index - 1] ?? START, id);
  return graph.addEdge(ids.at(-1) ?? START, END);
}

/** Sides that start together and meet in `join`, which leads to END. */
export function diamond(graph: AgentGraph, sides: readonly string[], join: string): AgentGraph {
  for (const side of sides) graph.addEdge(START, side).addEdge(side, join);
  return graph.addEdge(join, END);
}

/** After the callbacks that are waiting now. */
export const later = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** All items, or the first few: then no more are asked for. */
export async function collect<Item = StreamEvent>(
  items: AsyncIterable<Item>,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly Item[]> {
  const seen: Item[] = [];
  for await (const item of items) if (seen.push(item) === limit) break;
  return seen;
}
