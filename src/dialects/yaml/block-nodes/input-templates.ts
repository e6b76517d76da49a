/** Checks the inputs of a block against the fields of its type: literal ones once, computed ones before each attempt. */
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import type { Scope, Template } from '../expression/template.ts';
import { reasonOf } from '../../../errors.ts';
import { nearest } from '../../../graph/nearest.ts';
import type { InputField, Inputs, Need, NodeType } from '../../../graph/contracts/node-type.ts';
import { schemaFault } from '../../../schema/json-schema.ts';
import type { Faults } from '../file/faults.ts';
import type { Path } from '../file/read-document.ts';
import { shareBudget } from '../../../graph/expression/expression-budget.ts';
import { noScope, type TemplateReader } from './template-reader.ts';

/** Says why the policy withholds a need. Undefined means that it grants it. */
export type Withheld = (need: Need) => string | undefined;

/** The inputs of a block, ready to be computed. */
export interface InputTemplates {
  /** The literal inputs, by the field's own name. */
  readonly literals: Inputs;
  /** Names of the inputs that are computed. */
  readonly pending: readonly string[];
  readonly secrets: readonly string[];
  /** Names of the inputs that hold secrets. */
  readonly secretInputs: readonly string[];
  /**
   * Computes and checks all inputs, before anything has an effect.
   * @throws NodeFailure with code INPUT_INVALID, PERMISSION_DENIED, REFERENCE_ABSENT or EXPRESSION_FAILED
   */
  readonly resolve: (scope: Scope) => Inputs;
  /** Checks inputs that a person changed. @throws NodeFailure as `resolve` does */
  readonly checkAll: (inputs: Inputs) => Inputs;
}

interface Computed {
  readonly name: string;
  readonly field: InputField;
  readonly template: Template;
  readonly takesNull: boolean;
}

/** Reads the inputs of a block. Every fault is reported. */
export function readInputTemplates(
  faults: Faults,
  reader: TemplateReader,
  type: NodeType,
  values: Readonly<Record<string, unknown>>,
  at: Path,
  withheld: Withheld | undefined,
): InputTemplates {
  const literals: Record<string, unknown> = {};
  const computed: Computed[] = [];
  const seen = new Set<string>();
  const present = new Set<string>();
  const names = canonicalNames(type);
  for (const [key, value] of Object.entries(values)) {
    const name = names.get(key);
    const place = [...at, key];
    if (name === undefined) {
      const near = nearest(key, Object.keys(type.inputs));
      const message = `${type.name} has no input \`${key}\``;
      faults.add(place, { rule: 'Y5', atKey: true, message, fix: hint(near, Object.keys(type.inputs)) });
      continue;
    }
    if (seen.has(name))
      faults.add(place, {
        rule: 'Y5',
        atKey: true,
        message: `input ${name} is given twice`,
        fix: 'keep one of the two',
      });
    seen.add(name);
    const field = type.inputs[name] as InputField;
    const takesNull = schemaFault(field.schema, null, name) === undefined;
    if (value === null && !takesNull) continue;
    present.add(name);
    readOne(faults, reader, { name, field, value, place, type, takesNull }, literals, computed);
  }
  for (const [name, field] of Object.entries(type.inputs)) {
    if (field.isRequired === true && !present.has(name))
      faults.add(at, {
        rule: 'Y5',
        message: `${type.name} needs the input \`${name}\``,
        fix: `add \`${name}:\`: ${field.description}`,
      });
  }
  const secrets = [...new Set(computed.flatMap(({ template }) => template.named.secrets))];
  const frozen: Inputs = Object.freeze(literals);
  for (const fault of safeCheck(type, frozen, computed))
    faults.add(seen.has(fault.input) ? [...at, fault.input] : at, {
      rule: 'Y5',
      message: fault.message,
      fix: fault.fix,
    });
  checkNeeds(faults, type, { literals: frozen, computed }, secrets, at, withheld);
  const pending = computed.map(({ name }) => name);
  const check = (inputs: Inputs, faults: readonly string[] = []): Inputs => checkInputs(type, inputs, withheld, faults);
  const secretInputs = computed.flatMap(({ name, template }) => (template.named.secrets.length > 0 ? [name] : []));
  return {
    literals: frozen,
    pending,
    secrets,
    secretInputs,
    resolve: createResolve(frozen, computed, check),
    checkAll: (given) => check(given, fieldFaults(type, given, secretInputs)),
  };
}

function canonicalNames(type: NodeType): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(type.inputs).flatMap(([name, { aliases = [] }]) =>
      [name, ...aliases].map((spelling) => [spelling, name] as const),
    ),
  );
}

interface InputToRead {
  readonly name: string;
  readonly field: InputField;
  readonly value: unknown;
  readonly place: Path;
  readonly type: NodeType;
  readonly takesNull: boolean;
}

