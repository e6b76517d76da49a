/** Places for the trials of the crash kit in which the store is opened again by the process after one that was killed. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFileBlobs } from '../../src/blobs/file-blobs.ts';
import { createS3Blobs } from '../../src/blobs/s3-blobs.ts';
import type { Store } from '../../src/ports/store.ts';
import { openFileStore } from '../../src/stores/file/index.ts';
import { openRedisStore } from '../../src/stores/redis/index.ts';
import { libraryText } from '../../src/stores/redis/server.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import type { CrashStorage } from '../../src/testing/crash-kit/process-life.ts';
import { storeMethods } from '../../src/testing/faulty-store.ts';
import { startRedis, type RedisUnderTest } from './redis.ts';
import { startS3, type S3UnderTest } from './s3-server.ts';

/** A place for the trials of a test: each trial finds it empty. */
export interface CrashPlace {
  readonly name: string;
  /** Why it cannot be used here. */
  readonly missing?: string;
  readonly open: (now: () => number) => CrashStorage | Promise<CrashStorage>;
  readonly stop: () => void | Promise<void>;
}

/** Starts servers, and says in one line which cannot be started. */
export async function storagePlaces(): Promise<readonly CrashPlace[]> {
  const [redis, s3] = [await startRedis(), await startS3()];
  const missing = (name: string, reason: string): CrashPlace => {
    console.warn(`Runs over ${name} were not killed: ${reason}`);
    return { name, missing: reason, open: () => Promise.reject(new Error(reason)), stop: () => {} };
  };
  return [
    placeInFolder(),
    typeof redis === 'string' ? missing('Redis', redis) : placeInRedis(redis),
    typeof s3 === 'string' ? missing('SQLite, blobs in S3', s3) : placeInS3(s3),
  ];
}

/** A folder, emptied for each trial. */
export function createTrialFolder(): { readonly empty: () => string; readonly remove: () => void } {
  let folder: string | undefined;
  const remove = (): void => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  return {
    empty: () => {
      remove();
      // In memory where the machine offers it: what is tested here is not the disk.
      folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'cairn-trial-'));
      return folder;
    },
    remove,
  };
}

/** A store in a folder, and blobs beside it. */
export function placeInFolder(): CrashPlace {
  const folder = createTrialFolder();
  return {
    name: 'a folder',
    open: (now) => {
      const path = folder.empty();
      const reopen = (): CrashStorage => ({
        store: openFileStore({ path, now }),
        blobs: createFileBlobs(join(path, 'blobs'), now),
        reopen,
      });
      return reopen();
    },
    stop: folder.remove,
  };
}

/** A store in SQLite, and blobs in S3. */
export function placeInS3(server: S3UnderTest): CrashPlace {
  const folder = createTrialFolder();
  return {
    name: 'SQLite, blobs in S3',
    open: (now) => {
      const path = join(folder.empty(), 'runs.db');
      server.empty();
      const reopen = (): CrashStorage => ({
        store: openSqliteStore({ path, now }),
        blobs: createS3Blobs({ bucket: server.bucket, prefix: 'cairn', client: server.client() }),
        reopen,
      });
      return reopen();
    },
    stop: () => {
      folder.remove();
      return server.stop();
    },
  };
}

/** The store's functions with a clock that is a key, so that leases are measured in the trial's time. */
const functionsWithClock = libraryText.replace(
  /local t = call\('TIME'\)\n.*skewMs\n/u,
  "return tonumber(call('GET', P .. 'clock'))\n",
);

/** A store in Redis with its blobs. All is removed for each trial. */
export function placeInRedis(server: RedisUnderTest, wrap: (store: Store) => Store = (store) => store): CrashPlace {
  const open = async (now: () => number): Promise<CrashStorage> => {
    const store = openRedisStore({ url: server.url });
    await store.ready();
    return { store: wrap(withClock(store, server, now)), blobs: store.blobs, reopen: () => open(now) };
  };
  return {
    name: 'Redis',
    open: async (now) => {
      await server.empty();
      if (!functionsWithClock.includes("P .. 'clock'"))
        throw new Error('the clock of the functions is not where it was');
      await server.run('FUNCTION', 'LOAD', 'REPLACE', functionsWithClock);
      await server.run('SET', 'cairn:clock', String(now()));
      return open(now);
    },
    stop: server.stop,
  };
}

/** Before each call the server's clock is set. */
function withClock(store: Store, server: RedisUnderTest, now: () => number): Store {
  let at = 0;
  const calls = storeMethods.map((method) => [
    method,
    async (...args: never[]) => {
      if (now() > at) {
        at = now();
        await server.run('SET', 'cairn:clock', String(at));
      }
      return (store[method] as (...args: never[]) => Promise<unknown>)(...args);
    },
  ]);
  return { ...store, ...(Object.fromEntries(calls) as Partial<Store>) };
}
