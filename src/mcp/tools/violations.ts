/** Converts errors and warnings about a workflow for tools. */
import type { WorkflowDescription } from '../../operations/workflows/describe-workflow.ts';
import type { JsonSchema } from '../ask/json-schema.ts';

export type Violation = WorkflowDescription['warnings'][number];

export const violationSchema: JsonSchema = {
  type: 'object',
  properties: {
    rule: { type: 'string' },
    place: { type: 'string', description: 'Where in the text.' },
    message: { type: 'string' },
    fix: { type: 'string' },
  },
  required: ['rule', 'place', 'message', 'fix'],
};

export function showViolation({ rule, place, message, fix }: Violation): object {
  return { rule, place, message, fix };
}
