/**
 * The kinds of stores, a row each: by which schemes a URL names them, how they are opened, and how they are copied. Their code is loaded when
 * one is opened; SQLite's is there from the start, since most stores are that.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { CairnError } from '../../errors.ts';
import type { Store } from '../../ports/store.ts';
import type { PostgresRole, PostgresStore } from '../../stores/postgres/index.ts';
import { openSqliteStore } from '../../stores/sqlite/index.ts';
import { makeFolder } from './make-folder.ts';

export interface ServerPlace {
  readonly kind: 'postgres' | 'redis';
  /** May hold a password: not for messages. */
  readonly url: string;
}

export interface FilesPlace {
  readonly kind: 'sqlite' | 'file';
  /** Absolute path of the database, or of the folder. */
  readonly path: string;
  /** Absolute path of the folder of blobs. */
  readonly blobs: string;
  /** Whether it is the working folder's own store. Paths of graphs are then recorded relative to the folder. */
  readonly isDefault?: boolean;
}

export type StorePlace = { readonly kind: 'memory' } | ServerPlace | FilesPlace;

/** A role of the database, and what it may do. */
export interface GrantedRole {
  readonly role: PostgresRole;
  readonly name: string;
}

/** What is there before and after: versions of the layout. */
export interface Migration {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

interface StoreKind<Place> {
  readonly schemes: readonly string[];
  /** As messages write it. Those who keep runs are told of it. */
  readonly form?: string;
  /** Whether it is reached with a URL that may hold a password. */
  readonly isServer?: true;
  /** @param rest - the URL without its scheme. @throws CONFIG_INVALID it is no place for such a store */
  parse(rest: string, cwd: string, url: string): Place;
  /** Opens it, and makes it if it is not there. @throws STORE_*, CONFIG_MISSING_PEER */
  open(place: Place): Promise<Store>;
  /** Opens it for reading; undefined if nothing is there. @throws STORE_*, CONFIG_MISSING_PEER */
  openToRead(place: Place): Promise<Store | undefined>;
  /** How it is copied and brought back, if not by our backups. */
  readonly copies?: { readonly backUp: string; readonly restore: string };
  /**
   * Brings it to the newest layout, and grants a role its rights, where that is not done by opening it.
   * @throws STORE_READ_ONLY this role may not; CONFIG_INVALID there is no role of that name
   */
  migrate?(place: Place, grant: GrantedRole | undefined): Promise<Migration>;
}

/** Folder of the default store, inside the working folder. */
export const defaultFolder = '.cairn';

function refuse(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { path: '--store', reason });
}

/** The path that follows a scheme: `PATH`, or `///absolute/path`. */
const pathIn = (rest: string): string => rest.replace(/^\/\/(?=\/)/, '');

/** @param name - as the caller wrote it. @throws CONFIG_INVALID it is no place for a database */
export function sqlitePlace(path: string, isDefault: boolean, name: string): FilesPlace {
  const found = statSync(path, { throwIfNoEntry: false });
  // A pipe, which an unpacked archive can hold, would wait for a writer.
  if (found?.isFile() === false)
    refuse(found.isDirectory() ? `${name} is a folder; name a file in it` : `${name} is not a file`);
  const isInDefaultFolder = path.endsWith(join(defaultFolder, 'cairn.db'));
  const blobs = isInDefaultFolder ? join(dirname(path), 'blobs') : `${path.replace(/\.(db|sqlite3?)$/, '')}.blobs`;
  return { kind: 'sqlite', path, blobs, isDefault };
}

const sqlite: StoreKind<FilesPlace> = {
  schemes: ['sqlite'],
  form: 'sqlite:PATH',
  parse(rest, cwd) {
    const name = pathIn(rest);
    if (name === '' || name.endsWith('/') || name.includes('\0'))
      refuse('a store needs the path of a database: sqlite:PATH');
    return sqlitePlace(resolve(cwd, name), false, name);
  },
  async open({ path }) {
    makeFolder(dirname(path), `sqlite:${path}`);
    return openSqliteStore({ path });
  },
  async openToRead({ path }) {
    if (!existsSync(path)) return undefined;
    try {
      return openSqliteStore({ path, readOnly: true });
    } catch (error) {
      // Its creation was interrupted: it holds nothing yet.
      if (CairnError.is(error, 'STORE_UNAVAILABLE') && error.data['reason'] === 'it is empty') return undefined;
      throw error;
    }
  },
};

