/** The last node of a workflow: computes its outputs once every block is over, whether or not it succeeded. */
import { CairnError } from '../../../errors.ts';
import type { NodeDefinition } from '../../../graph/graph.ts';
import { shareBudget } from '../../../graph/expression/expression-budget.ts';
import { scopeOf, type WorkflowParts } from './block-parts.ts';
import { convertOutput } from './convert-output.ts';
import type { TemplateReader } from './template-reader.ts';
import type { Scope, Template } from '../expression/template.ts';
import type { OutputFile } from '../file/workflow-file.ts';

/** The node's id. No block may have it. */
export const outputsId = 'outputs';

interface OutputTemplate {
  readonly file: OutputFile;
  readonly template: Template;
}

/** Reads the outputs of a workflow and makes the node that computes them. */
export function defineOutputs(
  reader: TemplateReader,
  files: readonly OutputFile[],
  workflow: WorkflowParts,
): NodeDefinition {
  const outputs = files.map((file): OutputTemplate => ({ file, template: reader.value(file.value, file.at) }));
  return {
    id: outputsId,
    type: outputsId,
    effect: 'pure',
    atMost: 'nothing',
    join: 'all',
    config: {
      outputs: files.map(({ name, value, type }) => ({ name, value, ...(type === undefined ? {} : { type }) })),
    },
    implementation: {
      run: (ctx) => {
        const scope = scopeOf(workflow, ctx);
        return shareBudget(() =>
          Object.fromEntries(outputs.map((output) => [output.file.name, computeOutput(output, scope)])),
        );
      },
      codeText: outputsId,
    },
  };
}

function computeOutput({ file, template }: OutputTemplate, scope: Scope): unknown {
  let value: unknown;
  try {
    value = template.evaluate(scope);
  } catch (error) {
    // The blocks are over, and a skipped block is no fault: an output that refers to what it lacks is null.
    if (CairnError.is(error, 'REFERENCE_ABSENT')) return null;
    throw error;
  }
  if (file.type === undefined || value === null || value === undefined) return value ?? null;
  return convertOutput(file.name, file.type, value);
}
