/** The table of an Sql block in model mode, as the file describes it. */
import type { InputFault } from '../../../graph/contracts/node-type.ts';
import { schemaFault } from '../../../schema/json-schema.ts';

export type ColumnType = 'text' | 'integer' | 'real' | 'boolean' | 'json' | 'timestamp' | 'blob';

export interface Column {
  readonly type: ColumnType;
  readonly primary?: boolean;
  readonly required?: boolean;
  readonly default?: unknown;
  /** What fills the column if no value is given. `updated` is also set at each change. */
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
