/** Makes the statements that create a model's table and indexes if they do not exist. */
import type { BoundStatement } from './bind-params.ts';
import type { Engine } from './read-sql.ts';
import { primaryKey, type Column, type ColumnType, type TableModel } from './table-model.ts';
import { quoteName, quoteNames, StatementWriter } from './write-statement.ts';

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

export function schemaStatements(model: TableModel, engine: Engine): readonly BoundStatement[] {
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
