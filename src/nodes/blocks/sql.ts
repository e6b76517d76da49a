/** The block Sql: runs statements on SQLite or Postgres, in one transaction. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { InputFault, Inputs, NodeType, TypedNodeContext } from '../../graph/contracts/node-type.ts';
import { beforeEffect } from '../draft/before-effect.ts';
import { maskFailure, resolveSecrets } from '../secrets/secret.ts';
import type { TextMask } from '../../state/secrecy/text-mask.ts';
import {
  fieldsOf,
  flagOption,
  literal,
  optionFaults,
  outputField,
  readText,
  refuseInput,
  requireText,
  secondsOption,
} from './block-options.ts';
import { bindParams, readSql, type Engine, rowObjects, type SqlJob, type SqlResult } from './sql/sql-job.ts';
import {
  connectMs,
  engineOf,
  placeFaults,
  placeFields,
  placeNeeds,
  reachDatabase,
  readPostgresPlace,
  readSqlitePlace,
} from './sql/place.ts';
import { modelFields, modelWorkFaults, readModelWork } from './sql/model-work.ts';
import { runOnPostgres } from './sql/postgres-run.ts';
import { isRawRead, rawFaults, rawFields, readRawWork, sqlFaults, type SqlWork } from './sql/raw-work.ts';
import { runOnSqlite } from './sql/sqlite-run.ts';

const timeout = secondsOption('timeout', 'Seconds for locks, and on Postgres for each statement.', {
  default: 30,
  min: 0.01,
  max: 3_600,
});
const readOnly = flagOption(
  'read_only',
  'Whether the database is to refuse changes. Default: whether sql only reads.',
  false,
  { ...literal, default: undefined },
);

/** The `Sql` of docs/spec/blocks.md. */
export const sqlBlock: NodeType = {
  name: 'Sql',
  description: 'Runs SQL on SQLite or Postgres.',
  inputs: {
    ...placeFields,
    ...rawFields,
    ...modelFields,
    init_sql: {
      schema: { type: 'string' },
      description: 'Run first, in the same transaction; its rows are not kept.',
      ...literal,
    },
    ...fieldsOf([timeout, readOnly]),
  },
  outputs: {
    rows: outputField('array', 'An object for each row: those of the last statement that has rows.'),
    columns: outputField('array', 'Their names, in order.'),
    row_count: outputField('integer', 'How many rows there are.'),
    affected_rows: outputField('integer', 'How many rows were inserted, updated or deleted.'),
    last_insert_id: { schema: {}, description: 'The row id of the last insert on SQLite, else null.' },
    success: outputField('boolean', 'True: a failed statement fails the block.'),
    engine: outputField('string', '`sqlite` or `postgresql`.'),
    execution_time_ms: outputField('number', 'Connecting included.'),
  },
  idempotent: ({ op }) => op === 'schema',
  effect: (literals) => (isReadOnly(literals) ? 'read' : 'write'),
  timeoutMs: (literals) =>
    optionFaults([timeout], literals).length > 0 ? undefined : timeout.read(literals) + connectMs(literals) + 5_000,
  needs: placeNeeds,
  check,
  run: runSql,
};

/** Whether the database is to refuse changes. */
export function isReadOnly(inputs: Inputs): boolean {
  if (inputs['read_only'] !== undefined && optionFaults([readOnly], inputs).length === 0) return readOnly.read(inputs);
  const [engine, { sql, op }] = [engineOf(inputs), inputs];
  if (op !== undefined) return op === 'select';
  return engine !== undefined && typeof sql === 'string' && isRawRead(sql, engine);
}

function check(inputs: Inputs): readonly InputFault[] {
  const { sql, init_sql: first } = inputs;
  const engine = engineOf(inputs);
  const faults = [...placeFaults(inputs), ...optionFaults([timeout, readOnly], inputs)];
  if (engine === undefined) return faults;
  const isModel = inputs['model'] !== undefined || inputs['op'] !== undefined;
  if (isModel) faults.push(...modelWorkFaults(inputs));
  if (typeof sql === 'string' && !isModel) faults.push(...rawFaults(sql, inputs, engine));
  if ((typeof sql === 'string') === isModel)
    faults.push({
      input: 'sql',
      message: isModel ? 'sql and model are both given' : 'sql is missing',
      fix: 'give sql, or model and op',
    });
  if (typeof first === 'string') faults.push(...sqlFaults('init_sql', first, engine));
  return faults;
}

