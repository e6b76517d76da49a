/** The block Sql for graphs in TypeScript: statements with bound parameters on SQLite or Postgres, in one transaction. */
import { CairnError } from '../../errors.ts';
import type { NodeContext, StateView } from '../../graph/contracts/node-contract.ts';
import type { Inputs } from '../../graph/contracts/node-type.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { draftNode, type NodeDraft, type NodeOptions } from '../draft/node-draft.ts';
import { describeConfig, resolveComputed, type Computed } from '../draft/computed.ts';
import { isReadOnly, runSql, sqlBlock } from './sql.ts';

/** Configuration of a {@link sqlNode}. */
export interface SqlNodeConfig<S extends StateView = StateView> {
  /** The file of an SQLite database, or `postgres://…` or a secret that holds such an address. */
  readonly database: string | SecretReference;
  /** One statement, or several without params. It is fixed: values belong into `params`. */
  readonly sql: string;
  /** Values for `?`, `$1` or `%s` in their order, or for `:name` by name. They are always bound, and may be secrets. */
  readonly params?: Computed<readonly unknown[] | Readonly<Record<string, unknown>>, S>;
  /** Whether the database is to refuse changes. Default: whether the statements only read. */
  readonly readOnly?: boolean;
  /** Time for locks, and on Postgres for each statement, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
}

/** Output of a {@link sqlNode}. */
export interface SqlOutput {
  /** An object for each row: those of the last statement that has rows. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly columns: readonly string[];
  /** How many rows were inserted, updated or deleted. */
  readonly affectedRows: number;
  /** The row id of the last insert on SQLite, else null. */
  readonly lastInsertId: unknown;
}

const configKeys = [
  'database',
  'sql',
  'params',
  'readOnly',
  'timeoutMs',
] as const satisfies readonly (keyof SqlNodeConfig)[];

/**
 * Makes a node that runs SQL. Its class is `read` if the statements only read, else `write`; statements that may be repeated say so by
 * `idempotent` in the options. Fails as the block `Sql` does.
 * @throws CONFIG_INVALID
 */
export function sqlNode<S extends StateView = StateView>(
  config: SqlNodeConfig<S>,
  options: NodeOptions = {},
): NodeDraft<S, SqlOutput> {
  refuseUnknownKeys('sqlNode', config, configKeys);
  const { config: own, data, codeText } = describeConfig(config as SqlNodeConfig);
  const { params, ...rest } = own;
  const fixed = inputsOf(rest);
  checkInputs(typeof params === 'function' || params === undefined ? fixed : { ...fixed, params });
  const run = async (ctx: NodeContext): Promise<SqlOutput> => {
    const resolved = params === undefined ? {} : { params: resolveComputed(params, ctx.state) };
    const inputs = { ...fixed, ...resolved } as Inputs;
    const { secrets, idempotencyKey, signal } = ctx;
    // A graph in code may reach what its code may: there are no grants for it.
    const own = { inputs, secrets, idempotencyKey, signal, now: () => ctx.now(), isGranted: () => true };
    const output = await runSql(own);
    const { rows, columns, affected_rows: affectedRows, last_insert_id: lastInsertId } = output;
    return { rows, columns, affectedRows, lastInsertId } as SqlOutput;
  };
  return draftNode(
    {
      type: 'sql',
      effect: isReadOnly(fixed) ? 'read' : 'write',
      config: data,
      timeoutMs: sqlBlock.timeoutMs?.(fixed),
      implementation: { run, codeText },
    },
    options,
  );
}

function inputsOf({ database, sql, readOnly, timeoutMs }: Omit<SqlNodeConfig, 'params'>): Inputs {
  const isServer = database instanceof SecretReference || /^postgres(?:ql)?:/u.test(database);
  return {
    ...(isServer ? { engine: 'postgresql', connection: database } : { engine: 'sqlite', path: database }),
    sql,
    ...(readOnly !== undefined && { read_only: readOnly }),
    ...(timeoutMs !== undefined && { timeout: timeoutMs / 1_000 }),
  };
}

function checkInputs(inputs: Inputs): void {
  const faults = sqlBlock.check?.(inputs) ?? [];
  if (faults.length === 0) return;
  const reason = faults.map(({ input, message, fix }) => `${input}: ${message}: ${fix}`).join('; ');
  throw new CairnError('CONFIG_INVALID', { reason: `sqlNode: ${reason}` });
}
