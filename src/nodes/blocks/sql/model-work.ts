/** Model mode of the Sql block: the file describes a table and says what to do with its rows. */
import type { InputFault, InputField, Inputs } from '../../../graph/contracts/node-type.ts';
import { isPlainObject } from '../../../state/values/plain.ts';
import { literal, refuseInput } from '../fields.ts';
import { changedRow, decode, encodeWhere, listOf, newRows, rowsOf, type ModelSource } from './model-rows.ts';
import type { BoundStatement } from './bind-params.ts';
import type { SqlWork } from './raw-work.ts';
import type { Engine } from './read-sql.ts';
import {
  deleteStatement,
  insertStatement,
  selectStatement,
  updateStatement,
  type InsertRequest,
} from './row-statements.ts';
import { schemaStatements } from './schema-statements.ts';
import { modelFaults, modelSchema, primaryKey, type TableModel } from './table-model.ts';
import { whereFaults, type Where } from './where-clause.ts';

const operations = ['schema', 'insert', 'select', 'update', 'delete', 'upsert'] as const;
type Operation = (typeof operations)[number];

const names = { type: 'array', items: { type: 'string' } };
const count = { type: 'integer', minimum: 0 };

export const modelFields: Readonly<Record<string, InputField>> = {
  model: { schema: modelSchema, description: 'Instead of sql: a table and its columns.', ...literal },
  op: { schema: { enum: operations }, description: 'What is done with it.', ...literal },
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
