/** The schema of a workflow's input. It checks the input as a whole, so that all faults are reported at once. */
import type { StandardResult, StandardSchema } from '../../../graph/graph.ts';
import { nearest } from '../../../graph/nearest.ts';
import { schemaFault, schemaDefect } from '../../../schema/json-schema.ts';
import { isMapping, describeValue } from './shape.ts';
import type { Faults } from './faults.ts';
import type { WorkflowInput } from '../../text-workflow.ts';
import type { JsonSchema } from '../../../graph/contracts/node-type.ts';
import { schemaKeywords, typeNamed } from './format.ts';
import type { Path } from './read-document.ts';

// Reads text as JSON where any value is allowed.

/** The parsed value; the text itself if it is not JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

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

function validate(
  inputs: readonly WorkflowInput[],
  values: unknown,
): StandardResult<Readonly<Record<string, unknown>>> {
  const value = values ?? {};
  if (!isMapping(value))
    return { issues: [{ message: `the inputs are ${describeValue(values)}, not a mapping`, path: [] }] };
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

// Reads the inputs that a workflow declares: their types and defaults.

const jsonTypes: Readonly<Record<string, string>> = {
  str: 'string',
  num: 'number',
  int: 'integer',
  bool: 'boolean',
  list: 'array',
  dict: 'object',
};

/** The JSON Schema of a type. */
export function schemaOfType(type: string): JsonSchema {
  const name = jsonTypes[typeNamed(type) ?? ''];
  return name === undefined ? {} : { type: name };
}

/** Reads the `inputs` section; undefined if there is none. */
export function readInputs(faults: Faults, section: unknown, at: Path): readonly WorkflowInput[] | undefined {
  if (!isMapping(section)) return undefined;
  return Object.entries(section).map(([name, declared]) =>
    readInput(faults, name, isMapping(declared) ? declared : {}, [...at, name]),
  );
}

const folderText = /\{\{-?\s*tmp\s*-?\}\}|\$\{\s*metadata\.tmp\s*\}/g;
const referenceText = /(?:\{\{-?|\$\{)\s*(?:inputs|blocks|metadata|secrets|each)\s*[.[]/;

/** Inputs whose default names the folder of the run, `{{tmp}}`, with the default as it is written. */
export function folderDefaults(inputs: readonly WorkflowInput[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { name, default: initial } of inputs)
    if (typeof initial === 'string' && initial.search(folderText) >= 0) found.set(name, initial);
  return found;
}

/** A default with the path of the run's folder in it. */
export function inFolder(initial: string, folder: string): string {
  return initial.replaceAll(folderText, () => folder);
}

function readInput(faults: Faults, name: string, declared: Readonly<Record<string, unknown>>, at: Path): WorkflowInput {
  const type = typeNamed(declared['type']) ?? 'any';
  const schema: Record<string, unknown> = { ...schemaOfType(type) };
  for (const keyword of [...schemaKeywords, 'enum'] as const) {
    if (Object.hasOwn(declared, keyword)) schema[keyword] = declared[keyword];
  }
  const defect = schemaDefect(schema);
  if (defect !== undefined)
    faults.add(at, {
      rule: 'Y3',
      message: `nothing can be held against the schema of input ${name}: ${defect}`,
      fix: 'correct the keyword',
    });
  const hasDefault = Object.hasOwn(declared, 'default') && declared['default'] !== null;
  const written = declared['default'];
  const initial = type === 'json' && typeof written === 'string' ? readJson(written) : written;
  if (hasDefault && defect === undefined) {
    const fault = schemaFault(schema, initial, 'the default');
    if (fault !== undefined)
      faults.add([...at, 'default'], {
        rule: 'Y3',
        message: `${fault} (${describeValue(initial)})`,
        fix: 'give a default that fits, or correct the type',
      });
  }
  if (typeof initial === 'string' && referenceText.test(initial.replaceAll(folderText, '')))
    faults.add([...at, 'default'], {
      rule: 'Y3',
      severity: 'warning',
      message: `the default of ${name} is text: a default names nothing but {{tmp}}`,
      fix: 'leave it out of the default, and read it in a block',
    });
  if (hasDefault && declared['required'] === true)
    faults.add([...at, 'required'], {
      rule: 'Y3',
      severity: 'warning',
      message: `input ${name} has a default, so it is never missing`,
      fix: 'remove `required: true`, or the default',
    });
  return {
    name,
    type,
    description: typeof declared['description'] === 'string' ? declared['description'] : undefined,
    isRequired: !hasDefault && declared['required'] !== false && !Object.hasOwn(declared, 'default'),
    default: hasDefault ? initial : undefined,
    schema,
  };
}
