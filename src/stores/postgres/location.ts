/**
 * Where the tables are, so that a copy is told from what it was copied of. What the runs did in the original after the copy was made is not in
 * the copy: where the tables are found elsewhere than where they were last used, open runs are held.
 */
import { CairnError } from '../../errors.ts';
import { heldBy, heldMs, warnOfMove } from '../../ports/held-runs.ts';
import { sqlStateOf, type Database, type Query } from './database.ts';
import { inSchema } from './layout.ts';

/**
 * The server's identifier, which a standby shares, of a role that may read it; the database's number; the number of the table, which is
 * another where it was restored into the same database.
 */
const locationText = (system: string): string => `
  select s.location, concat_ws('.', ${system}, (select oid from pg_database where datname = current_database()),
    'S.store'::regclass::oid) as here from S.store s`;
const anySystem = '*';

interface Location {
  /** Null in tables that were last used before this was recorded. */
  readonly location: string | null;
  readonly here: string;
}

async function readLocation(query: Query, schema: string): Promise<Location | undefined> {
  const read = async (system: string): Promise<Location | undefined> =>
    (await query<Location>(inSchema(locationText(system), schema)))[0];
  try {
    return await read('(select system_identifier::text from pg_control_system())');
  } catch (error) {
    // A role may not, or a server that is only like Postgres has no such function.
    if (!CairnError.is(error) || !['42501', '42883'].includes(sqlStateOf(error.cause))) throw error;
    return read(`'${anySystem}'`);
  }
}

/** Whether two locations are one. A server that was not read may be any. */
function isSame(one: string, other: string): boolean {
  const [parts, others] = [one.split('.'), other.split('.')];
  return parts.every((part, i) => part === others[i] || (i === 0 && [part, others[i]].includes(anySystem)));
}

/**
 * Holds all open runs if the tables are elsewhere than before, and notes where they are, in one transaction: of processes that open them at
 * the same time one does so, and the others wait for it. A role that may only read leaves all as it is, and can move no run.
 *
 * @param openStatuses - the numbers of the statuses of runs that are not over
 */
export async function holdIfMoved(database: Database, schema: string, openStatuses: readonly number[]): Promise<void> {
  const found = await readLocation(database.query, schema);
  if (found === undefined || found.location === found.here) return;
  const { location, here } = found;
  const isMoved = location !== null && !isSame(location, here);
  try {
    const held = await database.transaction(async (query) => {
      const noted = await query(
        inSchema(`update S.store set location = $1 where location is not distinct from $2::text returning 1`, schema),
        [here, location],
      );
      if (noted.length === 0 || !isMoved) return [];
      return query(
        inSchema(
          `update S.runs set token = nextval('S.tokens'), owner = $1, lease_until = S.now_ms() + $2::bigint
          where status = any($3::int[]) and owner is distinct from $1 returning 1`,
          schema,
        ),
        [heldBy, heldMs, openStatuses],
      );
    });
    warnOfMove(database.name, held.length);
  } catch (error) {
    if (!CairnError.is(error, 'STORE_READ_ONLY') && !CairnError.is(error, 'STORE_DENIED')) throw error;
  }
}
