/** Places for the trials of the crash kit in which the store is opened again by the process after one that was killed. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFileBlobs } from '../../src/blobs/file-blobs.ts';
import { createS3Blobs } from '../../src/blobs/s3-blobs.ts';
import { CairnError } from '../../src/errors.ts';
import type { Store } from '../../src/ports/store.ts';
import { openFileStore } from '../../src/stores/file/index.ts';
import { openRedisStore } from '../../src/stores/redis/index.ts';
import { libraryText } from '../../src/stores/redis/server.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import type { CrashKitOptions, CrashStorage } from '../../src/testing/crash-kit/process-life.ts';
import { storeMethods } from '../../src/testing/faulty-store.ts';
import { startRedis, type RedisUnderTest } from './redis.ts';
import { startS3, type S3UnderTest } from './s3-server.ts';

/** A place for the trials of a test: each trial finds it empty. */
export interface CrashPlace {
  readonly name: string;
  /** Why it cannot be used here. */
  readonly missing?: string;
  readonly open: CrashKitOptions['open'];
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
function placeInFolder(): CrashPlace {
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
function placeInS3(server: S3UnderTest): CrashPlace {
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

/** What happens at each call to the server. @param kill - kills the process that calls */
type AroundCall = (call: () => Promise<unknown>, kill: () => void) => Promise<unknown>;

/** A store in Redis with its blobs. All is removed for each trial. */
export function placeInRedis(server: RedisUnderTest, around: AroundCall = (call) => call()): CrashPlace {
  const openOn = async (now: () => number, kill: () => void): Promise<CrashStorage> => {
    const store = openRedisStore({ url: server.url });
    await store.ready();
    let at = 0;
    const watch = <Methods extends object>(methods: Methods, names: readonly string[]): Methods => {
      const calls = names.map((name) => [
        name,
        (...args: readonly unknown[]) =>
          around(async () => {
            // The server's clock is set before each call; by a later one, while the server is down.
            const time = now();
            if (time > at) at = (await server.run('SET', 'cairn:clock', `${time}`).catch(() => undefined)) ? time : at;
            return (methods as Calls)[name]?.(...args);
          }, kill),
      ]);
      return { ...methods, ...(Object.fromEntries(calls) as Partial<Methods>) };
    };
    return {
      store: watch<Store>(store, storeMethods),
      blobs: watch(store.blobs, ['put', 'get', 'has', 'touch']),
      reopen: () => openOn(now, kill),
      isInterruption: (error) => CairnError.is(error, 'STORE_UNAVAILABLE', 'CLAIM_FENCED', 'CLAIM_LOST'),
    };
  };
  return {
    name: 'Redis',
    open: async (now, kill) => {
      await server.empty();
      // What was removed is still in the log, which is read at each start; unless the log is being written anew already.
      await server.run('BGREWRITEAOF').catch(() => undefined);
      if (!functionsWithClock.includes("P .. 'clock'"))
        throw new Error('the clock of the functions is not where it was');
      await server.run('FUNCTION', 'LOAD', 'REPLACE', functionsWithClock);
      await server.run('SET', 'cairn:clock', String(now()));
      return openOn(now, kill);
    },
    stop: server.stop,
  };
}

type Calls = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;
