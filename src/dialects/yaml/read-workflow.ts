/** Reads workflows: from a text, from the text kept with a run, or only to say what is wrong. */
import { CairnError } from '../../errors.ts';
import type { Violation } from '../../graph/graph.ts';
import { parseBundle } from './compile/bundle-text.ts';
import type { Compiled } from './compile/compile-workflow.ts';
import type { BundleOptions, ReadOptions } from './file/read-options.ts';
import { WorkflowLinker } from './compile/workflow-linker.ts';
import type { TextWorkflow } from '../text-workflow.ts';

/** A workflow if its text is one, and all that is to be said of it, warnings included. */
export interface CheckedWorkflow {
  readonly workflow: TextWorkflow | undefined;
  readonly violations: readonly Violation[];
}

/**
 * Reads a workflow and every workflow it names.
 * @throws GRAPH_PARSE the text is no YAML mapping, with the first place in `line` and all in `violations`; GRAPH_INVALID with all
 *   violations; PERMISSION_DENIED an inline workflow reaches for more than it is granted, and nothing else is wrong with it
 */
export function readWorkflow(text: string, options: ReadOptions): TextWorkflow {
  const compiled = new WorkflowLinker(text, options).compile();
  return compiled.workflow ?? refuse(compiled, options);
}

/** Says what a text is and what is wrong with it; never throws, whatever the text. What it may reach for is not asked. */
export function checkWorkflow(text: string, options: ReadOptions): CheckedWorkflow {
  const { workflow, violations } = new WorkflowLinker(text, { ...options, origin: 'file' }).compile();
  return { workflow, violations };
}

/**
 * Reads the workflow that a run was started with, from the text that was kept with it. An inline one is held to the permissions of
 * this process, not of the one that started it.
 * @throws GRAPH_PARSE the text is not one that a workflow left; and as {@link readWorkflow}
 */
export function readBundle(text: string, options: BundleOptions): TextWorkflow {
  const { origin, text: main, others, checkpoint } = parseBundle(text);
  return readWorkflow(main.text, {
    ...options,
    origin,
    source: main.source,
    workflows: { get: (name) => others.get(name), names: () => [...others.keys()] },
    ...(checkpoint !== undefined && { checkpoint }),
  });
}

function refuse({ violations, isUnreadable = false }: Compiled, { source = 'inline' }: ReadOptions): never {
  const errors = violations.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (isUnreadable) {
    const [, line] = /:(\d+):\d+$/.exec(first?.place ?? '') ?? [];
    throw new CairnError('GRAPH_PARSE', {
      file: source,
      ...(line !== undefined && { line: Number(line) }),
      reason: first?.message,
      violations,
    });
  }
  if (errors.length > 0 && errors.every(({ rule }) => rule === 'Y6'))
    throw new CairnError('PERMISSION_DENIED', {
      need: first?.place,
      reason: errors.map(({ message }) => message).join('; '),
      violations,
    });
  throw new CairnError('GRAPH_INVALID', { graphId: source, violations });
}
