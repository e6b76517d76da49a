/** A real Redis server for tests, on a free port of this machine, and stores on it. */
import type { ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { libraryText } from '../../src/stores/redis/server.ts';
import { openRedisStore, type RedisStore } from '../../src/stores/redis/index.ts';
import { endProcess, findFreePort, startProcess } from './server-process.ts';

export interface RedisUnderTest {
  /** URL of the server. */
  readonly url: string;
  readonly port: number;
  /** Sends a command. */
  readonly run: (...command: readonly string[]) => Promise<unknown>;
  /** Removes all keys, and sets the store's clock right. */
  readonly empty: () => Promise<void>;
  /** Advances the store's clock by this many milliseconds. */
  readonly advance: (byMs: number) => Promise<void>;
  /** Ends the server with SIGKILL, and starts it again. */
  readonly crash: () => Promise<void>;
  /** Copies the server's files aside. */
  readonly save: () => void;
  /** Ends the server with SIGKILL, and starts it from the files that were copied aside. */
  readonly goBack: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

interface TestClient {
  connect(): Promise<unknown>;
  sendCommand(command: readonly string[]): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
  destroy(): void;
}

/** Starts a server with further settings. @returns why there is none here, if it cannot be started */
export async function startRedis(...settings: readonly string[]): Promise<RedisUnderTest | string> {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'cairn-redis-'));
  const [data, aside] = [join(folder, 'data'), join(folder, 'aside')];
  const port = await findFreePort();
  let server: ChildProcess;
  const connection = new TestConnection(port, settings.includes('--requirepass') ? settings : []);
  const begin = async (): Promise<void> => {
    server = await start(folder, data, port, settings);
  };
  const end = async (): Promise<void> => {
    await connection.end();
    await endProcess(server, 'SIGKILL');
  };
  try {
    await begin();
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    return `no redis-server here: ${(error as Error).message}`;
  }
  const run = (...command: readonly string[]): Promise<unknown> => connection.run(command);
  let skewMs = 0;
  const setClock = async (ms: number): Promise<void> => {
    skewMs = ms;
    await run('FUNCTION', 'LOAD', 'REPLACE', libraryText.replace('local skewMs = 0', `local skewMs = ${ms}`));
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    run,
    advance: (byMs) => setClock(skewMs + byMs),
    empty: async () => {
      await run('FLUSHALL');
      if (skewMs !== 0) await setClock(0);
    },
    crash: async () => {
      await end();
      await begin();
    },
    save: () => {
      rmSync(aside, { recursive: true, force: true });
      cpSync(data, aside, { recursive: true });
    },
    goBack: async () => {
      await end();
      rmSync(data, { recursive: true, force: true });
      cpSync(aside, data, { recursive: true });
      await begin();
    },
    stop: async () => {
      await end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The connection of a test, made again after it was lost. */
class TestConnection {
  readonly #port: number;
  readonly #password: string | undefined;
  #client: Promise<TestClient> | undefined;

  constructor(port: number, settings: readonly string[]) {
    this.#port = port;
    this.#password = settings[settings.indexOf('--requirepass') + 1];
  }

  async run(command: readonly string[]): Promise<unknown> {
    this.#client ??= this.#connect();
    const client = this.#client;
    try {
      return await (await client).sendCommand(command);
    } catch (error) {
      // A reply leaves the connection as it is.
      if (!/^[A-Z]+ /.test((error as Error).message) && this.#client === client) this.#client = undefined;
      throw error;
    }
  }

  async end(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    (await client?.catch(() => undefined))?.destroy();
  }

  async #connect(): Promise<TestClient> {
    const packageName = 'redis';
    const { createClient } = (await import(packageName)) as { createClient: (options: object) => TestClient };
    const client = createClient({
      socket: { host: '127.0.0.1', port: this.#port, reconnectStrategy: false },
      ...(this.#password !== undefined && { password: this.#password }),
    });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }
}

async function start(folder: string, data: string, port: number, settings: readonly string[]): Promise<ChildProcess> {
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const flags = ['--port', String(port), '--bind', '127.0.0.1', '--dir', data, '--save', '', '--appendonly', 'yes'];
  const all = [...flags, '--appendfsync', 'always', ...settings];
  return startProcess('redis-server', all, /Ready to accept connections/, { cwd: folder });
}

/** A store of its own on the server. */
export const openOn = (server: RedisUnderTest): RedisStore => openRedisStore({ url: server.url });
