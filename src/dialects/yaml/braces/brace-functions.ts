/** Filters, functions and methods of the `{{ }}` form, and their counterparts in this version. */
import { nearest } from '../../../graph/nearest.ts';
import { TextError } from '../expression/tokens.ts';
import { type BraceTree, binding, type BraceWriter } from './brace-writer.ts';

type Call = Extract<BraceTree, { readonly kind: 'call' | 'filter' }>;

/** The arguments of a call. For a filter or method, the first is the value that it is applied to. */
interface CallArguments {
  readonly call: Call;
  readonly plain: readonly BraceTree[];
}

type Form = (writer: BraceWriter, args: CallArguments) => void;

/** A form with at most this many arguments after the first. */
function takes(most: number, write: Form): Form {
  return (writer, { call, plain }) => {
    if (plain.length - 1 > most)
      throw new TextError(call.start, `${call.name} takes at most ${most} values here`, 'leave the others out');
    write(writer, { call, plain });
  };
}

/** A function with the same meaning. */
const named = (name: string, most = 0): Form =>
  takes(most, (writer, { call, plain }) => {
    writer.out.add(`${name}(`, call.start);
    writer.list(plain);
    writer.out.add(')', call.start);
  });

/** A method with the same meaning. */
const method = (name: string): Form =>
  takes(1, (writer, { call, plain: [of, argument] }) => {
    if (of === undefined || argument === undefined)
      throw new TextError(call.start, `${call.name} takes a value`, 'write one between the brackets');
    writer.value(of, binding.part);
    writer.out.add(`.${name}(`, call.start);
    writer.value(argument);
    writer.out.add(')', call.start);
  });

const emptyText: BraceTree = { kind: 'string', start: 0, value: '' };
const emptyValue: BraceTree = { kind: 'name', start: 0, name: 'none' };

/** A value with a default for when it is absent or, with `true`, empty. */
const otherwise: Form = takes(2, (writer, { call, plain: [of, other = emptyText, isEmpty] }) => {
  const flag = isEmpty ?? call.args.named.get('boolean');
  writer.out.add('default(', call.start);
  writer.list(of === undefined ? [other] : [of, other]);
  writer.out.add(flag?.kind === 'name' && flag.name.toLowerCase() === 'true' ? ', true)' : ')', call.start);
});

/** `x.get(key, other)` */
const getKey: Form = takes(2, (writer, { call, plain: [of, key, other = emptyValue] }) => {
  if (of === undefined || key === undefined)
    throw new TextError(call.start, 'get takes a key', 'write it between the brackets');
  writer.out.add('default(', call.start);
  writer.list([{ kind: 'item', start: call.start, of, key }, other]);
  writer.out.add(')', call.start);
});

/** `get(x, "a.b.0", other)` */
const getPath: Form = takes(2, (writer, { call, plain: [of, path, other = emptyValue] }) => {
  const steps = path?.kind === 'string' ? path.value.split('.') : path?.kind === 'number' ? [path.text] : [];
  if (of === undefined || steps.length === 0 || !steps.every((step) => /^[\w-]+$/.test(step)))
    throw new TextError(call.start, 'the path of get() must be written out', "write it as text: get(x, 'a.b.0')");
  const [first = ''] = steps;
  if (of.kind === 'name' && of.name === 'inputs' && !writer.names.isInput(first)) {
    writer.warn(call.start, `no input is called ${first}: the default is always taken`, 'declare it under `inputs:`');
    return writer.value(other, binding.part);
  }
  const tree = steps.reduce<BraceTree>((one, step) => {
    if (/^\d+$/.test(step))
      return { kind: 'item', start: call.start, of: one, key: { kind: 'number', start: call.start, text: step } };
    return { kind: 'item', start: call.start, of: one, key: { kind: 'string', start: call.start, value: step } };
  }, of);
  writer.out.add('default(', call.start);
  writer.list([tree, other]);
  writer.out.add(')', call.start);
});

const toJson = (indent: number | undefined): Form =>
  takes(0, (writer, { call, plain: [of] }) => {
    const option = call.args.named.get('indent');
    const count = option?.kind === 'number' ? option.text : indent;
    writer.out.add('json(', call.start);
    if (of !== undefined) writer.value(of);
    writer.out.add(count === undefined ? ')' : `, ${count})`, call.start);
  });

