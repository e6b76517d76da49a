/** Reads arguments by a table of fields. */
import { parseArgs } from 'node:util';
import { CairnError } from '../errors.ts';
import type { Field, Fields } from '../operations/contract/operation.ts';
import { nearest } from '../operations/contract/nearest.ts';

/** Options that every command takes. */
export const globalFields: Fields = {
  json: { type: 'flag', description: 'print JSON for programs' },
  store: { type: 'text', description: 'where runs are kept; default sqlite:.cairn/cairn.db' },
  blobs: {
    type: 'text',
    description: 'where its large values are: s3://BUCKET/PREFIX or file:FOLDER; default: beside the store',
  },
  config: {
    type: 'text',
    description: 'the configuration, run if it is code; default cairn.config.json, .yaml, .ts, .mjs or .js',
  },
  help: { type: 'flag', description: 'explain the command' },
};

export interface Parsed {
  /** By field name; absent ones are omitted. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Each field as it was typed, before it was read as JSON; one text for each time it was typed. */
  readonly texts: Readonly<Record<string, readonly string[]>>;
}

/** `runId` → `run-id`. */
export function optionNameOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The option of a field that the help shows; its own name is an alias of that, where it is another one. */
export const primaryOptionOf = (name: string, { shownName = name }: Field): string => optionNameOf(shownName);

/** JSON where the text is JSON, else the text itself. */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function usage(reason: string, hint?: string): CairnError {
  return new CairnError('USAGE_INVALID', { reason, ...(hint !== undefined && { hint }) });
}

/** Splits `name=value`. A `\` before a `=` makes that `=` a part of the name. Undefined if the text has another form. */
export function readAssignment(text: string): readonly [string, string] | undefined {
  const match = /^((?:\\.|[^=\\])+)=(.*)$/s.exec(text);
  return match === null ? undefined : [(match[1] ?? '').replaceAll('\\=', '='), match[2] ?? ''];
}

/** The same, of an option that takes nothing else. @throws USAGE_INVALID */
export function splitAssignment(text: string, option: string): readonly [string, string] {
  const pair = readAssignment(text);
  if (pair === undefined) throw usage(`--${option} takes name=value, not ${JSON.stringify(text)}`);
  return pair;
}

function checkChoice(text: string, option: string, { choices }: Field): string {
  if (choices === undefined || choices.includes(text)) return text;
  const guess = nearest(text, choices);
  throw usage(
    `--${option} cannot be ${JSON.stringify(text)}`,
    guess === undefined ? `It is one of: ${choices.join(', ')}.` : `Did you mean ${guess}?`,
  );
}

function readField(field: Field, option: string, texts: readonly string[]): unknown {
  const last = texts.at(-1) ?? '';
  switch (field.type) {
    case 'text':
    case 'run':
    case 'checkpoint':
    case 'time':
      return checkChoice(last, option, field);
    case 'texts':
      return texts.flatMap((text) => text.split(',')).map((text) => checkChoice(text, option, field));
    case 'integer':
      if (!/^\d{1,15}$/.test(last)) throw usage(`--${option} takes a whole number, not ${JSON.stringify(last)}`);
      return Number(last);
    case 'value':
      return parseValue(last);
    case 'answer':
      return last;
    case 'assignments':
    case 'answers':
      return Object.fromEntries(
        texts.map((text) => {
          const [name, value] = splitAssignment(text, option);
          return [name, field.type === 'answers' ? value : parseValue(value)];
        }),
      );
    case 'words':
      return texts;
    case 'flag':
      return true;
    default:
      return field.type satisfies never;
  }
}

interface Collected {
  /** By the options that the help shows. */
  readonly options: ReadonlyMap<string, readonly string[]>;
  readonly positionals: readonly string[];
}

interface Option {
  readonly field: Field;
  readonly primary: string;
}

/** A field's options: the one that the help shows, and its own name where that is another one. */
function optionsOf([name, field]: readonly [string, Field]): readonly (readonly [string, Option])[] {
  const primary = primaryOptionOf(name, field);
  return [...new Set([primary, optionNameOf(name)])].map((option) => [option, { field, primary }]);
}