function readOne(
  faults: Faults,
  reader: TemplateReader,
  { name, field, value, place, type, takesNull }: InputToRead,
  literals: Record<string, unknown>,
  computed: Computed[],
): void {
  const takesSecrets = field.takesSecrets === true;
  const isCommand = field.kind === 'command' && typeof value === 'string';
  const template = isCommand ? reader.command(value, place, takesSecrets) : reader.value(value, place, takesSecrets);
  if (!template.isLiteral) {
    if (field.kind === 'literal')
      faults.add(place, {
        rule: 'Y5',
        message: `\`${name}\` of ${type.name} must be written out`,
        fix: 'write the value itself; it is needed before anything runs',
      });
    computed.push({ name, field, template, takesNull });
    return;
  }
  const literal = template.evaluate(noScope);
  const fault = isCommand ? undefined : schemaFault(field.schema, literal, `\`${name}\``);
  if (fault === undefined) literals[name] = literal;
  else faults.add(place, { rule: 'Y5', message: `${fault} (${type.name})`, fix: `give ${field.description}` });
}

/** Faults that the type finds in the literal inputs. If its check needs an input that is not known yet, the attempt makes it. */
function safeCheck(
  type: NodeType,
  literals: Inputs,
  computed: readonly Computed[],
): ReturnType<NonNullable<NodeType['check']>> {
  if (type.check === undefined) return [];
  if (computed.length === 0) return type.check(literals);
  const unknown = new Set(computed.map(({ name }) => name));
  // A rule about several inputs cannot be judged before all of them are known.
  return type.check(literals).filter(({ input }) => !unknown.has(input) && Object.hasOwn(literals, input));
}

function checkNeeds(
  faults: Faults,
  type: NodeType,
  { literals, computed }: { readonly literals: Inputs; readonly computed: readonly Computed[] },
  secrets: readonly string[],
  at: Path,
  withheld: Withheld | undefined,
): void {
  if (withheld === undefined) return;
  const pending = computed.map(({ name }) => name);
  const ofSecrets = secrets.map((name): Need => ({ kind: 'env', name }));
  for (const need of [...(type.needs?.(literals, pending) ?? []), ...ofSecrets]) {
    const reason = withheld(need);
    if (reason !== undefined)
      faults.add(at.slice(0, -1), {
        rule: 'Y6',
        message: `${type.name} is not allowed here: ${reason}`,
        fix: 'take the block out, or ask the operator for the grant',
      });
  }
}

/** What is wrong with each input by itself. A secret is a text with hidden content, and a command was checked when it was read. */
function fieldFaults({ inputs: fields }: NodeType, given: Inputs, secretInputs: readonly string[]): readonly string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const { kind, schema } = fields[name] as InputField;
    const fault =
      kind === 'command' || secretInputs.includes(name) ? undefined : schemaFault(schema, value, `\`${name}\``);
    return fault ?? [];
  });
}

function checkInputs(type: NodeType, inputs: Inputs, withheld: Withheld | undefined, found: readonly string[]): Inputs {
  const faults = [...found];
  if (faults.length === 0 && type.check !== undefined)
    faults.push(...type.check(inputs).map(({ message, fix }) => `${message} (${fix})`));
  if (faults.length > 0) throw refusal('INPUT_INVALID', `the inputs of ${type.name} do not fit: ${faults.join('; ')}`);
  if (withheld !== undefined && type.needs !== undefined) {
    for (const need of type.needs(inputs)) {
      const reason = withheld(need);
      if (reason !== undefined) throw refusal('PERMISSION_DENIED', `${type.name} is not allowed here: ${reason}`);
    }
  }
  return inputs;
}

function createResolve(
  literals: Inputs,
  computed: readonly Computed[],
  check: (inputs: Inputs, faults: readonly string[]) => Inputs,
): InputTemplates['resolve'] {
  // Literal inputs were checked when the file was read.
  if (computed.length === 0) return () => literals;
  return (scope) => {
    const inputs: Record<string, unknown> = { ...literals };
    const faults: string[] = [];
    shareBudget(() => {
      for (const one of computed) resolveOne(one, evaluateBefore(one.template, scope), inputs, faults);
    });
    return check(inputs, faults);
  };
}

function resolveOne(
  { name, field, template, takesNull }: Computed,
  value: unknown,
  inputs: Record<string, unknown>,
  faults: string[],
): void {
  if (value === undefined || (value === null && !takesNull)) {
    if (field.isRequired === true) faults.push(`\`${name}\` is empty`);
    return;
  }
  // A secret is a text with hidden content, and a command was checked when it was read.
  if (field.kind === 'command' || template.named.secrets.length > 0) {
    inputs[name] = value;
    return;
  }
  const wanted = field.schema['type'] === 'string' ? asText(value) : value;
  const fault = schemaFault(field.schema, wanted, `\`${name}\``);
  if (fault === undefined) inputs[name] = wanted;
  else faults.push(fault);
}

/** A number or boolean is written as text where text is wanted. */
function asText(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint' ? String(value) : value;
}

/** Computes a template before the block begins. A failure here certainly had no effect (X3). */
export function evaluateBefore<T>(template: Template<T>, scope: Scope): T {
  try {
    return template.evaluate(scope);
  } catch (error) {
    const { code, data } = (error ?? {}) as { readonly code?: string; readonly data?: unknown };
    throw new NodeFailure(reasonOf(error), { applied: 'no', code: code ?? 'EXPRESSION_FAILED', data, cause: error });
  }
}

function refusal(code: string, message: string): NodeFailure {
  return new NodeFailure(message, { applied: 'no', code });
}

function hint(near: string | undefined, names: readonly string[]): string {
  return near === undefined
    ? `there are: ${names.join(', ')}`
    : `did you mean \`${near}\`? There are: ${names.join(', ')}`;
}