const joined: Form = takes(1, (writer, { call, plain: [of, separator = emptyText] }) => {
  writer.out.add('join(', call.start);
  writer.list(of === undefined ? [separator] : [of, separator]);
  writer.out.add(')', call.start);
});

const both: Readonly<Record<string, Form>> = {
  replace: named('replace', 2),
  trim: named('trim'),
  lower: named('lower'),
  upper: named('upper'),
  keys: named('keys'),
  values: named('values'),
};
const filters: Readonly<Record<string, Form>> = {
  ...both,
  default: otherwise,
  d: otherwise,
  length: named('size'),
  count: named('size'),
  string: named('string'),
  int: named('int'),
  float: named('double'),
  abs: named('abs'),
  urlencode: named('urlencode'),
  join: joined,
  tojson: toJson(undefined),
  prettyjson: toJson(2),
  fromjson: named('fromjson'),
};
const methods: Readonly<Record<string, Form>> = {
  ...both,
  get: getKey,
  strip: named('trim'),
  split: named('split', 1),
  startswith: method('startsWith'),
  endswith: method('endsWith'),
  join: takes(1, (writer, { call, plain }) => {
    joined(writer, { call, plain: plain.toReversed() });
  }),
};
const functions: Readonly<Record<string, Form>> = {
  get: getPath,
  len: named('size'),
  str: named('string'),
  int: named('int'),
  float: named('double'),
  range: named('range'),
};

const clock = 'read metadata.started_at, or give the time as an input: another attempt would get another one';
/** Functions that are not supported on purpose, and what to do instead. */
const wayOut: ReadonlyMap<string, string> = new Map(
  Object.entries({
    render: 'give the text as an input of the block, with its own {{ }}',
    read_file: 'read it with a ReadFiles block, and name its `content`',
    now: clock,
    timestamp: clock,
    generate_id: 'take metadata.run_id, which is the same in every attempt',
    quote: 'leave it out of texts; in a command every value is quoted',
    combine: 'merge with MergeJSONState, or in a Shell block',
    items: 'use for_each over the mapping: each.key, each.value',
    update: 'merge with MergeJSONState, or in a Shell block',
    map: 'use for_each, or compute it in a Shell block',
    selectattr: 'use for_each with a condition, or compute it in a Shell block',
  }),
);

const inShell = 'compute it in a Shell block';
/** Filters of the usual set that have no counterpart. As functions they are names of others. */
const filterWayOut: ReadonlyMap<string, string> = new Map(
  Object.entries({
    first: 'write list[0]',
    last: 'write list[-1]',
    sort: inShell,
    unique: inShell,
    reverse: inShell,
    round: inShell,
    sum: inShell,
    select: 'use for_each with a condition, or compute it in a Shell block',
    reject: 'use for_each with a condition, or compute it in a Shell block',
    dictsort: 'use for_each over the mapping: each.key, each.value',
    title: inShell,
    capitalize: inShell,
    indent: 'write the text with its indentation, or compute it in a Shell block',
    safe: 'leave it out: nothing is escaped in texts',
    escape: inShell,
    e: inShell,
  }),
);

/** Whether a word before a bracket is a known function, even if only to be refused by name. */
export function isKnownFunction(name: string): boolean {
  return Object.hasOwn(functions, name) || wayOut.has(name);
}

/** Writes a filter, function or method. @throws TextError it has no counterpart */
export function writeCall(writer: BraceWriter, call: Call): void {
  const isMethod = call.kind === 'call' && call.of !== undefined;
  const forms = call.kind === 'filter' ? filters : isMethod ? methods : functions;
  const before = call.of === undefined ? [] : [call.of];
  const form = Object.hasOwn(forms, call.name) ? forms[call.name] : undefined;
  if (form !== undefined) return form(writer, { call, plain: [...before, ...call.args.plain] });
  const what = call.kind === 'filter' ? 'filter' : isMethod ? 'method' : 'function';
  const known = Object.keys(forms).join(', ');
  const near = nearest(call.name, Object.keys(forms));
  const fix =
    wayOut.get(call.name) ??
    (call.kind === 'filter' ? filterWayOut.get(call.name) : undefined) ??
    (near === undefined ? `use one of: ${known}; or a block` : `did you mean ${near}?`);
  throw new TextError(call.start, `there is no ${what} ${call.name} here`, fix);
}
