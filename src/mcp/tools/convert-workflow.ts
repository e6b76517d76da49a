/** The tool `convert_workflow`. It is given texts and gives one back: no file is read or written. */
import { perform } from '../../operations/declare/perform.ts';
import { convertWorkflow as convert } from '../../operations/workflows/convert-workflow.ts';
import { readsOnly, text, type Tool } from './tool.ts';

export const convertWorkflow: Tool<{ readonly workflow_text: string; readonly to: 'yaml' | 'dot' }> = {
  name: 'convert_workflow',
  title: 'Convert a workflow',
  description:
    'Write a workflow given as YAML as a pipeline in DOT, or a pipeline as YAML. What both can say means the same; notes say what does not carry over, and what stands in for it. Runs and saves nothing.',
  input: {
    workflow_text: text('The workflow as YAML, or the pipeline as DOT.', { minLength: 1 }),
    to: { enum: ['yaml', 'dot'], description: 'The dialect to write.' },
  },
  required: ['workflow_text', 'to'],
  output: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      notes: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            code: { type: 'string' },
            severity: { enum: ['lost', 'changed'], description: 'changed: it does the same, said otherwise.' },
            place: { type: 'string', description: 'Where in the text that was given.' },
            message: { type: 'string' },
            fix: { type: 'string' },
          },
          required: ['code', 'severity', 'place', 'message', 'fix'],
        },
      },
    },
    required: ['text', 'notes'],
  },
  hints: readsOnly,
  async run({ context }, { workflow_text: given, to }) {
    const { text: written, notes } = await perform(convert, context, { text: given, to });
    return { content: { text: written, notes } };
  },
};
