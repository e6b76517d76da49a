/** Model mode of the Sql block: the file describes a table and says what to do with its rows. */
import { type BoundStatement, type Engine, jsonText } from './sql-job.ts';
import {
  primaryKey,
  type TableModel,
  writeWhere,
  type Where,
  quoteName,
  quoteNames,
  StatementWriter,
  type ColumnType,
  type Column,
  modelFaults,
  modelSchema,
  whereFaults,
} from './where-clause.ts';
import { hashText } from '../../../state/values/canonical-text.ts';
import { isPlainObject } from '../../../state/values/plain-object.ts';
import { refuseInput, parseJson, literal as literal2 } from '../block-options.ts';
import type { InputFault, InputField, Inputs } from '../../../graph/contracts/node-type.ts';
import type { SqlWork } from './raw-work.ts';

// Makes statements on the rows of a table model.

export type RowData = Readonly<Record<string, unknown>>;

export interface RowRequest {
  readonly model: TableModel;
  readonly engine: Engine;
  readonly where: Where;
}

export interface SelectRequest extends RowRequest {
  readonly columns: readonly string[];
  /** Sort keys: `name`, `name:asc` or `name:desc`. */
  readonly order: readonly string[];
  readonly limit: number | undefined;
  readonly offset: number | undefined;
}

function selectStatement({ model, engine, where, columns, order, limit, offset }: SelectRequest): BoundStatement {
  const writer = new StatementWriter(engine).add('SELECT', quoteNames(columns), 'FROM', quoteName(model.table));
  writeWhere(writer, where);
  const keys = order.map((key) => {
    const [name = '', direction = 'asc'] = key.split(':');
    return `${quoteName(name)} ${direction.toUpperCase()}`;
  });
  if (keys.length > 0) writer.add('ORDER BY', keys.join(', '));
  // SQLite accepts OFFSET only after LIMIT.
  if (limit !== undefined || (offset !== undefined && engine === 'sqlite'))
    writer.add('LIMIT', writer.bind(limit ?? -1));
  if (offset !== undefined) writer.add('OFFSET', writer.bind(offset));
  return writer.finish();
}

/** An insert of rows that all have the same columns, with encoded values. */
export interface InsertRequest extends Omit<RowRequest, 'where'> {
  readonly rows: readonly RowData[];
  /** For an upsert: the columns that identify an existing row, and the columns to replace in it. */
  readonly conflict: { readonly columns: readonly string[]; readonly changed: readonly string[] } | undefined;
}

/** Makes an insert. It returns the primary keys; if the model has none, all columns. */
function insertStatement({ model, engine, rows, conflict }: InsertRequest): BoundStatement {
  const names = Object.keys(rows[0] ?? {});
  const writer = new StatementWriter(engine);
  const tuples = rows.map((row) => `(${names.map((name) => writer.bind(row[name])).join(', ')})`);
  writer.add('INSERT INTO', quoteName(model.table), `(${quoteNames(names)})`, 'VALUES', tuples.join(', '));
  if (conflict !== undefined) {
    const sets = conflict.changed.map((name) => `${quoteName(name)} = excluded.${quoteName(name)}`).join(', ');
    const action = sets === '' ? 'DO NOTHING' : `DO UPDATE SET ${sets}`;
    writer.add('ON CONFLICT', `(${quoteNames(conflict.columns)})`, action);
  }
  const keys = primaryKey(model);
  return writer.add('RETURNING', keys.length === 0 ? '*' : quoteNames(keys)).finish();
}

function updateStatement({ model, engine, where }: RowRequest, data: RowData): BoundStatement {
  const writer = new StatementWriter(engine);
  const sets = Object.entries(data).map(([name, value]) => `${quoteName(name)} = ${writer.bind(value)}`);
  writer.add('UPDATE', quoteName(model.table), 'SET', sets.join(', '));
  writeWhere(writer, where);
  return writer.finish();
}

function deleteStatement({ model, engine, where }: RowRequest): BoundStatement {
  const writer = new StatementWriter(engine).add('DELETE FROM', quoteName(model.table));
  writeWhere(writer, where);
  return writer.finish();
}

// Rows of a table model: which columns are filled in, and how values are encoded.

const listOf = (data: unknown): readonly unknown[] => (data === undefined ? [] : Array.isArray(data) ? data : [data]);

function rowsOf(data: unknown): readonly RowData[] {
  return listOf(data).filter(isPlainObject);
}

export interface ModelSource {
  /** Seed for keys of new rows, so that every attempt generates the same keys. */
  readonly idempotencyKey: string;
  /** Current time in epoch ms. */
  readonly now: number;
}

