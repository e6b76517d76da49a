/** Declares inputs of blocks and reads their values. A number, flag or word may also be its exact text. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { InputFault, InputField, Inputs, OutputField } from '../../graph/contracts/node-type.ts';

/** A text input. A number or boolean that comes from a reference is converted to text. */
export function textField(description: string, more: Partial<InputField> = {}): InputField {
  return { schema: { type: ['string', 'number', 'boolean'] }, description, ...more };
}

/** The text of an input; undefined if it is missing. */
export function readText(inputs: Inputs, name: string): string | undefined {
  const value = inputs[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return refuse(name, 'is neither text nor a number');
}

/** The text of a required input. @throws NodeFailure INPUT_INVALID */
export function requireText(inputs: Inputs, name: string): string {
  return readText(inputs, name) ?? refuse(name, 'is missing');
}

export function outputField(type: string | readonly string[], description: string): OutputField {
  return { schema: { type }, description };
}

/** The failure for a bad input. It says that nothing has happened yet. */
export function refuseInput(name: string, reason: string): NodeFailure {
  return new NodeFailure(`${name} ${reason}`, { code: 'INPUT_INVALID', applied: 'no', data: { input: name, reason } });
}

function refuse(name: string, reason: string): never {
  throw refuseInput(name, reason);
}

/** An input with a default: a number, a flag or a word. */
export interface Option<Value> {
  readonly name: string;
  readonly field: InputField;
  /** Reads the value. @throws NodeFailure INPUT_INVALID */
  readonly read: (inputs: Inputs) => Value;
}

export interface NumberRange {
  readonly default: number;
  readonly min: number;
  readonly max: number;
  /** Whether only integers are allowed. Default true. */
  readonly isWhole?: boolean;
}

/** An option that is a number, or the text of one. */
export function numberOption(
  name: string,
  description: string,
  range: NumberRange,
  more: Partial<InputField> = {},
): Option<number> {
  const { min, max, isWhole = true } = range;
  const read = (inputs: Inputs): number => {
    const value = inputs[name] ?? range.default;
    const number = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
    const fits = typeof number === 'number' && number >= min && number <= max && (!isWhole || Number.isInteger(number));
    return fits ? number : refuse(name, `must be a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}`);
  };
  const schema = {
    anyOf: [
      { type: isWhole ? 'integer' : 'number', minimum: min, maximum: max },
      { type: 'string', pattern: isWhole ? '^-?[0-9]+$' : '^-?[0-9]+(\\.[0-9]+)?$' },
    ],
  };
  return { name, field: { schema, description, default: range.default, ...more }, read };
}

/** Marks an input whose value must be written out in the file, because it is needed before anything runs. */
export const literal = { kind: 'literal' } as const;

/** An option in seconds, read as milliseconds. It must be written out in the file. */
export function secondsOption(name: string, description: string, range: NumberRange): Option<number> {
  const { field, read } = numberOption(name, description, { isWhole: false, ...range }, literal);
  return { name, field, read: (inputs) => Math.round(read(inputs) * 1_000) };
}

/** An option that is true or false, or the text of either. */
export function flagOption(
  name: string,
  description: string,
  otherwise: boolean,
  more: Partial<InputField> = {},
): Option<boolean> {
  const read = (inputs: Inputs): boolean => {
    const value = inputs[name] ?? otherwise;
    if (value === true || value === 'true') return true;
    return value === false || value === 'false' ? false : refuse(name, 'must be true or false');
  };
  return {
    name,
    field: { schema: { enum: [true, false, 'true', 'false'] }, description, default: otherwise, ...more },
    read,
  };
}

/** An option that is one of several words. */
export function choiceOption<Word extends string>(
  name: string,
  description: string,
  words: readonly [Word, ...Word[]],
  more: Partial<InputField> = {},
): Option<Word> {
  const read = (inputs: Inputs): Word => {
    const value = inputs[name] ?? words[0];
    return words.find((word) => word === value) ?? refuse(name, `must be one of ${words.join(', ')}`);
  };
  return { name, field: { schema: { enum: words }, description, default: words[0], ...more }, read };
}

/** The fields of options, by name. */
export function fieldsOf(options: readonly Option<unknown>[]): Record<string, InputField> {
  return Object.fromEntries(options.map(({ name, field }) => [name, field]));
}

/** The faults of options, for a node type's `check`. */
export function optionFaults(options: readonly Option<unknown>[], inputs: Inputs): readonly InputFault[] {
  return options.flatMap(({ name, read }) => inputFault(name, () => read(inputs)));
}

/** The fault found by reading an input; empty if it can be read. */
export function inputFault(name: string, read: () => unknown): readonly InputFault[] {
  try {
    read();
    return [];
  } catch (error) {
    const message = (error as Error).message;
    return [{ input: name, message, fix: `change ${name}` }];
  }
}

/** A node type's `timeoutMs` from an option. If the option is invalid, it is undefined here, and `check` reports the fault. */
export function timeoutOf(option: Option<number>): (literals: Inputs) => number | undefined {
  return (literals) => (optionFaults([option], literals).length > 0 ? undefined : option.read(literals));
}

/** The parsed value; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
