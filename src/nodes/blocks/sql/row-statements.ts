/** Makes statements on the rows of a table model. */
import type { BoundStatement } from './bind-params.ts';
import type { Engine } from './read-sql.ts';
import { primaryKey, type TableModel } from './table-model.ts';
import { writeWhere, type Where } from './where-clause.ts';
import { quoteName, quoteNames, StatementWriter } from './write-statement.ts';

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

export function selectStatement({
  model,
  engine,
  where,
  columns,
  order,
  limit,
  offset,
}: SelectRequest): BoundStatement {
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
export function insertStatement({ model, engine, rows, conflict }: InsertRequest): BoundStatement {
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

export function updateStatement({ model, engine, where }: RowRequest, data: RowData): BoundStatement {
  const writer = new StatementWriter(engine);
  const sets = Object.entries(data).map(([name, value]) => `${quoteName(name)} = ${writer.bind(value)}`);
  writer.add('UPDATE', quoteName(model.table), 'SET', sets.join(', '));
  writeWhere(writer, where);
  return writer.finish();
}

export function deleteStatement({ model, engine, where }: RowRequest): BoundStatement {
  const writer = new StatementWriter(engine).add('DELETE FROM', quoteName(model.table));
  writeWhere(writer, where);
  return writer.finish();
}
