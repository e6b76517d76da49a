/** Makes a block from a function and a schema of its inputs. */
import { CairnError } from '../../errors.ts';
import type {
  JsonSchema,
  InputFault,
  InputField,
  Inputs,
  Need,
  NodeType,
  OutputField,
  TypedNodeContext,
} from '../../graph/contracts/node-type.ts';
import { jsonSchemaOf, type AnySchema, validateStandard } from '../../schema/standard-schema.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import type { StandardSchema } from '../../graph/graph.ts';
import { NodeFailure, type EffectClass, type Reconciliation } from '../../graph/contracts/node-contract.ts';
import { schemaFault } from '../../schema/json-schema.ts';
import { beforeEffect } from '../draft/before-effect.ts';
import { mapLeaves } from '../draft/computed.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { resolveSecrets, maskFailure } from '../secrets/secret.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';

// Reads the two kinds of object schema that a block may have: JSON Schema, and Standard Schema.

export interface ObjectParts {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
}

/** Reads a schema. @throws CONFIG_INVALID it is of neither kind, or not one of an object */
function readObjectSchema(schema: unknown, side: 'input' | 'output', place: string): ObjectParts {
  const json = jsonSchemaOf(schema, side, place);
  if (json['type'] !== 'object' || !isPlainObject(json['properties'] ?? {}))
    throw new CairnError('CONFIG_INVALID', {
      reason: `${place} must be the schema of an object: { type: 'object', properties: { … } }`,
    });
  const { properties = {}, required = [] } = json as Partial<ObjectParts>;
  return { properties, required };
}

/** The type of the values that fit a schema. */
export type ValueOf<Schema> = Schema extends StandardSchema<infer Value> ? Value : Inputs;

export interface BlockDefinition<Schema extends AnySchema = AnySchema> {
  /** Name of the block, such as `Deploy`: letters and digits, the first a capital letter. */
  readonly name: string;
  /** Change this when the same inputs begin to mean something else. Default `1`. */
  readonly version?: string;
  /** One line for readers. */
  readonly description: string;
  /** Schema of an object whose properties are the inputs: JSON Schema, or a schema library that can produce it (Zod 4.2 and later). */
  readonly inputs: Schema;
  /** Schema of an object whose properties are the output's fields. */
  readonly outputs: AnySchema;
  /** Effect class: what recovery may do with the block. Default `external`. */
  readonly effect?: EffectClass;
  /** Whether a repeated call with the same key has no second effect. Default false. */
  readonly idempotent?: boolean;
  /** Timeout of one attempt in milliseconds. */
  readonly timeoutMs?: number;
  /** Inputs that may contain `${secrets.NAME}`. `run` receives the secret's value, which is masked in everything it returns and throws. */
  readonly secretInputs?: readonly string[];
  /** The permissions that the block needs. Default: none. */
  readonly needs?: (inputs: Inputs, pending?: readonly string[]) => readonly Need[];
  /** Faults of the inputs that the schema cannot express. */
  readonly check?: (inputs: Inputs) => readonly InputFault[];
  readonly run: (inputs: ValueOf<Schema>, ctx: TypedNodeContext) => unknown;
  /** Finds out whether the effect with this key happened, and its output. */
  readonly reconcile?: (context: {
    readonly idempotencyKey: string;
    readonly inputs: Inputs;
  }) => Promise<Reconciliation> | Reconciliation;
}

const keys =
  'name version description inputs outputs effect idempotent timeoutMs secretInputs needs check run reconcile'.split(
    ' ',
  );

/**
 * Makes a node type of your own, for use together with the built-in ones (rules B25 to B27 of docs/spec/blocks.md).
 * @throws CONFIG_INVALID the definition is invalid, or a schema is not one of an object
 */
