/** Converts a question to a form that a client shows to its user, and the filled-in form to an answer. */
import { choicesOf, type OpenQuestion } from '../../operations/waits/find-wait.ts';
import type { JsonSchema } from './json-schema.ts';

/** A form of the protocol: fields for texts, numbers, yes or no, or a choice among texts. */
export interface Form {
  readonly message: string;
  readonly requestedSchema: {
    readonly type: 'object';
    readonly properties: Readonly<Record<string, JsonSchema>>;
    readonly required: readonly string[];
  };
}

const field = 'answer';
/** Extra field for an answer that is none of the suggestions. */
const otherField = 'other';

interface AnswerSchema {
  readonly type?: string | readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** The limits of a field that the protocol's forms support. */
function limitsOf(schema: AnswerSchema, names: readonly (keyof AnswerSchema)[]): JsonSchema {
  return Object.fromEntries(names.filter((name) => schema[name] !== undefined).map((name) => [name, schema[name]]));
}

function describePattern({ pattern }: AnswerSchema): JsonSchema {
  return pattern === undefined ? {} : { description: `Must match the pattern ${pattern}` };
}

function fieldOf(schema: AnswerSchema): JsonSchema {
  if (schema.type === 'boolean') return { type: 'boolean', title: 'Answer' };
  if (schema.type === 'integer' || schema.type === 'number')
    return { type: schema.type, title: 'Answer', ...limitsOf(schema, ['minimum', 'maximum']) };
  if (schema.type === 'object' || schema.type === 'array')
    return { type: 'string', title: 'Answer', description: `JSON that fits ${JSON.stringify(schema)}` };
  return {
    type: 'string',
    title: 'Answer',
    ...describePattern(schema),
    ...limitsOf(schema, ['minLength', 'maxLength']),
  };
}

function isYesOrNo(labels: readonly string[]): boolean {
  return labels.length === 2 && labels.includes('yes') && labels.includes('no');
}

/** @param remark - text before the question, such as why an answer was refused */
export function formOf(wait: OpenQuestion, remark?: string): Form {
  const labels = choicesOf(wait)?.map(({ label }) => label);
  const message = remark === undefined ? (wait.prompt ?? '') : `${remark}\n\n${wait.prompt ?? ''}`;
  const answer: JsonSchema =
    labels === undefined ? fieldOf(wait.schema ?? {}) : { type: 'string', title: 'Answer', enum: labels };
  const takesOther = labels !== undefined && wait.matching === 'open' && !isYesOrNo(labels);
  const other = { [otherField]: { type: 'string', title: 'Something else' } };
  return {
    message,
    requestedSchema: {
      type: 'object',
      properties: { [field]: answer, ...(takesOther && other) },
      required: takesOther ? [] : [field],
    },
  };
}

/** The answer in a filled-in form; undefined if there is none. */
export function answerIn(content: Readonly<Record<string, unknown>>): unknown {
  const other = content[otherField];
  return typeof other === 'string' && other !== '' ? other : content[field];
}