/** What the block uses of its context. */
type SqlContext = Pick<TypedNodeContext, 'inputs' | 'secrets' | 'isGranted' | 'idempotencyKey' | 'signal' | 'now'>;

/** Runs the statements. @returns the outputs of the block */
export async function runSql(ctx: SqlContext): Promise<Readonly<Record<string, unknown>>> {
  const startedAt = ctx.now();
  const { engine, place, job, decode, mask } = await beforeEffect(() => prepare(ctx));
  try {
    const result = place.engine === 'sqlite' ? await runOnSqlite(place, job) : await runOnPostgres(place, job);
    return { ...describeResult(result, mask, decode), engine, execution_time_ms: ctx.now() - startedAt };
  } catch (error) {
    throw error instanceof NodeFailure ? maskFailure(error, mask) : error;
  }
}

type Place =
  | ({ readonly engine: 'sqlite' } & ReturnType<typeof readSqlitePlace>)
  | ({ readonly engine: 'postgresql' } & ReturnType<typeof readPostgresPlace>);

interface Prepared {
  readonly engine: Engine;
  readonly place: Place;
  readonly job: SqlJob;
  readonly decode: SqlWork['decode'];
  readonly mask: TextMask;
}

async function prepare(ctx: SqlContext): Promise<Prepared> {
  const { value, mask } = await resolveSecrets(ctx.inputs, ctx.secrets);
  const inputs = value as Inputs;
  const engine = engineOf(inputs);
  if (engine === undefined) throw refuseInput('engine', 'must be sqlite or postgresql');
  const place: Place =
    engine === 'sqlite' ? { engine, ...readSqlitePlace(inputs) } : { engine, ...readPostgresPlace(inputs) };
  requireGrant(ctx, place);
  const reached =
    place.engine === 'sqlite'
      ? { ...place, ...(await reachDatabase(place, isReadOnly(ctx.inputs), ctx.isGranted)) }
      : place;
  const work =
    inputs['op'] === undefined
      ? readRawWork(requireText(inputs, 'sql'), inputs, engine)
      : readModelWork(inputs, engine, { idempotencyKey: ctx.idempotencyKey, now: ctx.now() });
  return { engine, place: reached, job: jobOf(ctx, inputs, engine, work), decode: work.decode, mask };
}

/**
 * Checks permissions again for the database that is really used. A secret may have hidden its host before, and a name may have turned out
 * to be a number.
 */
function requireGrant(ctx: SqlContext, place: Place): void {
  const isHidden = typeof ctx.inputs['connection'] === 'object';
  const exact = place.engine === 'sqlite' ? { engine: place.engine, path: place.path } : { ...place };
  const refused = placeNeeds(exact).find((need) => !(ctx.isGranted?.(need) ?? !isHidden));
  if (refused === undefined) return;
  const what = refused.kind === 'net' ? 'the host of the database' : 'the file of the database';
  throw new NodeFailure(`${what} is not granted`, { code: 'PERMISSION_DENIED', applied: 'no' });
}

function jobOf(ctx: SqlContext, inputs: Inputs, engine: Engine, work: SqlWork): SqlJob {
  const first = readText(inputs, 'init_sql');
  return {
    first:
      first === undefined ? [] : readSql(first, engine).map((statement) => bindParams(statement, undefined, engine)),
    statements: work.statements,
    isReadOnly: isReadOnly(ctx.inputs),
    isAlone: work.isAlone,
    timeoutMs: timeout.read(inputs),
    signal: ctx.signal,
  };
}

function describeResult(
  result: SqlResult,
  mask: TextMask,
  decode: SqlWork['decode'] = (_, value) => value,
): Readonly<Record<string, unknown>> {
  return {
    rows: rowObjects(result, (column, value) => mask.all(decode(column, value))),
    columns: result.columns,
    row_count: result.rows.length,
    affected_rows: result.affected,
    last_insert_id: result.lastInsertId,
    success: true,
  };
}