export function defineBlock<const Schema extends AnySchema>(definition: BlockDefinition<Schema>): NodeType {
  refuseUnknownKeys('defineBlock', definition, keys);
  const { name, version, description, effect = 'external', idempotent, timeoutMs, secretInputs = [] } = definition;
  if (typeof name !== 'string' || !/^[A-Z][A-Za-z0-9]*$/.test(name))
    throw new CairnError('CONFIG_INVALID', {
      reason: 'defineBlock: name must be letters and digits, the first a capital',
    });
  if (typeof definition.run !== 'function')
    throw new CairnError('CONFIG_INVALID', { reason: `defineBlock: ${name} has no run` });
  const inputs = readObjectSchema(definition.inputs, 'input', `${name}.inputs`);
  const outputs = readObjectSchema(definition.outputs, 'output', `${name}.outputs`);
  const stray = secretInputs.find((input) => !Object.hasOwn(inputs.properties, input));
  if (stray !== undefined)
    throw new CairnError('CONFIG_INVALID', { reason: `defineBlock: ${name} has no input ${stray}` });
  const { needs, check, reconcile } = definition;
  return {
    name,
    description,
    inputs: inputFields(inputs.properties, inputs.required, secretInputs),
    outputs: outputFields(outputs.properties),
    effect,
    ...(version !== undefined && { version }),
    ...(idempotent !== undefined && { idempotent }),
    ...(timeoutMs !== undefined && { timeoutMs: () => timeoutMs }),
    ...(needs && { needs }),
    ...(check && { check }),
    ...(reconcile && { reconcile }),
    run: (ctx) => runDefined(definition, ctx),
  };
}

type Properties = Readonly<Record<string, JsonSchema>>;

function inputFields(
  properties: Properties,
  required: readonly string[],
  secretInputs: readonly string[],
): Record<string, InputField> {
  const fieldOf = (name: string, { description = name, default: otherwise, ...schema }: JsonSchema): InputField => ({
    schema,
    description: String(description),
    isRequired: required.includes(name) && otherwise === undefined,
    ...(otherwise !== undefined && { default: otherwise }),
    takesSecrets: secretInputs.includes(name),
  });
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, fieldOf(name, schema)]));
}

function outputFields(properties: Properties): Record<string, OutputField> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, { description = name, ...schema }]) => [
      name,
      { schema, description: String(description) },
    ]),
  );
}

async function runDefined<Schema extends AnySchema>(
  definition: BlockDefinition<Schema>,
  ctx: TypedNodeContext,
): Promise<unknown> {
  const { inputs, mask } = await beforeEffect(async () => {
    const { value, mask } = await resolveSecrets(ctx.inputs, ctx.secrets);
    return { inputs: await fit(definition.inputs, value, 'inputs', mask), mask };
  });
  try {
    const output = await definition.run(inputs as ValueOf<Schema>, ctx);
    // Copying removes properties that are undefined.
    const fields = mapLeaves(await fit(definition.outputs, output, 'output', mask), (leaf) => leaf);
    if (!isPlainObject(fields)) return fields;
    // Names of fields come from the author, so only values are masked.
    return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, mask.all(value)]));
  } catch (error) {
    throw maskError(error, mask, ctx.signal);
  }
}

/** Validates a value; the schema may fill in defaults. @throws NodeFailure INPUT_INVALID, OUTPUT_INVALID */
async function fit(schema: AnySchema, value: unknown, place: 'inputs' | 'output', mask: TextMask): Promise<unknown> {
  const code = place === 'inputs' ? 'INPUT_INVALID' : 'OUTPUT_INVALID';
  if (!('~standard' in schema)) {
    const fault = schemaFault(schema, value, place);
    if (fault !== undefined) throw new NodeFailure(mask.text(fault), { code });
    return value;
  }
  const { value: valid, faults } = await validateStandard(schema as StandardSchema, value);
  if (faults === undefined) return valid;
  const reasons = faults.map(({ path, message }) => mask.text(`${[place, ...path].join('.')}: ${message}`));
  throw new NodeFailure(reasons.join('; '), { code, data: { reasons } });
}

/** The error with secrets masked. */
function maskError(error: unknown, mask: TextMask, signal: AbortSignal): unknown {
  if (error === signal.reason || !(error instanceof Error)) return error;
  if (error instanceof NodeFailure) return maskFailure(error, mask);
  return mask.all(error);
}
