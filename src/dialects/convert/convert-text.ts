/** Converts workflows from one dialect to another, and tells what does not carry over. */
import type { Graph } from '../../graph/graph.ts';
import { layWays } from './outline/lay-ways.ts';
import { Notes, type ConversionNote } from './outline/notes.ts';
import { type Outline, reachableSteps } from './outline/outline.ts';
import { GraphReading } from './from-graph/graph-reading.ts';
import { layGraph } from './from-graph/lay-graph.ts';
import { goesOneWay, walkGraph } from './from-graph/walk-graph.ts';
import type { NodeType } from '../../graph/contracts/node-type.ts';
import type { TextWorkflow } from '../text-workflow.ts';
import { parseSavedText } from '../dot/saved-text.ts';
import { outlineOfPipeline } from './from-dot/outline-of-pipeline.ts';
import { outlineOfWorkflow } from './from-yaml/outline-of-workflow.ts';
import { writeDot } from './write/write-dot.ts';
import { writeYaml } from './write/write-yaml.ts';

export type WrittenDialect = 'yaml' | 'dot';

export interface Conversion {
  readonly text: string;
  readonly notes: readonly ConversionNote[];
}

interface TextToConvert {
  readonly text: string;
  /** Its name in places. */
  readonly source: string;
  /** What was read from it: it has no errors. */
  readonly workflow: TextWorkflow;
  readonly from: WrittenDialect;
  readonly nodeTypes: readonly NodeType[];
}

export function convertText(input: TextToConvert, to: WrittenDialect): Conversion {
  const notes = new Notes();
  const outline = outlineOf(input, notes);
  return writeOutline(outline, input.workflow.graph, to, notes);
}

export function convertGraph(graph: Graph, to: WrittenDialect): Conversion {
  const notes = new Notes();
  return writeOutline(outlineOfGraph(graph, notes), graph, to, notes);
}

function outlineOf({ text, source, workflow, from, nodeTypes }: TextToConvert, notes: Notes): Outline {
  noteRunEnds(workflow.graph, notes);
  return from === 'dot'
    ? outlineOfPipeline(text, { source, files: parseSavedText(workflow.graph.text ?? '').files, notes })
    : outlineOfWorkflow(text, { source, nodeTypes, workflow, notes });
}

function writeOutline(read: Outline, { webhooks = [] }: Graph, to: WrittenDialect, notes: Notes): Conversion {
  const outline = { ...read, webhooks };
  const isByHand = notes.all.some(({ code }) => code === 'WORK' || code === 'CODE');
  if (isByHand && outline.steps.every(({ work }) => work.kind === 'choice'))
    notes.lost(
      'NOTHING',
      outline.name,
      'nothing is left that runs without a person',
      'write what its steps do in the other dialect',
    );
  const text = to === 'dot' ? writeDot(outline, notes) : writeYaml(outline, notes);
  return { text, notes: notes.all };
}

// Reads a compiled graph as an outline: its order, its ways, and what of its nodes is data.

function outlineOfGraph(graph: Graph, notes: Notes): Outline {
  const reading = new GraphReading(graph, notes);
  const ways =
    graph.holdsOneToken || goesOneWay(graph) ? walkGraph(reading) : layWays(layGraph(reading), graph.id, notes);
  noteGraph(graph, notes);
  noteRunEnds(graph, notes);
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

/** What is said of the end of a run stands beside its steps, and is written by hand. */
function noteRunEnds({ id, policies: { timeLimit, limit, title, onCancel, onRunFailure } }: Graph, notes: Notes): void {
  if (timeLimit !== undefined)
    notes.lost(
      'SETTING',
      id,
      'the time limit of the run does not carry over',
      'write time_limit in the text that is written',
    );
  if (limit !== undefined)
    notes.lost('SETTING', id, 'the limit of runs does not carry over', 'write limit in the text that is written');
  if (title !== undefined)
    notes.lost('SETTING', id, 'the title of runs does not carry over', 'write title in the text that is written');
  for (const [what, node] of [
    ['a cancel', onCancel],
    ['the failure of the run', onRunFailure],
  ] as const)
    if (node !== undefined)
      notes.lost('SETTING', id, `${node}, which follows ${what}, does not carry over`, 'write it by hand');
}

function noteGraph({ id, schemas, reducers }: Graph, notes: Notes): void {
  if (schemas.input !== undefined)
    notes.lost('CODE', id, 'the schema of the input does not carry over: there are no inputs', 'declare the inputs');
  for (const path of Object.keys(reducers))
    notes.lost('CODE', id, `the reducer of ${path} does not carry over`, 'nothing, unless a command needs the value');
}
