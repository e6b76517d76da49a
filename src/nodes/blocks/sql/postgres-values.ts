/** Values to and from Postgres. */
import { exactInteger, jsonText } from './sql-job.ts';

/** Ids of types, as `pg_type` has them. */
const oid = {
  bool: 16,
  bytea: 17,
  int8: 20,
  int2: 21,
  int4: 23,
  text: 25,
  oid: 26,
  json: 114,
  float4: 700,
  float8: 701,
  unknown: 705,
  bpchar: 1042,
  varchar: 1043,
  date: 1082,
  timestamp: 1114,
  timestamptz: 1184,
  numeric: 1700,
  jsonb: 3802,
} as const;

const asJson = Symbol('json');

/** A list: for an array of Postgres its items, for JSON and text its JSON. */
type ListParameter = readonly unknown[] & { readonly [asJson]: string };

/** A parameter as text, which the server reads as the type that it wants there. */
export function toPostgres(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return Object.assign(value.map(toPostgres), { [asJson]: jsonText(value) });
  return typeof value === 'string' ? value : scalarText(value);
}

function scalarText(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  return jsonText(value);
}

const listText = (value: unknown): unknown =>
  Array.isArray(value) ? (value as unknown as ListParameter)[asJson] : value;
const same = (value: unknown): unknown => value;

interface PostgresType {
  readonly to: number;
  readonly from: number[];
  readonly serialize: (value: unknown) => unknown;
  readonly parse: (text: string) => unknown;
}

const type = (
  id: number,
  parse: (text: string) => unknown,
  serialize: (value: unknown) => unknown = same,
): PostgresType => ({
  to: id,
  from: [id],
  serialize,
  parse,
});

/** How columns are read, and parameters written. Types that are not here are text. */
export const postgresTypes: Readonly<Record<string, PostgresType>> = {
  bool: type(oid.bool, (text) => text === 't'),
  bytea: type(oid.bytea, (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex'))),
  int8: type(oid.int8, (text) => exactInteger(BigInt(text))),
  int2: type(oid.int2, Number),
  int4: type(oid.int4, Number),
  oid: type(oid.oid, Number),
  float4: type(oid.float4, Number),
  float8: type(oid.float8, Number),
  numeric: type(oid.numeric, same),
  json: type(oid.json, (text) => JSON.parse(text) as unknown, listText),
  jsonb: type(oid.jsonb, (text) => JSON.parse(text) as unknown, listText),
  text: type(oid.text, same, listText),
  varchar: type(oid.varchar, same, listText),
  bpchar: type(oid.bpchar, same, listText),
  unknown: type(oid.unknown, same, listText),
  // A day has no time, and so is no point in time.
  date: type(oid.date, same),
  timestamp: type(oid.timestamp, (text) => readTime(text, `${text.replace(' ', 'T')}Z`)),
  timestamptz: type(oid.timestamptz, (text) => readTime(text, text)),
};

/** A point in time; `infinity` and years before Christ stay text. */
function readTime(text: string, iso: string): Date | string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) || !/^\d/u.test(text) || text.endsWith('BC') ? text : time;
}
