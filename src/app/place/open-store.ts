/** Opens the store of a URL, or of a pool of connections, for programs. */
import { dirname } from 'node:path';
import { createFileBlobs } from '../../blobs/file-blobs.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Memories } from '../../ports/memories.ts';
import type { Store } from '../../ports/store.ts';
import { createMemoryMemories, createMemoryStore } from '../../stores/memory/index.ts';
import { openFileMemories, openFileStore } from '../../stores/file/index.ts';
import { openPostgresStore, passwordFrom, type PostgresPool } from '../../stores/postgres/index.ts';
import { openRedisStore } from '../../stores/redis/index.ts';
import { openSqliteMemories, openSqliteStore } from '../../stores/sqlite/index.ts';
import { listenOption } from './open-server.ts';
import { makeFolder, parseStoreUrl, type StorePlace } from './store-url.ts';

/** A store with the stores beside it. `close` closes all three. */
export interface OpenedStore extends Store {
  readonly blobs: BlobStore;
  readonly memories: Memories;
}

/**
 * Opens the store of a URL: `sqlite:PATH`, `file:FOLDER`, `postgres://USER@HOST:PORT/DATABASE`, `redis://HOST:PORT`, or
 * `memory:`. In place of a URL it takes a pool of the package `pg`, which stays yours: closing the store does not end it.
 *
 * A file is made if there is none. A server is connected to by the first call; its password comes from the URL, CAIRN_STORE_PASSWORD or the
 * file that CAIRN_STORE_PASSWORD_FILE names.
 *
 * @throws CONFIG_INVALID the URL is not understood; STORE_* the file cannot be opened. Methods throw as the port says.
 */
export function openStore(place: string | PostgresPool): OpenedStore {
  if (typeof place === 'string') return openUrl(parseStoreUrl(place, process.cwd()));
  if (typeof (place as Partial<PostgresPool> | undefined)?.connect === 'function')
    return openPostgresStore({ pool: place, ...listenOption() });
  const reason = 'it takes the URL of a store, or a pool of the package pg';
  throw new CairnError('CONFIG_INVALID', { path: 'openStore', reason });
}

function openUrl(place: StorePlace): OpenedStore {
  if ('url' in place) {
    const server = { url: place.url, password: passwordFrom(process.env) };
    return place.kind === 'redis' ? openRedisStore(server) : openPostgresStore({ ...server, ...listenOption() });
  }
  if (place.kind === 'memory')
    return Object.assign(createMemoryStore(), { blobs: createMemoryBlobs(), memories: createMemoryMemories() });
  const { path, blobs } = place;
  if (place.kind === 'file') {
    const store = openFileStore({ path });
    const memories = openFileMemories(path);
    const close = async (): Promise<void> => void (await Promise.all([store.close(), memories.close()]));
    return { ...store, blobs: createFileBlobs(blobs), memories, close };
  }
  makeFolder(dirname(path), `sqlite:${path}`);
  const store = openSqliteStore({ path });
  return { ...store, blobs: createFileBlobs(blobs), ...lateMemories(store, blobs.replace(/blobs$/, 'memories.db')) };
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
