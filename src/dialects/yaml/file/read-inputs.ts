/** Reads the inputs that a workflow declares: their types and defaults. */
import type { JsonSchema } from '../../../graph/contracts/node-type.ts';
import { schemaDefect, schemaFault } from '../../../schema/json-schema.ts';
import type { Faults } from './faults.ts';
import { schemaKeywords, typeNamed } from './format.ts';
import type { Path } from './read-document.ts';
import { readJson } from './read-json.ts';
import { isMapping, shown } from './shape.ts';
import type { WorkflowInput } from '../../text-workflow.ts';

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
        message: `${fault} (${shown(initial)})`,
        fix: 'give a default that fits, or correct the type',
      });
  }
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
