/** Raw mode of the Sql block: the file contains the statements. */
import type { InputFault, InputField, Inputs } from '../../../graph/contracts/node-type.ts';
import { literal, refuseInput } from '../fields.ts';
import { bindParams, type BoundStatement, type Params } from './bind-params.ts';
import { readSql, type Engine, type Statement } from './read-sql.ts';
import { isRead, refusalOf, runsAlone } from './statement-class.ts';

export const rawFields: Readonly<Record<string, InputField>> = {
  sql: {
    schema: { type: 'string' },
    description: 'One statement, or several without params. Values belong into params.',
    ...literal,
  },
  params: {
    schema: { type: ['array', 'object'] },
    description: 'Values for `?`, `$1` or `%s` in their order, or for `:name` by name. They are always bound.',
    takesSecrets: true,
  },
};

/** The statements to run, and how. */
export interface SqlWork {
  readonly statements: readonly BoundStatement[];
  readonly isAlone: boolean;
  /** Decodes a value of a column. */
  readonly decode?: (column: string, value: unknown) => unknown;
}

/** Whether these statements certainly change nothing; false if that cannot be told. */
export function isRawRead(sql: string, engine: Engine): boolean {
  try {
    const statements = readSql(sql, engine);
    return statements.length > 0 && statements.every(isRead);
  } catch {
    return false;
  }
}

/** Faults in the text of statements. */
export function sqlFaults(input: string, sql: string, engine: Engine): readonly InputFault[] {
  let statements: readonly Statement[];
  try {
    statements = readSql(sql, engine);
  } catch (error) {
    return [{ input, message: (error as Error).message, fix: 'close it' }];
  }
  if (statements.length === 0) return [{ input, message: 'it has no statement', fix: 'write one' }];
  const faults = statements.flatMap((statement) => {
    const refusal = refusalOf(statement, engine);
    return refusal === undefined ? [] : [{ input, ...refusal }];
  });
  const alone = statements.find((statement) => runsAlone(statement, engine));
  if (alone !== undefined && (statements.length > 1 || input === 'init_sql')) {
    const isPragma = alone.words[0] === 'PRAGMA';
    const fix = isPragma ? 'put it into sqlite_pragmas' : 'give it a block of its own';
    faults.push({ input, message: `${alone.words[0] ?? ''} runs outside of transactions only`, fix });
  }
  return faults;
}

/** Faults of statements together with their parameters, if these are known. */
export function rawFaults(sql: string, inputs: Inputs, engine: Engine): readonly InputFault[] {
  const faults = sqlFaults('sql', sql, engine);
  if (faults.length > 0 || inputs['params'] === undefined) return faults;
  try {
    bindAll(readSql(sql, engine), inputs['params'] as Params, engine);
    return [];
  } catch (error) {
    return [{ input: 'params', message: (error as Error).message, fix: 'give one value for each placeholder' }];
  }
}

function bindAll(
  statements: readonly Statement[],
  params: Params | undefined,
  engine: Engine,
): readonly BoundStatement[] {
  if (params !== undefined && statements.length > 1) throw new Error('only a single statement takes params');
  return statements.map((statement) => bindParams(statement, params, engine));
}

/** Turns the inputs into statements. @throws NodeFailure INPUT_INVALID */
export function readRawWork(sql: string, inputs: Inputs, engine: Engine): SqlWork {
  const statements = readSql(sql, engine);
  try {
    return {
      statements: bindAll(statements, inputs['params'] as Params | undefined, engine),
      isAlone: statements.some((statement) => runsAlone(statement, engine)),
    };
  } catch (error) {
    throw refuseInput('params', `does not fit sql: ${(error as Error).message}`);
  }
}
