/** The schema of a workflow's input. It checks the input as a whole, so that all faults are reported at once. */
import type { StandardResult, StandardSchema } from '../../../graph/graph.ts';
import { nearest } from '../../../graph/nearest.ts';
import { schemaFault } from '../../../schema/json-schema.ts';
import { readJson } from './read-json.ts';
import { isMapping, shown } from './shape.ts';
import type { WorkflowInput } from '../../text-workflow.ts';

type Issue = { readonly message: string; readonly path: readonly string[] };

interface InputSchema extends StandardSchema<Readonly<Record<string, unknown>>> {
  /** The part covered by the graph's hash. */
  readonly toJSONSchema: () => unknown;
}

/**
 * Makes the schema of a run's input. Defaults are filled in, also for null. An optional input that is absent becomes null. For `int`, `num`
 * and `bool`, the exact text of a value is accepted too, because some interfaces only pass text.
 */
export function inputSchema(inputs: readonly WorkflowInput[]): InputSchema {
  return {
    '~standard': { version: 1, vendor: 'cairn-yaml', validate: (value) => validate(inputs, value) },
    toJSONSchema: () => jsonSchemaOf(inputs),
  };
}

/** JSON Schema of all the inputs together. */
export function jsonSchemaOf(inputs: readonly WorkflowInput[]): Readonly<Record<string, unknown>> {
  const describe = ({ schema, description, default: initial }: WorkflowInput): Readonly<Record<string, unknown>> => ({
    ...schema,
    ...(description === undefined ? {} : { description }),
    ...(initial === undefined ? {} : { default: initial }),
  });
  return {
    type: 'object',
    properties: Object.fromEntries(inputs.map((input) => [input.name, describe(input)])),
    required: inputs.filter(({ isRequired }) => isRequired).map(({ name }) => name),
    additionalProperties: false,
  };
}

function validate(inputs: readonly WorkflowInput[], given: unknown): StandardResult<Readonly<Record<string, unknown>>> {
  const value = given ?? {};
  if (!isMapping(value)) return { issues: [{ message: `the inputs are ${shown(given)}, not a mapping`, path: [] }] };
  const issues: Issue[] = [];
  const entries = inputs.map((input): readonly [string, unknown] => {
    const taken = Object.hasOwn(value, input.name) ? (value[input.name] ?? undefined) : undefined;
    if (taken === undefined) {
      if (input.isRequired) issues.push({ message: `is missing${describe(input)}`, path: [input.name] });
      return [input.name, input.default ?? null];
    }
    const typed = fromText(input.type, taken);
    const fault = schemaFault(input.schema, typed, input.name);
    if (fault !== undefined)
      issues.push({
        message: fault.startsWith(input.name) ? fault.slice(input.name.length).trimStart() : fault,
        path: [input.name],
      });
    return [input.name, typed];
  });
  const names = inputs.map(({ name }) => name);
  for (const name of Object.keys(value)) {
    if (names.includes(name)) continue;
    const near = nearest(name, names);
    const known = names.length === 0 ? 'the workflow takes none' : `there are: ${names.slice(0, 20).join(', ')}`;
    issues.push({ message: `is no input; ${near === undefined ? known : `did you mean ${near}?`}`, path: [name] });
  }
  return issues.length > 0 ? { issues } : { value: Object.fromEntries(entries) };
}

function describe({ type, description }: WorkflowInput): string {
  const parts = [type === 'any' ? undefined : type, description].filter((part) => part !== undefined);
  return parts.length === 0 ? '' : ` (${parts.join(': ')})`;
}

function fromText(type: WorkflowInput['type'], value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (type === 'json') return readJson(value);
  if (type === 'bool') return value === 'true' ? true : value === 'false' ? false : value;
  if (type !== 'int' && type !== 'num') return value;
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(value)) return value;
  const number = Number(value);
  const isExact = Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
  return isExact ? number : value;
}
