/** What `doctor` says of the server behind a store. */
import type { StoreFinding } from '../../ports/store.ts';
import type { Tables } from './tables.ts';
import type { WakeUps } from './wake-ups.ts';

/** Clocks that differ by more than this are worth a word, in milliseconds. */
const clockMs = 1_000;
/** How long a wake-up of our own is waited for, in milliseconds. */
const wakeMs = 2_000;
/** Fewer dead rows than this in a table are not worth a word. */
const deadRows = 10_000;
/** As many names of roles are shown. */
const namesMax = 12;

/**
 * Examines the server: each finding costs a statement or two, and nothing is changed.
 *
 * @param weakness - what the connection lacks, if it lacks anything
 */
export async function examineServer(
  tables: Tables,
  wakeUps: WakeUps,
  weakness: string | undefined,
): Promise<readonly StoreFinding[]> {
  return [
    ...(weakness === undefined ? [] : [examineConnection(weakness)]),
    await examineClock(tables),
    await examineWakeUps(wakeUps),
    await examineRows(tables),
    ...(await examineDurability(tables)),
    ...(await examineReaders(tables)),
  ];
}

const examineConnection = (weakness: string): StoreFinding => ({
  name: 'connection',
  verdict: 'warning',
  detail: weakness,
  fix: 'leave out sslmode, or name the certificates: sslrootcert=FILE',
});

async function examineClock(tables: Tables): Promise<StoreFinding> {
  const before = Date.now();
  const there = await tables.readTime();
  const after = Date.now();
  const aheadMs = Math.round(there - (before + after) / 2);
  const isFar = Math.abs(aheadMs) > clockMs + (after - before);
  const amount = Math.abs(aheadMs) < 10_000 ? `${Math.abs(aheadMs)} ms` : `${Math.round(Math.abs(aheadMs) / 1000)} s`;
  return {
    name: 'clocks',
    verdict: isFar ? 'warning' : 'ok',
    detail: `the server's clock is ${amount} ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's`,
    ...(isFar && {
      fix: 'set the clocks by one source: due times and leases go by the server, times that are shown by each machine',
    }),
  };
}

async function examineWakeUps(wakeUps: WakeUps): Promise<StoreFinding> {
  if (await wakeUps.hearsWithin(wakeMs))
    return { name: 'wake-ups', verdict: 'ok', detail: 'what one process writes, others hear at once' };
  return {
    name: 'wake-ups',
    verdict: 'warning',
    detail: 'none arrive over this connection: workers find runs, and runs their answers, by polling',
    fix: 'name the server itself, past the pooler: CAIRN_LISTEN_URL=postgres://…',
  };
}

async function examineRows(tables: Tables): Promise<StoreFinding> {
  const rows = await tables.query<{ name: string; dead: number; live: number }>(
    `select relname::text as name, n_dead_tup as dead, n_live_tup as live from pg_stat_user_tables
    where schemaname = $1 order by n_dead_tup desc`,
    [tables.schema],
  );
  const worst = rows.filter(({ dead, live }) => dead > deadRows && dead > live);
  const [first] = worst;
  if (first === undefined) {
    const dead = rows.reduce((sum, row) => sum + row.dead, 0);
    return { name: 'dead rows', verdict: 'ok', detail: `${dead} wait to be vacuumed` };
  }
  return {
    name: 'dead rows',
    verdict: 'warning',
    detail: worst.map(({ name, dead, live }) => `${name} has ${dead} dead rows, and ${live} live ones`).join('; '),
    fix: `vacuum (analyze) ${tables.schema}.${first.name}; if they stay, a transaction is open for long (pg_stat_activity)`,
  };
}

