/** Converts a workflow of the `{{ }}` form to a file of this version, for people who go on editing it. */
import { CairnError } from '../../errors.ts';
import { translateDocument } from './braces/translate-document.ts';
import { Faults } from './file/faults.ts';
import { readDocument } from './file/read-document.ts';
import type { ReadOptions } from './file/read-options.ts';
import { callTypes } from './file/workflow-file.ts';
import { writeDocument } from './file/write-document.ts';

export interface ConvertedWorkflow {
  /** The converted file; unchanged if nothing in it is of the other form. */
  readonly text: string;
  /** Number of values that were changed. */
  readonly changedCount: number;
}

/** @throws GRAPH_PARSE the text is not a YAML mapping; GRAPH_INVALID lists everything that has no counterpart */
export function convertWorkflow(
  text: string,
  { nodeTypes, source = 'inline' }: Pick<ReadOptions, 'nodeTypes' | 'source'>,
): ConvertedWorkflow {
  const { document, faults: unreadable } = readDocument(text, source);
  if (document === undefined) {
    const [first] = unreadable;
    throw new CairnError('GRAPH_PARSE', { file: source, reason: first?.message, violations: unreadable });
  }
  const types = new Map([...callTypes, ...nodeTypes].map((type) => [type.name, type]));
  const faults = new Faults(document);
  const { changes } = translateDocument(document, types, faults);
  if (faults.hasErrors) throw new CairnError('GRAPH_INVALID', { graphId: source, violations: faults.violations });
  return { text: changes.length === 0 ? text : writeDocument(text, changes), changedCount: changes.length };
}
