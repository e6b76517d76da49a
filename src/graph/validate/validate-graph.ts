/** Validates a definition and collects everything that is wrong with it (G7). */
import type { GraphDefinition, Violation } from '../graph.ts';
import type { LinkedGraph } from '../shape/link-graph.ts';
import { validateChannels } from './validate-channels.ts';
import { validateDoubts } from './validate-doubts.ts';
import { validateEdges } from './validate-edges.ts';
import { validateNodes } from './validate-nodes.ts';
import { validateReads } from './validate-reads.ts';
import { validateShape } from './validate-shape.ts';
import { checkFields, createReport, idFault } from './violations.ts';

const graphFields = ['id', 'nodes', 'edges', 'reducers', 'schemas', 'policies', 'text'];

/** Reports every violation in a definition, errors and warnings. `linked` holds the part of it that could be linked. */
export function validateGraph(definition: GraphDefinition, linked: LinkedGraph): readonly Violation[] {
  const report = createReport();
  checkFields(report, 'graph', definition, graphFields);
  const fault = idFault(definition.id);
  if (fault !== undefined) report.error('G1', 'graph', `the graph's id ${fault}`, 'give an id of 1 to 512 bytes');
  const { text } = definition;
  if (text !== undefined && typeof text !== 'string')
    report.error('G9', 'graph', 'the text is no text', 'give what the graph was compiled from, or leave it out');
  validateNodes(report, definition);
  validateEdges(report, definition);
  validateChannels(report, definition);
  validateShape(report, definition, linked);
  validateReads(report, definition, linked);
  validateDoubts(report, definition);
  return Object.freeze([...report.violations]);
}
