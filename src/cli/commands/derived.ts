/**
 * Makes the command of an operation that needs no words of its own: its arguments are the fields, and what it prints follows from the schema
 * of the output. A list of entries is a table, anything else stands under its name.
 */
import type { AnyOperation, Field, JsonSchema } from '../../operations/contract/operation.ts';
import { perform } from '../../operations/contract/perform.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatTime } from '../../operations/format/time.ts';
import { withApp } from '../live/follow.ts';
import { optionNameOf, primaryOptionOf } from '../parse.ts';
import { ofOperation, printNext, type Command } from '../command.ts';
import type { Session } from '../session.ts';
import { formatTable } from '../text/text-table.ts';
import { formatInline } from '../text/value.ts';
import { pad } from '../text/width.ts';

type Entry = Readonly<Record<string, unknown>>;
type Shapes = Readonly<Record<string, JsonSchema>>;

const propertiesOf = (schema: JsonSchema | undefined): Shapes => (schema?.['properties'] ?? {}) as Shapes;

/** `isPaused` → `is paused` */
const wordsOf = (name: string): string => optionNameOf(name).replaceAll('-', ' ');

function textOf(value: unknown, { format }: JsonSchema): string {
  if (value === undefined) return '';
  if (format === 'epoch-ms') return formatTime(value as number);
  if (typeof value === 'string') return printable(value);
  const areTexts = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return areTexts ? printable(value.join(', ')) : formatInline(value);
}

function tableOf(entries: readonly Entry[], shapes: Shapes, { screen }: Session): readonly string[] {
  const names = Object.keys(shapes).filter((name) => entries.some((entry) => entry[name] !== undefined));
  const columns = names.map((name) => ({ title: wordsOf(name).toUpperCase(), canShrink: true }));
  const rows = entries.map((entry) => names.map((name) => textOf(entry[name], shapes[name] ?? {})));
  return formatTable(columns, rows, screen);
}

/** A part of an output that is printed: its name in words, its value, and what the schema says of it. */
interface OutputPart {
  readonly name: string;
  readonly value: unknown;
  readonly shape: JsonSchema;
}

/** What there is to print of an object, that of objects within it too. A whole state is printed by `state`. */
function* partsOf(output: Entry, schema: JsonSchema, prefix = ''): Generator<OutputPart> {
  for (const [name, shape] of Object.entries(propertiesOf(schema))) {
    const value = output[name];
    if (value === undefined || shape['format'] === 'state') continue;
    const own = `${prefix}${wordsOf(name)}`;
    const isObject = typeof value === 'object' && value !== null && !(value instanceof Error);
    if (isObject && shape['properties'] !== undefined) yield* partsOf(value as Entry, shape, `${own} `);
    else if (!isObject || Object.keys(value).length > 0) yield { name: own, value, shape };
  }
}

function print(session: Session, output: Entry, schema: JsonSchema): void {
  const { screen } = session;
  const entriesOf = ({ items }: JsonSchema): Shapes => propertiesOf(items as JsonSchema | undefined);
  const isList = ({ shape }: OutputPart): boolean => Object.keys(entriesOf(shape)).length > 0;
  const parts = [...partsOf(output, schema)];
  const single = parts.filter((one) => !isList(one));
  const column = Math.max(0, ...single.map(({ name }) => name.length));
  screen.print(single.map(({ name, value, shape }) => `${pad(name, column)}  ${textOf(value, shape)}`));
  for (const { name, value, shape } of parts.filter(isList))
    screen.print([
      ...(parts.length === 1 ? [] : ['', screen.paint('strong', name)]),
      ...tableOf(value as readonly Entry[], entriesOf(shape), session),
    ]);
}

/** Says how the next page is shown: the same command with the cursor that this one gave. */
function printMore(session: Session, { command = '', input }: AnyOperation, given: object, cursor: string): void {
  const { screen, commandLine } = session;
  const options = Object.entries<Field>(input).flatMap(([name, field]) => {
    const value = name === 'cursor' ? cursor : (given as Entry)[name];
    if (value === undefined) return [];
    const option = `--${primaryOptionOf(name, field)}`;
    return field.type === 'flag' ? [option] : [option, typeof value === 'string' ? value : JSON.stringify(value)];
  });
  screen.note(screen.paint('dim', `There are more: ${commandLine(command, ...options)}`));
}

export function commandOf(operation: AnyOperation): Command {
  const { command = operation.name, input, isReadOnly, outputSchema, details } = operation;
  const places = Object.entries(input).flatMap(([name, { isPositional, isRequired }]) =>
    isPositional === true && isRequired === true ? [optionNameOf(name).toUpperCase()] : [],
  );
  return {
    ...ofOperation(operation),
    ...(details !== undefined && { details }),
    examples: [{ line: ['cairn', command, ...places].join(' '), does: operation.output }],
    ...(!isReadOnly && { runsConfig: true }),
    execute: (session, given) =>
      withApp(session, async (app) => {
        const output = await perform(operation, app, given);
        if (session.isJson) session.printJson(output);
        else {
          const { cursor, ...page } = output as Entry;
          const isPage = 'cursor' in input && typeof cursor === 'string';
          print(session, isPage ? page : (output as Entry), outputSchema);
          if (isPage) printMore(session, operation, given, cursor);
          printNext(session, operation.next?.(output));
        }
        return 0;
      }),
  };
}
