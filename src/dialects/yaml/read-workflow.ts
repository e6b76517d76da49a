/** Reads workflows: from a text, from the text recorded with a run, or only to check them. */
import { CairnError } from '../../errors.ts';
import type { ReadOptions, BundleOptions, CheckedWorkflow, WorkflowTexts } from './file/read-options.ts';
import { parseBundle, WorkflowLinker } from './compile/workflow-linker.ts';
import type { Compiled } from './compile/compile-workflow.ts';
import type { TextWorkflow } from '../text-workflow.ts';

/**
 * Reads a workflow and every workflow that it names.
 * @throws GRAPH_PARSE the text is not a YAML mapping, with the first place in `line` and all in `violations`; GRAPH_INVALID with all
 * violations; PERMISSION_DENIED an inline workflow needs more than it is granted, and nothing else is wrong with it
 */
export function readWorkflow(text: string, options: ReadOptions): TextWorkflow {
  const compiled = new WorkflowLinker(text, options).compile();
  return compiled.workflow ?? refuse(compiled, options);
}

/** Checks a text without checking permissions. It never throws. */
export function checkWorkflow(text: string, options: ReadOptions): CheckedWorkflow {
  const { workflow, violations } = new WorkflowLinker(text, { ...options, origin: 'file' }).compile();
  return { workflow, violations };
}

/**
 * Reads the workflow of a run from the text recorded with it. An inline workflow is restricted to the permissions of this process, not of
 * the one that started it. With `origin: 'inline'` the record is somebody else's: every text in it is restricted, whatever was recorded.
 * @throws GRAPH_PARSE the text was not recorded by a workflow; and the errors of {@link readWorkflow}
 */
export function readBundle(text: string, options: BundleOptions): TextWorkflow {
  const { origin: recorded, text: main, others, checkpoint } = parseBundle(text);
  const recordedTexts: WorkflowTexts = { get: (name) => others.get(name), names: () => [...others.keys()] };
  const isForeign = options.origin === 'inline';
  return readWorkflow(main.text, {
    ...options,
    ...(isForeign ? { carried: recordedTexts } : { origin: recorded, workflows: recordedTexts }),
    source: main.source,
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
