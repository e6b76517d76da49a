/** Converts values to and from Postgres. */
import { readArray, writeArray, type ArrayItem } from './postgres-arrays.ts';
import { exactInteger, jsonText } from './sql-job.ts';

interface PostgresType {
  readonly to: number;
  readonly from: number[];
  readonly serialize: (value: unknown) => unknown;
  readonly parse: (text: string) => unknown;
}

type Parse = (text: string) => unknown;

const asText: Parse = (text) => text;
const asJson: Parse = (text) => JSON.parse(text) as unknown;

/** Parsers by type, with the ids of the type and of its array type in `pg_type`. Other types stay text. */
const types: readonly (readonly [id: number, arrayId: number, parse: Parse])[] = [
  [16, 1000, (text) => text === 't'], // bool
  [17, 1001, (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex'))], // bytea
  [20, 1016, (text) => exactInteger(BigInt(text))], // int8
  [21, 1005, Number], // int2
  [23, 1007, Number], // int4
  [26, 1028, Number], // oid
  [700, 1021, Number], // float4
  [701, 1022, Number], // float8
  [1700, 1231, asText], // numeric: as exact as it is
  [25, 1009, asText], // text
  [1042, 1014, asText], // bpchar
  [1043, 1015, asText], // varchar
  [2950, 2951, asText], // uuid
  [705, 0, asText], // unknown
  [1082, 1182, asText], // date: a day has no time, and so is no point in time
  [1114, 1115, (text) => readTime(text, `${text.replace(' ', 'T')}Z`)], // timestamp
  [1184, 1185, (text) => readTime(text, text)], // timestamptz
];
const jsonTypes: readonly (readonly [id: number, arrayId: number])[] = [
  [114, 199],
  [3802, 3807],
];

/** A point in time; `infinity` and years before Christ stay text. */
function readTime(text: string, iso: string): Date | string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) || !/^\d/u.test(text) || text.endsWith('BC') ? text : time;
}

/** A list: for arrays what `toString` gives, for JSON and text its JSON. */
type ListParameter = readonly ArrayItem[] & { readonly toJSONText: () => string };

/** A parameter as text, which the server reads as the type that it wants there. */
export function toPostgres(value: unknown): ArrayItem {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (!Array.isArray(value)) return jsonText(value);
  const items = value.map(toPostgres);
  return Object.assign(items, { toString: () => writeArray(items), toJSONText: () => jsonText(value) });
}

const serialize = (value: unknown): unknown => value;
const serializeList = (value: unknown): unknown =>
  Array.isArray(value) ? (value as unknown as ListParameter).toJSONText() : value;

/** For the driver: how columns are read and parameters written. */
export const postgresTypes: Readonly<Record<string, PostgresType>> = Object.fromEntries(
  [...types, ...jsonTypes.map(([id, arrayId]) => [id, arrayId, asJson] as const)].flatMap(([id, arrayId, parse]) => {
    const takesLists = parse === asText || parse === asJson;
    const parseList: Parse = (text) => readArray(text, parse);
    return [
      [`t${id}`, { to: id, from: [id], serialize: takesLists ? serializeList : serialize, parse }],
      [`t${arrayId}`, { to: arrayId, from: [arrayId], serialize: String, parse: parseList }],
    ];
  }),
);
