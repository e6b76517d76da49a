/** Converts parameters to the form that each database expects. Values are bound, never written into the statement. */
import type { Engine, Mark, Statement } from './read-sql.ts';

export interface BoundStatement extends Statement {
  /** For SQLite in the order of the `?` marks, for Postgres in that of `$1`, `$2` … */
  readonly values: readonly unknown[];
}

export type Params = readonly unknown[] | Readonly<Record<string, unknown>>;

/** Binds the parameters of a statement. @throws Error placeholders and parameters do not match */
export function bindParams(statement: Statement, params: Params | undefined, engine: Engine): BoundStatement {
  if (params === undefined) return withoutParams(statement, engine);
  return Array.isArray(params)
    ? bindList(statement, params as readonly unknown[], engine)
    : bindNamed(statement, params as Readonly<Record<string, unknown>>, engine);
}

/**
 * A statement without parameters. SQLite would silently bind NULL to its placeholders, so they are refused. In Postgres `?` and `%` are
 * operators, and Postgres itself reports missing values.
 */
function withoutParams(statement: Statement, engine: Engine): BoundStatement {
  const lacks = statement.marks.some(({ kind }) => kind !== '%s' && engine === 'sqlite');
  if (lacks) throw new Error('it has placeholders, and there are no params');
  return { ...statement, values: [] };
}

function bindList(statement: Statement, params: readonly unknown[], engine: Engine): BoundStatement {
  const of = (wanted: Mark['kind']): readonly Mark[] => statement.marks.filter(({ kind }) => kind === wanted);
  const [byIndex, questions, percents, names] = [of('index'), of('?'), of('%s'), of('name')];
  if (byIndex.length > 0) {
    if (engine === 'sqlite' && questions.length + percents.length > 0) throw mixed();
    const used = new Set(byIndex.map(({ index = 0 }) => index));
    for (let index = 1; index <= Math.max(params.length, ...used); index += 1)
      if (!used.has(index) || index > params.length) throw countFault(Math.max(...used), params.length);
    return write(statement, byIndex, engine, ({ index = 0 }) => index - 1, params);
  }
  if (engine === 'sqlite' && questions.length > 0 && percents.length > 0) throw mixed();
  // In a statement with `%s` marks, a `?` is an operator of Postgres.
  const marks = percents.length > 0 ? percents : questions;
  if (marks.length === 0 && params.length > 0 && names.length > 0)
    throw new Error('its placeholders have names: give params as a mapping');
  if (marks.length !== params.length) throw countFault(marks.length, params.length);
  return write(statement, marks, engine, (mark) => marks.indexOf(mark), params);
}

function bindNamed(statement: Statement, params: Readonly<Record<string, unknown>>, engine: Engine): BoundStatement {
  const names = Object.keys(params);
  const marks = statement.marks.filter(({ kind }) => kind === 'name');
  const absent = marks.find(({ name = '' }) => !Object.hasOwn(params, name));
  if (absent !== undefined) throw new Error(`params has no ${absent.name}`);
  const unused = names.find((name) => !marks.some((mark) => mark.name === name));
  if (unused !== undefined) throw new Error(`it has no placeholder :${unused}`);
  return write(statement, marks, engine, ({ name = '' }) => names.indexOf(name), Object.values(params));
}

/** Replaces the author's placeholders by those of the database. */
function write(
  statement: Statement,
  marks: readonly Mark[],
  engine: Engine,
  placeOf: (mark: Mark) => number,
  params: readonly unknown[],
): BoundStatement {
  let text = '';
  let at = 0;
  for (const mark of marks) {
    text += `${statement.text.slice(at, mark.start)}${engine === 'sqlite' ? '?' : `$${placeOf(mark) + 1}`}`;
    at = mark.end;
  }
  text += statement.text.slice(at);
  const values = engine === 'sqlite' ? marks.map((mark) => params[placeOf(mark)]) : params;
  return { ...statement, text, values };
}

const mixed = (): Error => new Error('it mixes placeholders of several kinds');
const countFault = (wanted: number, given: number): Error =>
  new Error(`it has placeholders for ${wanted} values, and params has ${given}`);
