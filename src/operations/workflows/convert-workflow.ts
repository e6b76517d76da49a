/** The operation `convert`: writes a workflow in another dialect, or a file of another format in this one. */
import type { WrittenDialect } from '../../dialects/convert/convert-text.ts';
import type { ConversionNote } from '../../dialects/convert/outline/notes.ts';
import { CairnError } from '../../errors.ts';
import { exportField } from '../contract/fields.ts';
import { definition, listOf, objectOf, oneOf, text, whole } from '../contract/output-shapes.ts';
import type { Operation, WorkContext } from '../contract/operation.ts';

export interface ConvertWorkflowInput {
  /** Default: `source` is a module that exports a graph. */
  readonly text?: string;
  /** The module, or the file of the text. Default: the text is no file, and has files read only within the grants for such texts. */
  readonly source?: string;
  /** The dialect to write; `cairn`: a YAML file of the `{{ }}` form as one with `${ }`. */
  readonly to: 'cairn' | WrittenDialect;
  /** Refuse if anything is lost. Default: the notes list it. */
  readonly strict?: boolean;
  /** Of a module that has several graphs. */
  readonly export?: string;
}

export interface ConvertWorkflowOutput {
  readonly text: string;
  /** For `cairn`: how many values of the file were changed. */
  readonly changedCount?: number;
  /** What does not carry over, or is said otherwise. Empty: all of it means the same. */
  readonly notes: readonly ConversionNote[];
}

export const convertWorkflow: Operation<ConvertWorkflowInput, ConvertWorkflowOutput, WorkContext> = {
  name: 'convert_workflow',
  command: 'convert',
  summary: 'write a workflow in another dialect, and say what does not carry over',
  details:
    'What both dialects can say means the same; notes tell the rest, and what stands in for it. Nothing is run or saved.',
  input: {
    source: {
      type: 'text',
      description: 'the module, or the file of the text; default: the text is no file',
      isLocal: true,
    },
    text: { type: 'text', description: 'the workflow; default: source is a module that exports a graph' },
    to: { type: 'text', description: 'what is written', isRequired: true, choices: ['yaml', 'dot', 'cairn'] },
    strict: { type: 'flag', description: 'refuse if anything is lost' },
    export: exportField,
  },
  output: 'the text, and what does not carry over',
  outputSchema: objectOf(
    {
      text: definition,
      notes: listOf(
        objectOf({ code: text, severity: oneOf('lost', 'changed'), place: text, message: definition, fix: text }),
      ),
    },
    { changedCount: whole },
  ),
  isReadOnly: true,
  scope: 'read',
  tool: {},
  /** @throws GRAPH_PARSE, GRAPH_INVALID, CONVERSION_LOSSY, USAGE_INVALID */
  async run(context, { strict = false, ...input }) {
    const converted = await convert(context, input);
    const lost = converted.notes.filter(({ severity }) => severity === 'lost');
    if (strict && lost.length > 0)
      throw new CairnError('CONVERSION_LOSSY', {
        source: input.source ?? 'workflow',
        to: input.to,
        violations: lost.map(({ code, ...note }) => ({ ...note, rule: code, severity: 'error' })),
      });
    return converted;
  },
};

async function convert(
  { openWorkflows, loadGraph }: WorkContext,
  { text, source, to, export: exportName }: Omit<ConvertWorkflowInput, 'strict'>,
): Promise<ConvertWorkflowOutput> {
  if (text !== undefined) return (await openWorkflows()).convert(text, source, to);
  if (source === undefined) throw new CairnError('USAGE_INVALID', { reason: 'neither a text nor a module is given' });
  if (to === 'cairn')
    throw new CairnError('USAGE_INVALID', { reason: `${source} is a module, and no file of the {{ }} form` });
  const { graph } = await loadGraph(source, exportName);
  const { convertGraph } = await import('../../dialects/convert/convert-text.ts');
  return convertGraph(graph, to);
}
