/** Opens the store of a URL, or of a pool of connections, for programs. */
import { dirname } from 'node:path';
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Memories } from '../../ports/memories.ts';
import type { Store } from '../../ports/store.ts';
import { createMemoryMemories, createMemoryStore } from '../../stores/memory/index.ts';
import { openFileMemories, openFileStore } from '../../stores/file/index.ts';
import { openPostgresStore, passwordFrom, type PostgresPool } from '../../stores/postgres/index.ts';
import { openRedisStore } from '../../stores/redis/index.ts';
import { openSqliteMemories, openSqliteStore } from '../../stores/sqlite/index.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { blobsAt, blobsOf, openBlobs, type BlobsSetting } from './open-blobs.ts';
import { makeFolder } from './make-folder.ts';
import { listenOption, type StorePlace } from './store-kinds.ts';
import { parseStoreUrl } from './store-url.ts';

/** A store with the stores beside it. `close` closes all three. */
export interface OpenedStore extends Store {
  readonly blobs: BlobStore;
  readonly memories: Memories;
}

/** Options for opening a store. */
export interface OpenStoreOptions {
  /**
   * Where large values are: a blob store, or the URL of one. `s3://BUCKET/PREFIX` is a bucket ({@link createS3Blobs}), with `?region=` and
   * `?endpoint=`; `file:FOLDER` a folder. Default: with the store.
   */
  readonly blobs?: BlobsSetting;
}

/**
 * Opens the store of a URL: `sqlite:PATH`, `file:FOLDER`, `postgres://USER@HOST:PORT/DATABASE`, `redis://HOST:PORT`, or
 * `memory:`. In place of a URL it takes a pool of the package `pg`, which stays yours: closing the store does not end it.
 *
 * A file is made if there is none. A server is connected to by the first call; its password comes from the URL, CAIRN_STORE_PASSWORD or the
 * file that CAIRN_STORE_PASSWORD_FILE names.
 *
 * @throws CONFIG_INVALID the URL or an option is not understood; STORE_* the file cannot be opened. Methods throw as the port says.
 */
export function openStore(place: string | PostgresPool, options: OpenStoreOptions = {}): OpenedStore {
  refuseUnknownKeys('openStore', options, ['blobs'] satisfies (keyof OpenStoreOptions)[]);
  const blobs = openBlobs(options.blobs);
  const store = typeof place === 'string' ? openUrl(parseStoreUrl(place, process.cwd())) : openPool(place);
  return blobs === undefined ? store : Object.assign(store, { blobs: blobsOf(store, blobs) });
}

function openPool(pool: PostgresPool): OpenedStore {
  if (typeof (pool as Partial<PostgresPool> | undefined)?.connect === 'function')
    return openPostgresStore({ pool, ...listenOption() });
  const reason = 'it takes the URL of a store, or a pool of the package pg';
  throw new CairnError('CONFIG_INVALID', { path: 'openStore', reason });
}

/** The same kinds as in store-kinds.ts, with the code of all of them: a program waits for none to be loaded. */
const openers: {
  readonly [Kind in StorePlace['kind']]: (place: StorePlace & { readonly kind: Kind }) => OpenedStore;
} = {
  sqlite(place) {
    const { path } = place;
    const blobs = blobsAt(place);
    makeFolder(dirname(path), `sqlite:${path}`);
    const store = openSqliteStore({ path });
    return { ...store, blobs, ...lateMemories(store, place.blobs.replace(/blobs$/, 'memories.db')) };
  },
  file(place) {
    const { path } = place;
    const blobs = blobsAt(place);
    const store = openFileStore({ path });
    const memories = openFileMemories(path);
    const close = async (): Promise<void> => void (await Promise.all([store.close(), memories.close()]));
    return { ...store, blobs, memories, close };
  },
  postgres: ({ url }) => openPostgresStore({ url, password: passwordFrom(process.env), ...listenOption() }),
  redis: ({ url }) => openRedisStore({ url, password: passwordFrom(process.env) }),
  memory() {
    const store = createMemoryStore();
    return Object.assign(store, { blobs: blobsOf(store), memories: createMemoryMemories() });
  },
};

function openUrl(place: StorePlace): OpenedStore {
  const open = openers[place.kind] as (place: StorePlace) => OpenedStore;
  return open(place);
}

/** Memories in a file beside a store. It is made when somebody first reads or writes one. */
function lateMemories(store: Store, path: string): Pick<OpenedStore, 'memories' | 'close'> {
  let opened: Memories | undefined;
  let isClosed = false;
  const open = (): Memories => {
    if (isClosed) throw new CairnError('STORE_CLOSED', { store: store.name });
    return (opened ??= openSqliteMemories({ path }));
  };
  const close = async (): Promise<void> => {
    if (!isClosed) await opened?.close();
    isClosed = true;
  };
  const memories: Memories = {
    read: async (...query) => open().read(...query),
    write: async (...entries) => open().write(...entries),
    forget: async (owner) => open().forget(owner),
    close,
  };
  return { memories, close: async () => void (await Promise.all([store.close(), close()])) };
}
