/** Rows of a table model: which columns are filled in, and how values are encoded. */
import { hashText } from '../../../state/values/hash.ts';
import { isPlainObject } from '../../../state/values/plain.ts';
import { refuseInput } from '../fields.ts';
import { parseJson } from '../parse-json.ts';
import type { RowData } from './row-statements.ts';
import { jsonText } from './sql-job.ts';
import type { ColumnType, TableModel } from './table-model.ts';
import type { Where } from './where-clause.ts';

export const listOf = (data: unknown): readonly unknown[] =>
  data === undefined ? [] : Array.isArray(data) ? data : [data];

export function rowsOf(data: unknown): readonly RowData[] {
  return listOf(data).filter(isPlainObject);
}

export interface ModelSource {
  /** Seed for keys of new rows, so that every attempt generates the same keys. */
  readonly idempotencyKey: string;
  /** Current time in epoch ms. */
  readonly now: number;
}

/** Makes rows that all have the same columns. A column that no row gives and nothing fills in is left to the database's default. */
export function newRows(model: TableModel, data: unknown, { idempotencyKey, now }: ModelSource): readonly RowData[] {
  const given = rowsOf(data);
  const named = new Set(given.flatMap((row) => Object.keys(row)));
  const filled = Object.entries(model.columns).filter(
    ([name, column]) => named.has(name) || column.auto !== undefined || 'default' in column,
  );
  return given.map((row, index) =>
    Object.fromEntries(
      filled.map(([name, { type, auto, default: otherwise = null }]) => {
        if (row[name] !== undefined) return [name, encode(type, row[name])];
        if (auto === 'uuid') return [name, rowKey(idempotencyKey, index, name)];
        return [name, auto === undefined ? encode(type, otherwise) : new Date(now)];
      }),
    ),
  );
}

/** A key of 32 hexadecimal digits. */
function rowKey(...parts: readonly (string | number)[]): string {
  return Buffer.from(hashText(parts.join('\0')), 'base64url')
    .toString('hex')
    .slice(0, 32);
}

export function changedRow(model: TableModel, data: unknown, { now }: ModelSource): RowData {
  if (!isPlainObject(data) || Object.keys(data).length === 0) throw refuseInput('data', 'must be values by column');
  const updated = Object.keys(model.columns).filter(
    (name) => model.columns[name]?.auto === 'updated' && !(name in data),
  );
  return {
    ...encodeRow(model, data),
    ...Object.fromEntries(updated.map((name) => [name, new Date(now)])),
  };
}

function encodeRow({ columns }: TableModel, row: RowData): RowData {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, encode(columns[name]?.type, value)]));
}

export function encodeWhere(where: Where, { columns }: TableModel): Where {
  const encodeAll = (type: ColumnType | undefined, value: unknown): unknown =>
    Array.isArray(value) ? value.map((item) => encode(type, item)) : encode(type, value);
  return Object.fromEntries(
    Object.entries(where).map(([name, condition]) => {
      const type = columns[name]?.type;
      if (!isPlainObject(condition)) return [name, encode(type, condition)];
      return [name, Object.fromEntries(Object.entries(condition).map(([key, value]) => [key, encodeAll(type, value)]))];
    }),
  );
}

/** Encodes a value. In a JSON column every value is stored as JSON text, texts included; the database driver does the rest. */
function encode(type: ColumnType | undefined, value: unknown): unknown {
  return type === 'json' && value !== null && value !== undefined ? jsonText(value) : value;
}

/** Decodes a value. Booleans and JSON, which SQLite stores as numbers and texts, become what the model declares. */
export function decode(type: ColumnType | undefined, value: unknown): unknown {
  if (type === 'boolean' && typeof value === 'number') return value !== 0;
  if (type === 'json' && typeof value === 'string') {
    const parsed = parseJson(value);
    return parsed === undefined ? value : parsed;
  }
  if (type !== 'timestamp' || typeof value !== 'string') return value;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? value : time;
}
