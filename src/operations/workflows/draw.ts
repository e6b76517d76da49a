/** `draw`: a graph as a picture; of a run, coloured by what happened. */
import { flag, objectOf, text } from '../contract/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { pictureOf } from '../../dialects/dot/picture/picture.ts';
import type { Operation, WorkContext } from '../contract/operation.ts';
import { postMortem } from '../runs/post-mortem.ts';

export interface DrawInput {
  readonly target: string;
  readonly name?: string;
}

export interface DrawOutput {
  readonly svg: string;
  /** Whether it is coloured by what happened. */
  readonly isRun: boolean;
}

export const draw: Operation<DrawInput, DrawOutput, WorkContext> = {
  name: 'draw_graph',
  command: 'draw',
  summary: 'draw a workflow, or a run coloured by what happened, as SVG',
  input: {
    target: {
      type: 'text',
      description: 'a file (.yaml, .dot, or a module that exports a graph), a workflow by its name, or a run',
      isRequired: true,
      isPositional: true,
    },
    name: { type: 'text', description: 'the export of a module that is meant' },
  },
  output: 'the picture',
  outputSchema: objectOf({ svg: text, isRun: flag }),
  isReadOnly: true,
  scope: 'read',
  async run(context, { target, name }) {
    const ofRun = name === undefined ? await pictureOfRun(context, target) : undefined;
    const svg = ofRun ?? (await pictureOfGraph(context, { target, ...(name !== undefined && { name }) }));
    return { svg, isRun: ofRun !== undefined };
  },
};

async function pictureOfGraph(context: WorkContext, { target, name }: DrawInput): Promise<string> {
  try {
    return pictureOf((await context.loadGraph(target, name)).graph.structure);
  } catch (error) {
    if (name !== undefined || !CairnError.is(error, 'WORKFLOW_NOT_FOUND')) throw error;
    throw new CairnError(error.code, { ...error.data, also: 'no run of that id' });
  }
}

/** Undefined means that there is no such run. */
async function pictureOfRun(context: WorkContext, target: string): Promise<string | undefined> {
  try {
    const { svg } = await postMortem.run(context, { checkpoint: target, picture: true });
    if (svg !== undefined) return svg;
  } catch (error) {
    if (CairnError.is(error, 'RUN_NOT_FOUND')) return undefined;
    throw error;
  }
  throw new CairnError('INPUT_INVALID', { reason: `the graph of ${target} is not kept with it` });
}
