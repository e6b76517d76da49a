/** The routes: each operation that declares one, how its input is read from a request, and which one a request is for. */
import { CairnError } from '../errors.ts';
import { pointerTo } from '../schema/json-pointer.ts';
import type { AnyOperation, Field } from '../operations/contract/operation.ts';
import { nearest } from '../operations/contract/nearest.ts';
import * as operations from '../operations/table.ts';

/** A JSON Schema (2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A route of the interface and the operation behind it. */
export interface OperationRoute {
  /** The name of the operation's method in programs. */
  readonly id: string;
  readonly method: string;
  /** Segments of the path below the version; one in braces is a field. */
  readonly segments: readonly string[];
  readonly operation: AnyOperation;
  /** Fields that a request may give, by their names over HTTP, with the names that the operation has for them. */
  readonly fields: Readonly<Record<string, { readonly field: Field; readonly name: string }>>;
  /** Fields that stand in the path. */
  readonly inPath: ReadonlySet<string>;
}

/** The names by which requests may give a field: first the one that is shown. */
const namesOf = (name: string, { remoteName = name, shownName = remoteName }: Field): readonly string[] => [
  ...new Set([shownName, remoteName]),
];

function routeOf(id: string, operation: AnyOperation): OperationRoute {
  const [method = '', path = ''] = operation.route?.split(' ') ?? [];
  const segments = path.slice(1).split('/');
  const remote = Object.entries(operation.input).filter(([, { isLocal, isActor }]) => !isLocal && !isActor);
  return {
    id,
    method,
    segments,
    operation,
    fields: Object.fromEntries(
      remote.flatMap(([name, field]) => namesOf(name, field).map((one) => [one, { field, name }] as const)),
    ),
    inPath: new Set(segments.filter((segment) => segment.startsWith('{')).map((segment) => segment.slice(1, -1))),
  };
}

/** All of them. */
export const operationRoutes: readonly OperationRoute[] = Object.entries<AnyOperation>(operations)
  .filter(([, { route }]) => route !== undefined)
  .map(([id, operation]) => routeOf(id, operation));

/** The values in a path that fit the segments of a route; undefined if it does not fit. */
export function matchPath(
  segments: readonly string[],
  path: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (segments.length !== path.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const text = path[index] ?? '';
    if (!segment.startsWith('{')) {
      if (segment !== text) return undefined;
    } else if (text === '') return undefined;
    else values[segment.slice(1, -1)] = text;
  }
  return values;
}

/** @param name - the field at fault */
const invalid = (reason: string, name?: string): CairnError =>
  new CairnError('USAGE_INVALID', {
    reason,
    ...(name !== undefined && { faults: [{ pointer: pointerTo([name]), message: reason }] }),
    hint: 'The document at /v1/openapi.json says what each route takes.',
  });

/** The input of an operation from what a request gives. @throws USAGE_INVALID a field is unknown or is no such value */
export function readInput(
  route: OperationRoute,
  inPath: Readonly<Record<string, string>>,
  query: URLSearchParams,
  body: Readonly<Record<string, unknown>> | undefined,
): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  const take = (name: string, value: (field: Field) => unknown): void => {
    const known = Object.hasOwn(route.fields, name) ? route.fields[name] : undefined;
    if (known === undefined || (route.inPath.has(name) && !(name in inPath))) {
      const own = Object.keys(route.fields).filter((field) => !route.inPath.has(field));
      const guess = nearest(name, own);
      throw invalid(`there is no field ${name}${guess === undefined ? '' : `; did you mean ${guess}?`}`, name);
    }
    if (input[known.name] !== undefined) throw invalid(`${name} is given under two names`, name);
    input[known.name] = value(known.field);
  };
  for (const [name, text] of Object.entries(inPath)) take(name, () => text);
  for (const name of new Set(query.keys())) {
    if (name in inPath || body !== undefined) throw invalid(`${name} is no parameter of the query`, name);
    take(name, (field) => readQuery(name, field, query.getAll(name)));
  }
  for (const [name, value] of Object.entries(body ?? {})) {
    if (name in inPath) throw invalid(`${name} stands in the path`, name);
    take(name, () => value);
  }
  for (const [name, { field, name: own }] of Object.entries(route.fields)) {
    const { min = 0, max = Infinity } = field;
    if (typeof input[own] === 'number' && input[own] > max) throw invalid(`${name} is from ${min} to ${max}`, name);
  }
  return input;
}

interface StreamQuery {
  readonly after?: string;
  readonly until?: 'end' | 'rest';
  readonly live?: boolean;
  readonly label?: Readonly<Record<string, string>>;
  readonly graph?: string;
}

/** What the request of a stream of events says. @throws USAGE_INVALID */
export function readStreamQuery(query: URLSearchParams, isOfRuns: boolean): StreamQuery {
  const own = isOfRuns ? ['after', 'label', 'graph'] : ['after', 'until', 'live'];
  const unknown = [...query.keys()].find((name) => !own.includes(name));
  if (unknown !== undefined) throw invalid(`a stream takes ${own.join(', ')}, not ${unknown.slice(0, 40)}`);
  const values: Record<string, unknown> = {};
  for (const name of new Set(query.keys())) {
    const type = name === 'label' ? 'answers' : name === 'live' ? 'flag' : 'text';
    values[name] = readQuery(name, { type, description: '' }, query.getAll(name));
  }
  if (!['end', 'rest', undefined].includes(values['until'] as string)) throw invalid('until is end or rest');
  return values;
}

/** Which value a file is of. @throws USAGE_INVALID */
export function readFilePath(query: URLSearchParams): string {
  const [path, ...others] = query.getAll('path');
  if (path === undefined || path === '' || others.length > 0 || query.size > 1)
    throw invalid('a file takes one path, such as artifacts.report');
  return path;
}

/** A parameter of a query: text, read by the type of its field. @throws USAGE_INVALID */
function readQuery(name: string, { type }: Field, texts: readonly string[]): unknown {
  const [first = ''] = texts;
  if (type === 'texts' || type === 'words') return texts;
  if (type === 'answers' || type === 'assignments')
    return Object.fromEntries(texts.map((text) => readPair(name, text)));
  if (texts.length > 1) throw invalid(`${name} is given ${texts.length} times`, name);
  if (type === 'integer') {
    if (!/^\d{1,15}$/.test(first))
      throw invalid(`${name} is no whole number: ${JSON.stringify(first.slice(0, 40))}`, name);
    return Number(first);
  }
  if (type === 'flag') {
    if (!['', 'true', 'false', '1', '0'].includes(first)) throw invalid(`${name} is true or false`, name);
    return first !== 'false' && first !== '0';
  }
  return first;
}

/** `user:ann` or `user=ann`. */
function readPair(name: string, text: string): readonly [string, string] {
  const [, key, value] = /^([^:=]+)[:=](.*)$/su.exec(text) ?? [];
  if (key === undefined || value === undefined) throw invalid(`${name} is written NAME:VALUE`, name);
  return [key, value];
}
