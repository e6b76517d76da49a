/** A store as large as the studio must still be quick on: many runs, many open questions, and one long run over many nodes. */
import { AgentGraph, END, humanNode, NodeFailure, START, type GraphSchemas } from '../../src/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';

/** A run whose one node fails at its last visit. */
export interface LongSizes {
  readonly nodes: number;
  readonly visitsOfEach: number;
}

export interface LargeSizes extends LongSizes {
  readonly runs: number;
  readonly questions: number;
}

const chains = 20;

// oxlint-disable-next-line typescript/no-unnecessary-type-arguments -- the types disagree: without it, names of nodes are no texts
type AnyGraph = AgentGraph<GraphSchemas, Record<string, unknown>>;

/** `long`: chains of nodes beside each other, each gone through several times; one node fails at its last visit. */
function longGraph({ nodes, visitsOfEach }: LongSizes, id = 'long'): AnyGraph {
  const length = Math.max(2, Math.floor(nodes / chains));
  const graph = new AgentGraph<GraphSchemas, Record<string, unknown>>({}, { id, checkpointPolicy: 'every_node' });
  for (let chain = 0; chain < chains; chain += 1) {
    const name = (at: number): string => `c${chain}_${at}`;
    for (let at = 0; at < length; at += 1) {
      const fails = chain === 7 && at === length >> 1;
      graph.addNode(name(at), ({ visit }) => {
        if (fails && visit === visitsOfEach) throw new NodeFailure('the part broke', { applied: 'no' });
        return { visit };
      });
      if (at > 0) graph.addEdge(name(at - 1), name(at));
    }
    graph.addEdge(START, name(0));
    const last = name(length - 1);
    graph.addConditionalEdge(
      last,
      ({ state }) =>
        (state.outputs as Record<string, { visit: number }>)[last]!.visit < visitsOfEach ? 'again' : 'end',
      { again: name(0), end: END },
    );
  }
  return graph;
}

/** Long runs by their ids, each of a graph of its own. @param file - of the SQLite store */
export async function makeLongRuns(file: string, runs: Readonly<Record<string, LongSizes>>): Promise<void> {
  const store = openSqliteStore({ path: file });
  for (const [runId, sizes] of Object.entries(runs)) {
    const graph = longGraph(sizes, `graph-of-${runId}`).compile({ store });
    await graph.invoke({}, { runId });
    await graph.close();
  }
  await store.close();
}

/** @param file - of the SQLite store */
export async function makeLargeStore(file: string, sizes: LargeSizes): Promise<void> {
  const store = openSqliteStore({ path: file });
  const small = new AgentGraph({}, { id: 'small' })
    .addNode('work', ({ input }) => {
      if ((input as { readonly at: number }).at % 17 === 0) throw new NodeFailure('no luck', { applied: 'no' });
      return 'done';
    })
    .addEdge(START, 'work')
    .compile({ store });
  const asking = new AgentGraph({}, { id: 'asking' })
    .addNode('ask', humanNode({ prompt: 'Shall this be done?', choices: ['yes', 'no'] }))
    .addEdge(START, 'ask')
    .compile({ store });
  const long = longGraph(sizes).compile({ store });
  await long.invoke({}, { runId: 'long' });
  const batch = 200;
  const begin = async (graph: typeof small | typeof asking, name: string, total: number): Promise<void> => {
    for (let from = 0; from < total; from += batch)
      await Promise.all(
        Array.from({ length: Math.min(batch, total - from) }, (_, index) =>
          graph.invoke({ at: from + index }, { runId: `${name}-${String(from + index).padStart(5, '0')}` }),
        ),
      );
  };
  await begin(asking, 'asking', sizes.questions);
  await begin(small, 'small', sizes.runs - sizes.questions - 1);
  await Promise.all([small.close(), asking.close(), long.close()]);
  await store.close();
}
