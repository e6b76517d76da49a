/** What the databases of Sql blocks share: the job, its result, and how it fails. */
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import { isPlainObject } from '../../../state/values/plain.ts';
import type { BoundStatement } from './bind-params.ts';

export interface SqlJob {
  /** Statements to run first; their results are dropped. */
  readonly first: readonly BoundStatement[];
  readonly statements: readonly BoundStatement[];
  /** Whether nothing may change. The database enforces it. */
  readonly isReadOnly: boolean;
  /** Whether the only statement cannot run in a transaction. */
  readonly isAlone: boolean;
  /** Time limit for waiting for locks, and for each statement, in milliseconds. */
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

/** Combines the results of several statements: the last rows, and the sum of all changes. */
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

/** Column names that can be keys of one object. @throws Error two are the same */
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
  /** SQL_UNAVAILABLE if the failure may be temporary. */
  readonly code: 'SQL_FAILED' | 'SQL_UNAVAILABLE';
  readonly applied: 'no' | 'unknown';
  readonly data: Readonly<Record<string, unknown>>;
}

export function sqlFailure(reason: string, facts: SqlFailureFacts, cause: unknown): NodeFailure {
  return new NodeFailure(reason, { ...facts, cause });
}

/** An integer as a number if that is exact, else as a bigint. */
export function exactInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** A list or object as a parameter. @throws Error it contains what JSON cannot express */
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
