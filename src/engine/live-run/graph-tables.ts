/** Facts about a graph that all of its frames need, computed once per graph. */
import type { Graph } from '../../graph/graph.ts';
import { CodeNames } from '../../state/channels/code-names.ts';
import { compileChannels, type ChannelTable } from '../../state/channels/run-reducer.ts';

interface GraphTables {
  readonly channels: ChannelTable;
  readonly outputNames: ReadonlyMap<string, string>;
  readonly codeNames: CodeNames;
  /** Whether some reducer applies inside of a channel, so that one written path may be part of another. */
  readonly hasNestedReducers: boolean;
}

const tablesOf = new WeakMap<Graph, GraphTables>();

export function graphTables(graph: Graph): GraphTables {
  let tables = tablesOf.get(graph);
  if (tables === undefined) {
    const named = graph.nodes.filter((node) => node.outputAs !== undefined);
    tables = {
      channels: compileChannels(graph.reducers),
      outputNames: new Map(named.map((node) => [node.outputAs as string, node.id])),
      codeNames: codeNamesOf(graph),
      hasNestedReducers: Object.keys(graph.reducers).some((path) => path.split('.').length > 2),
    };
    tablesOf.set(graph, tables);
  }
  return tables;
}

function codeNamesOf({ nodes }: Graph): CodeNames {
  const named = nodes.flatMap(({ id, outputAs, inCode }) => (inCode === undefined ? [] : [{ id, outputAs, inCode }]));
  return new CodeNames(
    named.map(({ id, inCode }) => [inCode.node, id]),
    named.flatMap(({ outputAs, inCode }) => (inCode.outputAs === undefined ? [] : [[inCode.outputAs, outputAs ?? '']])),
  );
}
