/** Conditions that select rows: each is on one column, and all must hold. */
import { isPlainObject } from '../../../state/values/plain.ts';
import type { TableModel } from './table-model.ts';
import { quoteName, type StatementWriter } from './write-statement.ts';

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
