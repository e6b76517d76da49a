/** Reads a compiled graph as an outline: its order, its ways, and what of its nodes is data. */
import type { Graph } from '../../../graph/graph.ts';
import { layWays } from '../outline/lay-ways.ts';
import { type Notes, type Outline, reachableSteps } from '../outline/outline.ts';
import { GraphReading } from './graph-reading.ts';
import { layGraph } from './lay-graph.ts';
import { goesOneWay, walkGraph } from './walk-graph.ts';

export function outlineOfGraph(graph: Graph, notes: Notes): Outline {
  const reading = new GraphReading(graph, notes);
  const ways =
    graph.holdsOneToken || goesOneWay(graph) ? walkGraph(reading) : layWays(layGraph(reading), graph.id, notes);
  noteGraph(graph, notes);
  const { budget, onBudget } = graph.policies;
  return {
    name: graph.id,
    description: undefined,
    inputs: [],
    budget: budget === undefined ? {} : { budget, ...(onBudget !== undefined && { onBudget }) },
    first: ways.first,
    steps: reachableSteps(ways),
  };
}

function noteGraph({ id, schemas, reducers }: Graph, notes: Notes): void {
  if (schemas.input !== undefined)
    notes.lost('CODE', id, 'the schema of the input does not carry over: there are no inputs', 'declare the inputs');
  for (const path of Object.keys(reducers))
    notes.lost('CODE', id, `the reducer of ${path} does not carry over`, 'nothing, unless a command needs the value');
}