/** What an acknowledged write survives, by the settings of the server and its standbys. */
async function examineDurability(tables: Tables): Promise<readonly StoreFinding[]> {
  const [settings] = await tables.query<{ fsync: string; commit: string; recovers: boolean }>(
    `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
      pg_is_in_recovery() as recovers`,
  );
  const standbys = await tables.query<{ name: string; state: string | null }>(
    `select coalesce(nullif(application_name, ''), host(client_addr), 'a standby') as name, sync_state as state
    from pg_stat_replication where application_name is distinct from 'pg_basebackup'`,
  );
  const findings: StoreFinding[] = [];
  const warn = (name: string, detail: string, fix: string): void =>
    void findings.push({ name, verdict: 'warning', detail, fix });
  if (settings?.recovers === true)
    warn('server', 'it is a standby: nothing can be written', 'name the server that it follows');
  if (settings?.fsync === 'off')
    warn(
      'durability',
      'fsync is off: a power cut may destroy the database',
      "set fsync = on in the server's configuration",
    );
  else if (settings?.commit === 'off')
    warn(
      'durability',
      'synchronous_commit is off: a crash of the server may lose what was acknowledged',
      'alter role … set synchronous_commit = on',
    );
  return [...findings, ...judgeStandbys(standbys, settings?.commit)];
}

/** What a failover to each of the standbys may lose. @param commit - the setting synchronous_commit */
function judgeStandbys(
  standbys: readonly { readonly name: string; readonly state: string | null }[],
  commit: string | undefined,
): readonly StoreFinding[] {
  if (standbys.length === 0) return [];
  const inState = (...states: readonly string[]): string =>
    standbys.flatMap(({ name, state }) => (state !== null && states.includes(state) ? [name] : [])).join(', ');
  const [awaited, behind] = [inState('sync', 'quorum'), inState('async')];
  const warn = (detail: string, fix: string): readonly StoreFinding[] => [
    { name: 'standbys', verdict: 'warning', detail, fix },
  ];
  if (behind !== '')
    return warn(
      `${behind}: asynchronous; if it is promoted, it may lack what was acknowledged`,
      awaited === ''
        ? 'set synchronous_standby_names, and synchronous_commit = on'
        : `name it in synchronous_standby_names too, or promote none but ${awaited}`,
    );
  if (awaited !== '' && (commit === 'off' || commit === 'local'))
    return warn(
      `${awaited}: synchronous, but synchronous_commit is ${commit}, so that no commit waits for one`,
      'alter role … set synchronous_commit = on',
    );
  const detail =
    awaited === ''
      ? `${standbys.length}; whether commits wait for one is for roles in pg_monitor to see`
      : `${awaited}: commits wait for one`;
  return [{ name: 'standbys', verdict: 'ok', detail }];
}

/** Who can read the inputs and results of runs, which are stored in clear. */
async function examineReaders(tables: Tables): Promise<readonly StoreFinding[]> {
  const roles = await tables.query<{ name: string; super: boolean }>(
    `select rolname::text as name, rolsuper as super from pg_roles
    where has_schema_privilege(oid, $1, 'usage') and has_table_privilege(oid, format('%I.checkpoints', $1::text), 'select')
    order by rolsuper, rolname`,
    [tables.schema],
  );
  const [open] = await tables.query<{ all: boolean }>(
    `select has_schema_privilege('public', $1, 'usage') and has_table_privilege('public', format('%I.checkpoints', $1::text), 'select') as all`,
    [tables.schema],
  );
  const names = roles.map(({ name, super: isSuper }) => (isSuper ? `${name} (superuser)` : name));
  const more = names.length > namesMax ? ` and ${names.length - namesMax} more` : '';
  const detail = `roles that can read what runs were given and returned: ${names.slice(0, namesMax).join(', ')}${more}`;
  if (open?.all !== true) return [{ name: 'readers', verdict: 'ok', detail }];
  return [
    {
      name: 'readers',
      verdict: 'warning',
      detail: `everybody who may connect can read what runs were given and returned`,
      fix: `revoke all on schema ${tables.schema} from public`,
    },
  ];
}
