/** Writes an outline as a pipeline: a stage for each step, an edge for each end. */
import { printDot } from '../../dot/text/print-dot.ts';
import type { AttributeSyntax, Syntax } from '../../dot/text/syntax.ts';
import { freeId } from '../outline/free-id.ts';
import type { Notes } from '../outline/notes.ts';
import { failure, finish, type Outline, type Target } from '../outline/outline.ts';
import { edgePairs, graphPairs, type Pairs } from './dot-pairs.ts';
import { StageWriter } from './dot-stage.ts';
import { withFittingInputs } from './rename-inputs.ts';
import { withFittingIds } from './rename-steps.ts';
import { withStops } from './stops.ts';

export function writeDot(given: Outline, notes: Notes): string {
  // A stage that fails, and whose failure no edge takes, fails the run.
  const stopped = withStops(given, (_, { on }) => on === 'fail');
  const outline = withFittingInputs(withFittingIds(stopped, fittingId, notes), notes);
  const ids = new Set(outline.steps.map(({ id }) => id));
  const start = freeId('start', ids);
  const exit = freeId('exit', ids);
  const stageOf = (target: Target): string => (target === finish ? exit : target);
  const writer = new StageWriter(outline.inputs, notes);
  const statements: Syntax[] = [
    ...defaults(graphPairs(outline, notes)),
    node(start, [['shape', 'Mdiamond']]),
    node(exit, [['shape', 'Msquare']]),
    ...outline.steps.map((step) => node(step.id, writer.attributesOf(step))),
    edge(start, stageOf(outline.first), []),
    ...outline.steps.flatMap((step) =>
      step.ends.filter(({ to }) => to !== failure).map((end) => edge(step.id, stageOf(end.to), edgePairs(step, end))),
    ),
  ];
  return printDot({ name: outline.name, comments: [], statements, closing: [] });
}

const words = /^(?:graph|digraph|node|edge|subgraph|strict|outputs)$/i;

function fittingId(id: string): string {
  const plain = id.replaceAll(/[^\p{L}\p{N}_]/gu, '_').replace(/^(?=\p{N})/u, 'n') || 'step';
  return words.test(plain) || plain.startsWith('__') ? `step_${plain}` : plain;
}

function attributes(pairs: Pairs): readonly AttributeSyntax[] {
  return pairs.flatMap(([key, value]) => (value === undefined ? [] : [{ key, value, at: 0, valueAt: 0 }]));
}

function node(id: string, pairs: Pairs): Syntax {
  return { kind: 'node', id, attributes: attributes(pairs), at: 0, comments: [] };
}

function edge(from: string, to: string, pairs: Pairs): Syntax {
  const ends = [from, to].map((id) => ({ id, at: 0 }));
  return { kind: 'edge', ends, attributes: attributes(pairs), at: 0, comments: [] };
}

/** The attributes of the graph, if it has any. */
function defaults(pairs: Pairs): readonly Syntax[] {
  const given = attributes(pairs);
  return given.length === 0 ? [] : [{ kind: 'defaults', of: 'graph', attributes: given, at: 0, comments: [] }];
}
