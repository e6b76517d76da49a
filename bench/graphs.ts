/** The graphs that are measured, compiled once for all repetitions. Each commits a checkpoint a node, and what its nodes return was made beforehand. */
import { AgentGraph, END, START, humanNode, mapNode, outcome, type EffectClass, type Graph } from '../src/index.ts';
import type { Message } from './payload.ts';

const policy = { checkpointPolicy: 'every_node', maxVisits: 1_000_000 } as const;

/** Called when a node's function begins; for rows about single nodes. */
export type Tick = (index: number) => void;

/** A chain of distinct nodes, each with an output. */
export function chainGraph(outputs: readonly object[], effectClass: EffectClass, onNode: Tick = () => {}): Graph {
  const graph: AgentGraph = new AgentGraph({}, { id: 'chain', ...policy });
  let before: string = START;
  for (const [index, output] of outputs.entries()) {
    const id = `n${index}`;
    graph.addNode(
      id,
      () => {
        onNode(index);
        return output;
      },
      { effectClass },
    );
    graph.addEdge(before, id);
    before = id;
  }
  return graph.addEdge(before, END).compile().graph;
}

/** A chain of distinct nodes, each of which appends one message to a list. */
export function listGraph(messages: readonly Message[], onNode: Tick): Graph {
  const graph: AgentGraph = new AgentGraph({}, { id: 'list', ...policy, reducers: { 'scratch.messages': 'append' } });
  let before: string = START;
  for (const [index, message] of messages.entries()) {
    const id = `n${index}`;
    graph.addNode(id, () => {
      onNode(index);
      return outcome({ scratch: { messages: [message] } });
    });
    graph.addEdge(before, id);
    before = id;
  }
  return graph.addEdge(before, END).compile().graph;
}

/** One node that appends each item to a list after an `external` step of its own, beside a state that never changes. */
export function appendingGraph(items: readonly string[], constant: readonly string[]): Graph {
  const state = Object.fromEntries(constant.map((text, index) => [`constant${index}`, text]));
  return new AgentGraph({}, { id: 'append', ...policy })
    .addNode('first', () => outcome({ scratch: state }))
    .addNode(
      'agent',
      async (ctx) => {
        for (const [index, item] of items.entries()) {
          await ctx.step('call', { effect: 'external', input: index }, () => 'done');
          await ctx.append('log', [item]);
        }
      },
      { effectClass: 'read' },
    )
    .addEdge(START, 'first')
    .addEdge('first', 'agent')
    .addEdge('agent', END)
    .compile().graph;
}

/** One map over as many items as there are outputs; eight at once. */
export function mapGraph(outputs: readonly object[], effectClass: EffectClass): Graph {
  const items = outputs.map((_, index) => index);
  const graph: AgentGraph = new AgentGraph({}, { id: 'map', ...policy });
  graph.addNode('map', mapNode({ over: () => items, each: ({ item }) => outputs[item], concurrency: 8, effectClass }));
  return graph.addEdge(START, 'map').addEdge('map', END).compile().graph;
}

export interface LoopState {
  readonly messages?: readonly Message[];
}

/** One node visited again and again, which counts and writes what `work` gives for a visit; then a question, at which the run pauses. */
export function pausingLoopGraph(visits: number, work: (index: number) => LoopState): Graph {
  return new AgentGraph({}, { id: 'loop', ...policy, reducers: { 'scratch.messages': 'append' } })
    .addNode('step', ({ visit }) => outcome({ scratch: { count: visit, ...work(visit - 1) } }))
    .addNode('ask', humanNode({ prompt: 'Go on?' }))
    .addEdge(START, 'step')
    .addEdge('step', 'step', { when: ({ state }) => (state.scratch['count'] as number) < visits })
    .addEdge('step', 'ask', { when: ({ state }) => (state.scratch['count'] as number) >= visits })
    .addEdge('ask', END)
    .compile().graph;
}