function collect(args: readonly string[], byOption: ReadonlyMap<string, Option>): Collected {
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      [...byOption].map(([option, { field }]) => [
        option,
        { type: field.type === 'flag' ? 'boolean' : 'string' } as const,
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const options = new Map<string, string[]>();
  const positionals: string[] = [];
  const numbersSeen = new Set<number>();
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const raw = args[token.index] ?? '';
    if (/^-[\d.]/.test(raw)) {
      // A negative number is a value, though it looks like options.
      if (!numbersSeen.has(token.index)) positionals.push(raw);
      numbersSeen.add(token.index);
      continue;
    }
    const name = token.rawName === '-h' ? 'help' : token.name;
    const option = byOption.get(name);
    if (option === undefined) {
      const guess = token.rawName.startsWith('--') ? nearest(name, [...byOption.keys()]) : undefined;
      throw usage(`unknown option ${token.rawName}`, guess === undefined ? undefined : `Did you mean --${guess}?`);
    }
    const { field, primary } = option;
    if (field.type !== 'flag' && token.value === undefined) throw usage(`--${name} needs a value`);
    if (field.type === 'flag' && token.value !== undefined) throw usage(`--${name} takes no value`);
    options.set(primary, [...(options.get(primary) ?? []), token.value ?? '']);
  }
  return { options, positionals };
}

/** Where a pair such as `tier=gold` was meant to go. */
function optionFor(text: string, fields: Fields): string | undefined {
  if (readAssignment(text) === undefined) return undefined;
  const takesPairs = ({ type, isPositional }: Field): boolean =>
    isPositional !== true && ['value', 'answers', 'assignments'].includes(type);
  const [name] = Object.entries(fields).find(([, field]) => takesPairs(field)) ?? [];
  return name && `Write --${optionNameOf(name)} ${text}`;
}

/**
 * Gives each positional field its text. When there are fewer texts than fields, optional ones in between stay empty:
 * of RUN [WAIT] VALUE, two texts are RUN and VALUE.
 */
function placePositionals(fields: Fields, positionals: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const named = Object.entries(fields).filter(([, { isPositional }]) => isPositional === true);
  const required = named.filter(([, { isRequired }]) => isRequired === true).length;
  const takesAll = named.at(-1)?.[1].type === 'words';
  const [extra] = takesAll ? [] : positionals.slice(named.length);
  if (extra !== undefined) throw usage(`unexpected ${JSON.stringify(extra)}`, optionFor(extra, fields));
  let spare = positionals.length - required;
  let next = 0;
  const placed = new Map<string, readonly string[]>();
  for (const [name, { isRequired, type }] of named) {
    if (isRequired !== true && spare <= 0) continue;
    if (isRequired !== true) spare -= 1;
    const text = positionals[next];
    if (text === undefined) throw usage(`${optionNameOf(name).toUpperCase()} is missing`);
    placed.set(name, type === 'words' ? positionals.slice(next) : [text]);
    next += 1;
  }
  return placed;
}

/** Reads the arguments of a command. @throws USAGE_INVALID with the nearest known name, where there is one */
export function parseArguments(fields: Fields, args: readonly string[]): Parsed {
  const known = { ...fields, ...globalFields };
  const options = Object.entries(known).filter(([, { isPositional }]) => isPositional !== true);
  const collected = collect(args, new Map(options.flatMap(optionsOf)));
  const isHelp = collected.options.has('help');
  const placed = isHelp ? new Map<string, readonly string[]>() : placePositionals(fields, collected.positionals);
  const values: Record<string, unknown> = {};
  const texts: Record<string, readonly string[]> = {};
  for (const [name, field] of Object.entries(known)) {
    const option = primaryOptionOf(name, field);
    const typed = placed.get(name) ?? collected.options.get(option);
    if (typed === undefined) {
      if (field.isRequired === true && field.isPositional !== true && !isHelp) throw usage(`--${option} is missing`);
      continue;
    }
    values[name] = readField(field, option, typed);
    texts[name] = typed;
  }
  return { values, texts };
}

/** An address to listen on: `3456`, `0.0.0.0:3456`, `[::1]:3456`. @throws USAGE_INVALID */
export function parseAddress(text: string, option = '--http'): { readonly host?: string; readonly port: number } {
  const [, host, port = ''] = /^(?:(\[[^\]]+\]|[^:]+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port === '' || Number(port) > 65_535)
    throw new CairnError('USAGE_INVALID', { reason: `${option} takes PORT or HOST:PORT, not ${JSON.stringify(text)}` });
  return { port: Number(port), ...(host !== undefined && { host: host.replace(/^\[(.*)\]$/, '$1') }) };
}
