/** LangGraph.js: a loop of one node over its own store in memory. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installPeer } from './install-peer.ts';

const packages = ['@langchain/langgraph@1', '@langchain/core@1'];

/** The part of it that is used here. */
export interface LangGraph {
  readonly StateGraph: new (state: unknown) => LangGraphBuilder;
  readonly Annotation: { readonly Root: (channels: object) => unknown } & ((...args: unknown[]) => unknown);
  readonly MemorySaver: new () => unknown;
  readonly START: string;
  readonly END: string;
}

interface LangGraphBuilder {
  addNode(name: string, work: (state: LoopState) => LoopState): this;
  addEdge(from: string, to: string): this;
  addConditionalEdges(from: string, choose: (state: LoopState) => string): this;
  compile(options: object): { invoke(input: LoopState, config: object): Promise<LoopState> };
}

interface LoopState {
  readonly last?: object;
  readonly n: number;
}

/** @throws NotMeasured it cannot be installed here */
export async function importLangGraph(): Promise<LangGraph> {
  const entry = 'entry.mjs';
  const folder = installPeer('langgraph', packages, { [entry]: "export * from '@langchain/langgraph';\n" });
  return (await import(pathToFileURL(join(folder, entry)).href)) as LangGraph;
}

/** Milliseconds of a loop of one node that returns these outputs, one checkpoint a step, each awaited. */
export async function timeLangGraphLoop(langGraph: LangGraph, outputs: readonly object[]): Promise<number> {
  const { StateGraph, Annotation, MemorySaver, START, END } = langGraph;
  const graph = new StateGraph(Annotation.Root({ last: Annotation, n: Annotation }))
    .addNode('step', (state) => ({ last: outputs[state.n]!, n: state.n + 1 }))
    .addEdge(START, 'step')
    .addConditionalEdges('step', (state) => (state.n >= outputs.length ? END : 'step'))
    .compile({ checkpointer: new MemorySaver() });
  const startMs = performance.now();
  const { n } = await graph.invoke(
    { n: 0 },
    { configurable: { thread_id: '1' }, recursionLimit: 1_000_000, durability: 'sync' },
  );
  const took = performance.now() - startMs;
  if (n !== outputs.length) throw new Error(`LangGraph.js made ${n} steps`);
  return took;
}
