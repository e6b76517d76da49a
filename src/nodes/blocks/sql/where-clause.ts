/** Conditions that select rows: each is on one column, and all must hold. */
import type { InputFault } from '../../../graph/contracts/node-type.ts';
import { schemaFault } from '../../../schema/json-schema.ts';
import type { BoundStatement, Engine } from './sql-job.ts';
import { isPlainObject } from '../../../state/values/plain-object.ts';

// The table of an Sql block in model mode, as the file describes it.

export type ColumnType = 'text' | 'integer' | 'real' | 'boolean' | 'json' | 'timestamp' | 'blob';

export interface Column {
  readonly type: ColumnType;
  readonly primary?: boolean;
  readonly required?: boolean;
  readonly default?: unknown;
  /** What fills the column if there is no value. `updated` is also set at each change. */
  readonly auto?: 'uuid' | 'created' | 'updated';
  /** Foreign key: `table.column`. */
  readonly references?: string;
  readonly on_delete?: string;
  /** An SQL expression that every value must satisfy. */
  readonly check?: string;
}

export interface Index {
  readonly columns: readonly string[];
  readonly name?: string;
  readonly unique?: boolean;
  readonly order?: 'asc' | 'desc';
}

export interface TableModel {
  readonly table: string;
  readonly columns: Readonly<Record<string, Column>>;
  readonly indexes?: readonly Index[];
}

const name = { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' };
const names = { type: 'array', minItems: 1, items: name };
const flag = { type: 'boolean' };
const columnSchema = {
  type: 'object',
  required: ['type'],
  additionalProperties: false,
  properties: {
    type: { enum: ['text', 'integer', 'real', 'boolean', 'json', 'timestamp', 'blob'] },
    primary: flag,
    required: flag,
    default: {},
    auto: { enum: ['uuid', 'created', 'updated'] },
    references: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*\\.[A-Za-z_][A-Za-z0-9_]*$' },
    on_delete: { enum: ['cascade', 'restrict', 'set null', 'set default', 'no action'] },
    check: { type: 'string' },
  },
};

export const modelSchema: Readonly<Record<string, unknown>> = {
  type: 'object',
  required: ['table', 'columns'],
  additionalProperties: false,
  properties: {
    table: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)?$' },
    columns: { type: 'object' },
    indexes: {
      type: 'array',
      items: {
        type: 'object',
        required: ['columns'],
        additionalProperties: false,
        properties: { columns: names, name, unique: flag, order: { enum: ['asc', 'desc'] } },
      },
    },
  },
};

/** Faults of a model that already fits {@link modelSchema}. */
export function modelFaults({ columns, indexes = [] }: TableModel): readonly InputFault[] {
  const fault = (message: string, fix: string): InputFault => ({ input: 'model', message, fix });
  const faults = Object.entries(columns).flatMap(([column, declared]) => {
    const reason =
      schemaFault(name, column, `the name of column ${column}`) ??
      schemaFault(columnSchema, declared, `column ${column}`);
    return reason === undefined ? [] : [fault(reason, 'correct the column')];
  });
  if (Object.keys(columns).length === 0) faults.push(fault('the table has no columns', 'name its columns'));
  for (const unknown of indexes.flatMap((index) => index.columns).filter((column) => !Object.hasOwn(columns, column)))
    faults.push(
      fault(`an index names ${unknown}, which is no column`, `use one of ${Object.keys(columns).join(', ')}`),
    );
  return faults;
}

export function primaryKey({ columns }: TableModel): readonly string[] {
  return Object.keys(columns).filter((column) => columns[column]?.primary === true);
}

// Builds a statement piece by piece. Names are quoted and values are bound.

export class StatementWriter {
  readonly #engine: Engine;
  readonly #pieces: string[] = [];
  readonly #values: unknown[] = [];

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Adds text of our own. */
  add(...pieces: readonly string[]): this {
    this.#pieces.push(...pieces);
    return this;
  }

  /** Binds a value and returns its placeholder. */
  bind(value: unknown): string {
    const count = this.#values.push(value);
    return this.#engine === 'sqlite' ? '?' : `$${count}`;
  }

  finish(): BoundStatement {
    const text = this.#pieces.join(' ');
    return { text, words: [text.slice(0, text.indexOf(' '))], marks: [], values: this.#values };
  }
}

/** Quotes a name, or several separated by dots. */
export function quoteName(name: string): string {
  return name
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.');
}

export function quoteNames(names: readonly string[]): string {
  return names.map(quoteName).join(', ');
}

/** Conditions by column: a value, null, or operators with their values. */
export type Where = Readonly<Record<string, unknown>>;

const comparisons: Readonly<Record<string, string>> = {
  '=': '=',
  '!=': '<>',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
  like: 'LIKE',
};
const operators = [...Object.keys(comparisons), 'in', 'is', 'not'];

/** Faults of conditions, one sentence each. */
export function whereFaults(where: Where, { columns }: TableModel): readonly string[] {
  return Object.entries(where).flatMap(([name, condition]) => {
    if (!Object.hasOwn(columns, name)) return [`${name} is no column: there are ${Object.keys(columns).join(', ')}`];
    if (Array.isArray(condition)) return [`${name} has a list: write { in: [...] }`];
    if (!isPlainObject(condition)) return [];
    return Object.entries(condition).flatMap(([operator, value]) => {
      if (!operators.includes(operator)) return [`${operator} is no operator: there are ${operators.join(', ')}`];
      if (operator === 'in' && !Array.isArray(value)) return [`in needs a list`];
      return operator === 'is' && value !== null ? ['is takes null only'] : [];
    });
  });
}

export function writeWhere(writer: StatementWriter, where: Where): void {
  const conditions = Object.entries(where).flatMap(([name, condition]) => {
    const column = quoteName(name);
    if (!isPlainObject(condition)) return [equals(writer, column, condition)];
    return Object.entries(condition).map(([operator, value]) => writeOperator(writer, column, operator, value));
  });
  if (conditions.length > 0) writer.add('WHERE', conditions.join(' AND '));
}

function equals(writer: StatementWriter, column: string, value: unknown): string {
  return value === null || value === undefined ? `${column} IS NULL` : `${column} = ${writer.bind(value)}`;
}

function writeOperator(writer: StatementWriter, column: string, operator: string, value: unknown): string {
  if (operator === 'in') {
    const values = (value as readonly unknown[]).map((item) => writer.bind(item));
    return values.length === 0 ? '1 = 0' : `${column} IN (${values.join(', ')})`;
  }
  if (operator === 'is' || operator === '=') return equals(writer, column, value);
  if (value === null) return `${column} IS NOT NULL`;
  return `${column} ${comparisons[operator] ?? '<>'} ${writer.bind(value)}`;
}
