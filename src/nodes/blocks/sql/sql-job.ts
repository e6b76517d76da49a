/** What the engines of Sql blocks share: the work, its result, and how it fails. */
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import { isPlainObject } from '../../../state/values/plain.ts';
import type { BoundStatement } from './bind-params.ts';

export interface SqlJob {
  /** Run before the statements; what they return is dropped. */
  readonly first: readonly BoundStatement[];
  readonly statements: readonly BoundStatement[];
  /** Nothing may change: the database is told so. */
  readonly isReadOnly: boolean;
  /** The one statement cannot run in a transaction. */
  readonly isAlone: boolean;
  /** For locks and for each statement. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface SqlResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly affected: number;
  readonly lastInsertId: number | bigint | null;
}

export const noResult: SqlResult = { columns: [], rows: [], affected: 0, lastInsertId: null };

/** The result of statements one after another: the last rows, and all that was changed. */
export function joinResults(results: readonly SqlResult[]): SqlResult {
  const last = results.findLast(({ columns }) => columns.length > 0) ?? noResult;
  const inserted = results.findLast(({ lastInsertId }) => lastInsertId !== null);
  return {
    columns: last.columns,
    rows: last.rows,
    affected: results.reduce((sum, { affected }) => sum + affected, 0),
    lastInsertId: inserted?.lastInsertId ?? null,
  };
}

/** Names that can be the keys of one object. @throws Error two are the same */
export function distinct(columns: readonly string[]): readonly string[] {
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  if (twice === undefined) return columns;
  throw new Error(`two columns are called ${twice}: give one of them another name with AS`);
}

/** Rows as objects. */
export function rowObjects(
  { columns, rows }: SqlResult,
  decode: (column: string, value: unknown) => unknown,
): readonly Readonly<Record<string, unknown>>[] {
  return rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, decode(column, row[index])])));
}

export interface SqlFailureFacts {
  /** SQL_UNAVAILABLE: it may go well later. */
  readonly code: 'SQL_FAILED' | 'SQL_UNAVAILABLE';
  readonly applied: 'no' | 'unknown';
  readonly data: Readonly<Record<string, unknown>>;
}

export function sqlFailure(reason: string, facts: SqlFailureFacts, cause: unknown): NodeFailure {
  return new NodeFailure(reason, { ...facts, cause });
}

/** A whole number as a number where that is exact. */
export function exactInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** A list or an object as a parameter. @throws Error it holds what JSON cannot say */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (
      typeof item === 'bigint' ||
      (typeof item === 'object' && item !== null && !Array.isArray(item) && !isPlainObject(item))
    )
      throw new Error(`a parameter holds a ${item.constructor.name}, which JSON cannot say`);
    return item;
  });
}