/** Makes rows that all have the same columns. A column that no row has and nothing fills in gets the database's default. */
function newRows(model: TableModel, data: unknown, { idempotencyKey, now }: ModelSource): readonly RowData[] {
  const rows = rowsOf(data);
  const named = new Set(rows.flatMap((row) => Object.keys(row)));
  const filled = Object.entries(model.columns).filter(
    ([name, column]) => named.has(name) || column.auto !== undefined || 'default' in column,
  );
  return rows.map((row, index) =>
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

function changedRow(model: TableModel, data: unknown, { now }: ModelSource): RowData {
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

function encodeWhere(where: Where, { columns }: TableModel): Where {
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
function decode(type: ColumnType | undefined, value: unknown): unknown {
  if (type === 'boolean' && typeof value === 'number') return value !== 0;
  if (type === 'json' && typeof value === 'string') {
    const parsed = parseJson(value);
    return parsed === undefined ? value : parsed;
  }
  if (type !== 'timestamp' || typeof value !== 'string') return value;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? value : time;
}

// Makes the statements that create a model's table and indexes if they do not exist.

const typeNames: Readonly<Record<Engine, Readonly<Record<ColumnType, string>>>> = {
  sqlite: {
    text: 'TEXT',
    integer: 'INTEGER',
    real: 'REAL',
    boolean: 'INTEGER',
    json: 'TEXT',
    timestamp: 'TEXT',
    blob: 'BLOB',
  },
  postgresql: {
    text: 'TEXT',
    integer: 'BIGINT',
    real: 'DOUBLE PRECISION',
    boolean: 'BOOLEAN',
    json: 'JSONB',
    timestamp: 'TIMESTAMPTZ',
    blob: 'BYTEA',
  },
};

function schemaStatements(model: TableModel, engine: Engine): readonly BoundStatement[] {
  const { table, columns, indexes = [] } = model;
  const keys = primaryKey(model);
  const lines = Object.entries(columns).map(([name, column]) => columnLine(name, column, engine, keys.length === 1));
  if (keys.length > 1) lines.push(`PRIMARY KEY (${quoteNames(keys)})`);
  const make = new StatementWriter(engine).add('CREATE TABLE IF NOT EXISTS', quoteName(table), `(${lines.join(', ')})`);
  const made = indexes.map(({ columns: of, name, unique = false, order = 'asc' }) => {
    const own = name ?? `${table.replace('.', '_')}_${of.join('_')}_idx`;
    const sorted = of.map((column) => `${quoteName(column)} ${order.toUpperCase()}`).join(', ');
    const kind = unique ? 'CREATE UNIQUE INDEX IF NOT EXISTS' : 'CREATE INDEX IF NOT EXISTS';
    return new StatementWriter(engine).add(kind, quoteName(own), 'ON', quoteName(table), `(${sorted})`).finish();
  });
  return [make.finish(), ...made];
}

function columnLine(name: string, column: Column, engine: Engine, isOnlyKey: boolean): string {
  const { type, primary = false, required = false, references, on_delete: onDelete, check } = column;
  const [table = '', target = ''] = references?.split('.') ?? [];
  return [
    quoteName(name),
    typeNames[engine][type],
    primary && isOnlyKey ? 'PRIMARY KEY' : '',
    required || primary ? 'NOT NULL' : '',
    'default' in column ? `DEFAULT ${literal(column.default, type, engine)}` : '',
    check === undefined ? '' : `CHECK (${check})`,
    references === undefined ? '' : `REFERENCES ${quoteName(table)} (${quoteName(target)})`,
    onDelete === undefined ? '' : `ON DELETE ${onDelete.toUpperCase()}`,
  ]
    .filter((piece) => piece !== '')
    .join(' ');
}

/**
 * A default value as SQL. It cannot be bound, so it is written into the statement. It comes from the file, never from the state of a run.
 */
function literal(value: unknown, type: ColumnType, engine: Engine): string {
  if (value === null) return 'NULL';
  if (type === 'json') return quoteText(JSON.stringify(value));
  if (typeof value === 'boolean' && engine === 'sqlite') return value ? '1' : '0';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return quoteText(typeof value === 'string' ? value : JSON.stringify(value));
}

const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const operations = ['schema', 'insert', 'select', 'update', 'delete', 'upsert'] as const;
type Operation = (typeof operations)[number];

const names = { type: 'array', items: { type: 'string' } };
const count = { type: 'integer', minimum: 0 };

export const modelFields: Readonly<Record<string, InputField>> = {
  model: { schema: modelSchema, description: 'Instead of sql: a table and its columns.', ...literal2 },
  op: { schema: { enum: operations }, description: 'What is done with it.', ...literal2 },
  data: {
    schema: { type: ['object', 'array'] },
    description: 'Values by column; to insert also a list of rows.',
    takesSecrets: true,
  },
  where: { schema: { type: 'object' }, description: 'Which rows: values or operators by column; all must hold.' },
  columns: { schema: names, description: 'Those to select. Default: all.' },
  order: { schema: names, description: 'Columns to sort by, as `name` or `name:desc`.' },
  limit: { schema: count, description: 'The most rows to select.' },
  offset: { schema: count, description: 'Rows to pass over.' },
  conflict: {
    schema: names,
    description: 'Of upsert: the columns that tell that a row is there. Default: the primary key.',
  },
};

/** The inputs that each operation uses. */
const uses: Readonly<Record<Operation, readonly string[]>> = {
  schema: [],
  insert: ['data'],
  select: ['where', 'columns', 'order', 'limit', 'offset'],
  update: ['data', 'where'],
  delete: ['where'],
  upsert: ['data', 'conflict'],
};
/** The inputs that each operation requires. */
const needs: Readonly<Partial<Record<Operation, readonly string[]>>> = {
  insert: ['data'],
  update: ['data', 'where'],
  delete: ['where'],
  upsert: ['data'],
};

/** Faults of the inputs that are known so far. */
export function modelWorkFaults(inputs: Inputs): readonly InputFault[] {
  const fault = (input: string, message: string, fix: string): InputFault => ({ input, message, fix });
  const op = inputs['op'] as Operation | undefined;
  const model = inputs['model'] as TableModel | undefined;
  if (model === undefined) return [fault('op', 'op has no model', 'add model, or use sql')];
  if (op === undefined) return [fault('model', 'model has no op', `add op: one of ${operations.join(', ')}`)];
  const faults = [...modelFaults(model)];
  if (faults.length > 0) return faults;
  for (const input of Object.keys(modelFields)
    .slice(2)
    .filter((name) => inputs[name] !== undefined))
    if (!uses[op].includes(input)) faults.push(fault(input, `${input} is nothing to ${op}`, 'leave it out'));
  const columns = Object.keys(model.columns);
  const unknown = (input: string, used: readonly string[]): void => {
    for (const name of used.filter((each) => !columns.includes(each)))
      faults.push(fault(input, `${name} is no column`, `use one of ${columns.join(', ')}`));
  };
  if (!listOf(inputs['data']).every(isPlainObject))
    faults.push(fault('data', 'a row is no mapping', 'give values by column'));
  for (const row of rowsOf(inputs['data'])) unknown('data', Object.keys(row));
  for (const input of ['columns', 'conflict']) unknown(input, (inputs[input] ?? []) as readonly string[]);
  const order = (inputs['order'] ?? []) as readonly string[];
  unknown(
    'order',
    order.map((key) => key.replace(/:(asc|desc)$/iu, '')),
  );
  for (const message of whereFaults((inputs['where'] ?? {}) as Where, model))
    faults.push(fault('where', message, 'correct it'));
  return faults;
}

/** Turns the inputs into statements. @throws NodeFailure INPUT_INVALID */
export function readModelWork(inputs: Inputs, engine: Engine, source: ModelSource): SqlWork {
  const model = inputs['model'] as TableModel;
  const op = inputs['op'] as Operation;
  for (const input of needs[op] ?? [])
    if (inputs[input] === undefined) throw refuseInput(input, `is missing: ${op} needs it`);
  const isEverything = Object.keys(inputs['where'] ?? {}).length === 0;
  if ((op === 'update' || op === 'delete') && isEverything)
    throw refuseInput('where', `is empty: ${op} needs a condition`);
  return {
    statements: statementsOf(op, model, inputs, engine, source),
    isAlone: false,
    ...(engine === 'sqlite' && {
      decode: (column: string, value: unknown) => decode(model.columns[column]?.type, value),
    }),
  };
}

function statementsOf(
  op: Operation,
  model: TableModel,
  inputs: Inputs,
  engine: Engine,
  source: ModelSource,
): readonly BoundStatement[] {
  const where = encodeWhere((inputs['where'] ?? {}) as Where, model);
  switch (op) {
    case 'schema':
      return schemaStatements(model, engine);
    case 'select':
      return [
        selectStatement({
          model,
          engine,
          where,
          columns: (inputs['columns'] as readonly string[] | undefined) ?? Object.keys(model.columns),
          order: (inputs['order'] as readonly string[] | undefined) ?? [],
          limit: inputs['limit'] as number | undefined,
          offset: inputs['offset'] as number | undefined,
        }),
      ];
    case 'update':
      return [updateStatement({ model, engine, where }, changedRow(model, inputs['data'], source))];
    case 'delete':
      return [deleteStatement({ model, engine, where })];
    default: {
      const rows = newRows(model, inputs['data'], source);
      const conflict = op === 'upsert' ? conflictOf(model, inputs) : undefined;
      return rows.length === 0 ? [] : [insertStatement({ model, engine, rows, conflict })];
    }
  }
}

/**
 * For an upsert: how a row that exists is found, and which of its columns are replaced. Columns that the data does not name keep their
 * values.
 */
function conflictOf(model: TableModel, inputs: Inputs): InsertRequest['conflict'] {
  const columns = (inputs['conflict'] as readonly string[] | undefined) ?? primaryKey(model);
  if (columns.length === 0) throw refuseInput('conflict', 'is missing, and the model has no primary key');
  const named = new Set(rowsOf(inputs['data']).flatMap((row) => Object.keys(row)));
  const changed = Object.keys(model.columns).filter(
    (name) => !columns.includes(name) && (named.has(name) || model.columns[name]?.auto === 'updated'),
  );
  return { columns, changed };
}
