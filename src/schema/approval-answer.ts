/** The answers to a question for approval, of a node or of a tool's call: one schema, and one function that reads them. */
import type { JsonSchema } from '../graph/contracts/node-type.ts';

/** What a person said. `data`: what they put in place of what they were shown. */
export interface ApprovalAnswer {
  readonly approved: boolean;
  readonly feedback?: string;
  readonly data?: unknown;
}

const approvals: readonly unknown[] = ['approve', 'edit'];
const refusals: readonly unknown[] = ['refuse', 'reject'];

/**
 * JSON Schema of the answers: a word, `{ decision, reason?, args? }`, or `{ is_approved, feedback?, data? }`. Only an approval may change what
 * was shown, and an `edit` must.
 * @param data - what `args` and `data` must fit; undefined if nothing may be changed
 * @param isFree - whether any text is an answer
 */
export function approvalSchema(data: JsonSchema | undefined, isFree: boolean): JsonSchema {
  const text = { type: 'string' };
  const form = (properties: Readonly<Record<string, JsonSchema>>, optional: string): JsonSchema => ({
    type: 'object',
    required: Object.keys(properties),
    additionalProperties: false,
    properties: { ...properties, [optional]: text },
  });
  return {
    anyOf: [
      isFree ? text : { enum: ['approve', ...refusals] },
      form({ decision: { enum: ['approve', ...refusals] } }, 'reason'),
      form({ is_approved: { type: 'boolean' } }, 'feedback'),
      ...(data === undefined
        ? []
        : [
            form({ decision: { enum: approvals }, args: data }, 'reason'),
            form({ is_approved: { const: true }, data }, 'feedback'),
          ]),
    ],
  };
}

/**
 * Reads an answer that fits the schema.
 * @param accepts - a text that it matches is an approval; every other text that is no word of the schema is a refusal, and its reason
 */
export function readApproval(answer: unknown, accepts?: RegExp): ApprovalAnswer {
  if (typeof answer !== 'object' || answer === null) {
    if (approvals.includes(answer)) return { approved: true };
    if (refusals.includes(answer)) return { approved: false };
    const feedback = String(answer);
    return { approved: accepts?.test(feedback) ?? false, feedback };
  }
  const { decision, reason, args, is_approved, feedback = reason, data = args } = answer as Record<string, unknown>;
  return {
    approved: is_approved === undefined ? approvals.includes(decision) : is_approved === true,
    ...(typeof feedback === 'string' && { feedback }),
    ...(data !== undefined && { data }),
  };
}