const file: StoreKind<FilesPlace> = {
  schemes: ['file'],
  form: 'file:FOLDER',
  parse(rest, cwd) {
    const name = pathIn(rest);
    if (name === '' || name.includes('\0')) refuse('a store needs the path of a folder: file:FOLDER');
    const path = resolve(cwd, name);
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) refuse(`${name} is a file; name a folder`);
    return { kind: 'file', path, blobs: join(path, 'blobs') };
  },
  async open({ path }) {
    const { openFileStore } = await import('../../stores/file/index.ts');
    return openFileStore({ path });
  },
  async openToRead({ path }) {
    if (!existsSync(join(path, 'store.jsonl'))) return undefined;
    const { openFileStore } = await import('../../stores/file/index.ts');
    return openFileStore({ path, readOnly: true });
  },
  copies: {
    backUp: 'a store in a folder (file:) is copied while no process has it open',
    restore: 'a store in a folder (file:) is restored by copying the folder back',
  },
};

const memory: StoreKind<{ readonly kind: 'memory' }> = {
  schemes: ['memory'],
  parse: () => ({ kind: 'memory' }),
  async open() {
    const { createMemoryStore } = await import('../../stores/memory/index.ts');
    return createMemoryStore();
  },
  openToRead: () => Promise.resolve(undefined),
  copies: {
    backUp: 'a store in memory ends with its process; name a SQLite store',
    restore: 'a backup is restored into a SQLite store',
  },
};

type ReadyStore = Store & { ready(): Promise<void> };

/** A kind on a server: opened when the server has answered. */
function serverKind(
  row: Pick<StoreKind<ServerPlace>, 'schemes' | 'form' | 'copies' | 'migrate'> & {
    readonly kind: ServerPlace['kind'];
    readonly connect: (url: string) => Promise<ReadyStore>;
  },
): StoreKind<ServerPlace> {
  const { kind, connect, ...rest } = row;
  const open = async ({ url }: ServerPlace): Promise<Store> => {
    const store = await connect(url);
    try {
      await store.ready();
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  };
  return { ...rest, isServer: true, parse: (_rest, _cwd, url) => ({ kind, url }), open, openToRead: open };
}

/** Where wake-ups are heard if a pooler stands before the server, as an option of `openPostgresStore`. */
export function listenOption(): { readonly listenUrl?: string } {
  const listenUrl = process.env['CAIRN_LISTEN_URL'];
  return listenUrl === undefined ? {} : { listenUrl };
}

async function connectPostgres(url: string): Promise<PostgresStore> {
  const { openPostgresStore, passwordFrom } = await import('../../stores/postgres/index.ts');
  return openPostgresStore({ url, password: passwordFrom(process.env), ...listenOption() });
}

const postgres = serverKind({
  kind: 'postgres',
  schemes: ['postgres', 'postgresql'],
  form: 'postgres://USER@HOST/DATABASE',
  connect: connectPostgres,
  copies: {
    backUp: 'a Postgres store is backed up with pg_dump',
    restore: 'a Postgres store is restored with pg_restore',
  },
  async migrate({ url }, grant) {
    const store = await connectPostgres(url);
    try {
      const versions = await store.migrate();
      if (grant !== undefined) await store.grant(grant.name, grant.role);
      return { name: store.name, ...versions };
    } finally {
      await store.close();
    }
  },
});

const redis = serverKind({
  kind: 'redis',
  schemes: ['redis', 'rediss'],
  form: 'redis://HOST',
  async connect(url) {
    const { openRedisStore, passwordFrom } = await import('../../stores/redis/index.ts');
    return openRedisStore({ url, password: passwordFrom(process.env) });
  },
  copies: {
    backUp: 'a Redis store is backed up as its server is',
    restore: 'a Redis store is restored from the files of its server',
  },
});

const storeKinds: Readonly<Record<StorePlace['kind'], StoreKind<StorePlace>>> = {
  sqlite,
  file,
  postgres,
  redis,
  memory,
};

const rows: readonly StoreKind<StorePlace>[] = Object.values(storeKinds);

export function kindOf({ kind }: StorePlace): StoreKind<StorePlace> {
  return storeKinds[kind];
}

export function kindNamed(scheme: string | undefined): StoreKind<StorePlace> | undefined {
  return rows.find(({ schemes }) => schemes.includes(scheme ?? ''));
}

/** How stores are named that keep runs, for messages. */
export const storeForms: readonly string[] = rows.flatMap(({ form }) => form ?? []);

/** The schemes of URLs that may hold a password. */
export const serverSchemes: readonly string[] = rows.flatMap(({ isServer, schemes }) => (isServer ? schemes : []));

/** @throws CONFIG_INVALID a store of this kind is copied otherwise */
export function requireBackups(place: StorePlace, how: 'backUp' | 'restore'): FilesPlace {
  const { copies } = kindOf(place);
  if ('path' in place && copies === undefined) return place;
  throw new CairnError('CONFIG_INVALID', { path: 'store', reason: copies?.[how] ?? place.kind });
}
