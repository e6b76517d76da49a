/** Where a Redis store is and how it is reached: its URL, password and TLS, the driver, and the functions that run on the server. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CairnError, isStoreAway, maybeWritten, type ErrorCode, type ErrorData } from '../../errors.ts';
import { importPeer } from '../../optional-peers.ts';
import type { Durability, StoreFinding } from '../../ports/store.ts';
import { invalidStore, isLoopback, readServerUrl } from '../server-url.ts';
import { historyFunctions } from './history-functions.ts';
import { limitFunctions } from './limit-functions.ts';
import { referenceFunctions } from './reference-functions.ts';
import { runFunctions } from './run-functions.ts';

const parameters = ['prefix', 'ca', 'cleartext', 'connect_timeout'];

/** A server, read from a URL. */
export interface RedisPlace {
  /** URL without user, password and parameters, for messages. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly database: number;
  /** What all keys of the store begin with. */
  readonly prefix: string;
  readonly user?: string;
  /** The password in the URL. */
  readonly password?: string;
  readonly isTls: boolean;
  /** Path of the certificates that are trusted. Default: those of Node. */
  readonly certificates?: string;
  readonly connectTimeoutMs: number;
}

/**
 * Reads a URL: `redis://USER@HOST:PORT/DATABASE?prefix=…`, or `rediss://` for TLS, whose certificate is always checked. Beyond this machine
 * plain connections are refused unless the URL says `cleartext=allow`.
 * @throws CONFIG_INVALID; it never repeats the URL, which may hold a password
 */
export function readRedisUrl(text: string): RedisPlace {
  const form = 'a Redis store has a URL: redis://USER@HOST:PORT/DATABASE';
  const { url, ...common } = readServerUrl(text, /^rediss?:\/\//i, form, parameters);
  const { host } = common;
  const query = url.searchParams;
  const isTls = url.protocol === 'rediss:';
  const cleartext = query.get('cleartext');
  if (cleartext !== null && cleartext !== 'allow') throw invalidStore('cleartext=allow is all that cleartext can be');
  if (!isTls && !isLoopback(host) && cleartext === null)
    throw invalidStore(
      `redis:// to ${host} would send all in clear; use rediss://, or ?cleartext=allow on a network of your own`,
    );
  const database = url.pathname.slice(1) || '0';
  if (!/^\d{1,4}$/.test(database)) throw invalidStore('the database of a Redis store is a number: redis://HOST/0');
  const prefix = query.get('prefix') ?? 'cairn';
  if (!/^[\w.-]{1,50}$/.test(prefix)) throw invalidStore('a prefix has letters, digits and _ . -, at most 50');
  const certificates = query.get('ca');
  const port = Number(url.port || 6379);
  return {
    ...common,
    name: `${url.protocol}//${url.host || host}/${database}${prefix === 'cairn' ? '' : `?prefix=${prefix}`}`,
    port,
    database: Number(database),
    prefix: `${prefix}:`,
    isTls,
    ...(certificates === null ? {} : { certificates }),
  };
}

/** The newest layout of the keys that this version knows. */
const layoutVersion = 1;

/** The functions of the store as a library of the server: each call reads, checks and writes as one atomic act. */
const source = `${runFunctions}${historyFunctions}${limitFunctions}${referenceFunctions}
local function run(ops, args, isWriting)
  P = args[2]
  if isWriting then
    local policy = evicts()
    if policy then return { 'EVICTS', policy } end
    begin()
  end
  local bytes = {}
  for i = 4, #args do bytes[i - 3] = args[i] end
  return ops[args[1]](cjson.decode(args[3]), bytes)
end

redis.register_function({ function_name = 'NAME_r', flags = { 'no-writes' }, callback = function(_, args) return run(reads, args, false) end })
redis.register_function({ function_name = 'NAME_w', callback = function(_, args) return run(writes, args, true) end })
redis.register_function({ function_name = 'NAME_f', flags = { 'allow-oom' }, callback = function(_, args) return run(frees, args, true) end })
`;

/** Name of the library and beginning of its functions' names. It has a hash of the text, so that versions stand side by side on a server. */
const libraryName = `cairn_${createHash('sha256').update(source).digest('hex').slice(0, 12)}`;

export const libraryText: string = `#!lua name=${libraryName}\n${source.replaceAll('NAME', libraryName)}`;

/** Operations that only read, and those that free memory, which a full server permits; all others write. */
const readNames = /^function reads\.(\w+)/gm;
const freeNames = /^function frees\.(\w+)/gm;
const namesIn = (pattern: RegExp): ReadonlySet<string> =>
  new Set([...source.matchAll(pattern)].map(([, name]) => name ?? ''));
const [reading, freeing] = [namesIn(readNames), namesIn(freeNames)];

/** The server's function for an operation. */
export const functionOf = (operation: string): string =>
  `${libraryName}_${reading.has(operation) ? 'r' : freeing.has(operation) ? 'f' : 'w'}`;

/** How a server is connected to, as plain data, without the password. */
export function connectionOptions({ host, port, database, user, ...place }: RedisPlace): object {
  const { isTls, certificates, connectTimeoutMs } = place;
  const tls = isTls ? { tls: true, rejectUnauthorized: true } : {};
  const ca = certificates === undefined ? {} : { ca: readFileSync(certificates, 'utf8') };
  return {
    socket: { host, port, connectTimeout: connectTimeoutMs, reconnectStrategy: false, keepAlive: true, ...tls, ...ca },
    database,
    ...(user !== undefined && { username: user }),
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
  };
}

/** What is used of a client of the package `redis`. */
interface RedisClient {
  connect(): Promise<unknown>;
  sendCommand(args: readonly (string | Buffer)[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  ref(): void;
  unref(): void;
  close(): Promise<unknown>;
  destroy(): void;
}

interface RedisDriver {
  createClient(options: object): RedisClient;
  readonly ErrorReply: new (...args: never[]) => Error;
}

/** A reply of the server: texts are bytes, `false` and absent values are null. */
export type Reply = Buffer | number | null | readonly Reply[];

export const textOf = (reply: Reply | undefined): string => (reply as Buffer | null | undefined)?.toString() ?? '';
export const listOf = (reply: Reply | undefined): readonly Reply[] => (reply ?? []) as readonly Reply[];
/** Infinity is no number in JSON. */
export const bounded = (value: number): number =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Math.trunc(value)));

/** Between tries to connect, in milliseconds. */
const firstDelayMs = 50;
const delayMaxMs = 1_000;

/** What the server promises, for `doctor` and for those who begin effects. */
export interface ServerPromise {
  readonly durability: Durability;
  /** Why it is not `power`, and what to do. */
  readonly limit?: { readonly reason: string; readonly fix: string };
}

const codes: readonly (readonly [prefix: RegExp, code: ErrorCode])[] = [
  [/^OOM/, 'STORE_FULL'],
  [/^READONLY/, 'STORE_READ_ONLY'],
  [/^NOPERM/, 'STORE_DENIED'],
  [/^(LOADING|BUSY|TRYAGAIN)/, 'STORE_BUSY'],
  [/^WRONGTYPE/, 'STORE_CORRUPT'],
];

/** One Redis server, over one connection, which is made when it is needed and again after it was lost. */
export class RedisServer {
  readonly name: string;
  readonly prefix: string;
  readonly #place: RedisPlace;
  readonly #password: () => string | undefined;
  #driver: RedisDriver | undefined;
  #client: Promise<RedisClient> | undefined;
  #hasConnected = false;
  #isClosed = false;
  #underWay = 0;
  #hasWarned = false;
  #promise: ServerPromise = { durability: 'process' };

  constructor(place: RedisPlace, password: () => string | undefined) {
    this.#place = place;
    this.#password = password;
    this.name = place.name;
    this.prefix = place.prefix;
  }

  /** What the server promised when it was last connected to; before that the least. */
  get promise(): ServerPromise {
    return this.#promise;
  }

  /** What `doctor` says of the server. */
  async examine(): Promise<readonly StoreFinding[]> {
    await this.ready();
    const { limit } = this.#promise;
    const log: StoreFinding =
      limit === undefined
        ? { name: 'durability', verdict: 'ok', detail: 'appendfsync always' }
        : { name: 'durability', verdict: 'warning', detail: limit.reason, fix: limit.fix };
    const { isTls, host } = this.#place;
    if (isTls || isLoopback(host)) return [log];
    const fix = 'name it as rediss://, if others use that network';
    return [{ name: 'connection', verdict: 'warning', detail: 'everything is sent in clear', fix }, log];
  }

  /** Warns once where the beginning of an effect may be lost. */
  warnOfLimit(): void {
    const { limit } = this.#promise;
    if (limit === undefined || this.#hasWarned) return;
    this.#hasWarned = true;
    process.emitWarning(
      `${this.name}: ${limit.reason}. A write or external node may then begin again without a trace of its first attempt; ${limit.fix}.`,
      { code: 'CAIRN_LESS_DURABLE' },
    );
  }

  /**
   * Runs a function of the library. Calls of one turn go out together, and the server takes them in order.
   * @returns the reply after its first word, if that is `ok`; else `refuse` throws what the word means
   * @throws the errors of the store port
   */
  async call(
    operation: string,
    query: object,
    bytes: readonly Buffer[] = [],
    refuse?: (word: string, details: readonly Reply[]) => CairnError,
  ): Promise<readonly Reply[]> {
    const client = await this.#connected();
    this.#underWay += 1;
    client.ref();
    try {
      const reply = await this.#invoke(client, operation, query, bytes);
      const [word, ...details] = reply as readonly Reply[];
      const name = String(word);
      if (name === 'ok') return details;
      if (name === 'EVICTS') throw this.#refuseEviction(textOf(details[0]));
      throw refuse?.(name, details) ?? new CairnError('STORE_UNAVAILABLE', { store: this.name, reason: name });
    } catch (error) {
      throw this.#toStoreError(error);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) client.unref();
    }
  }

  async #invoke(client: RedisClient, operation: string, query: object, bytes: readonly Buffer[]): Promise<unknown> {
    const command = ['FCALL', functionOf(operation), '0', operation, this.prefix, toJson(query), ...bytes];
    try {
      return await client.sendCommand(command);
    } catch (error) {
      if (!/Function not found/.test((error as Error).message)) throw error;
      await client.sendCommand(['FUNCTION', 'LOAD', libraryText]).catch((thrown: unknown) => {
        // Another process was quicker.
        if (!/already exists/.test((thrown as Error).message)) throw thrown;
      });
      return client.sendCommand(command);
    }
  }

  /** Connects if there is no connection. @throws CONFIG_INVALID, CONFIG_MISSING_PEER, STORE_* */
  async ready(): Promise<void> {
    await this.#connected();
  }

  #connected(): Promise<RedisClient> {
    if (this.#isClosed) return Promise.reject(new CairnError('STORE_CLOSED', { store: this.name }));
    if (this.#client === undefined) {
      const client: Promise<RedisClient> = this.#connect(() => this.#forget(client));
      this.#client = client;
      client.catch(() => this.#forget(client));
    }
    return this.#client;
  }

  #forget(client: Promise<RedisClient>): void {
    if (this.#client === client) this.#client = undefined;
  }

  /** Where none was there yet, the server is waited for: it may just be starting. */
  async #connect(onLost: () => void): Promise<RedisClient> {
    const deadline = performance.now() + this.#place.connectTimeoutMs;
    for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 2, delayMaxMs)) {
      try {
        let isReady = false;
        const client = await this.open(() => {
          if (isReady) onLost();
        });
        try {
          await this.#check(client);
        } catch (error) {
          client.destroy();
          throw error;
        }
        isReady = true;
        this.#hasConnected = true;
        return client;
      } catch (error) {
        const thrown = this.#toStoreError(error, { written: 'no' });
        const isRefusal = this.#driver !== undefined && error instanceof this.#driver.ErrorReply;
        const isOver = this.#hasConnected || performance.now() + delayMs >= deadline || this.#isClosed;
        if (!isStoreAway(thrown) || (isRefusal && CairnError.is(thrown, 'STORE_UNAVAILABLE')) || isOver) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, delayMs));
      }
    }
  }

  /** A connection of the caller's own, which is not made again when it is lost. */
  async open(onLost: () => void): Promise<RedisClient> {
    this.#driver ??= await importPeer<RedisDriver>('redis');
    const secret = this.#place.password ?? this.#password();
    const client = this.#driver.createClient({
      ...connectionOptions(this.#place),
      ...(secret !== undefined && secret !== '' && { password: secret }),
      // Texts as bytes: type 36 is a bulk string.
      commandOptions: { typeMapping: { 36: Buffer } },
    });
    // An error that nobody hears would end the process.
    client.on('error', () => onLost());
    client.on('end', () => onLost());
    await client.connect();
    client.unref();
    return client;
  }

  /** Refuses servers on which what was acknowledged may vanish, by name. */
  async #check(client: RedisClient): Promise<void> {
    client.ref();
    const info = readInfo(String(await client.sendCommand(['INFO'])));
    const refuse = (reason: string): CairnError => invalidStore(`${this.name}: ${reason}`);
    if (Number.parseInt(info.get('redis_version') ?? '0', 10) < 7)
      throw refuse(`it is Redis ${info.get('redis_version')}; Redis 7 or Valkey is needed`);
    if (info.get('cluster_enabled') === '1') throw refuse('it is a Cluster; a store is on one primary');
    if (info.get('role') !== 'master')
      throw new CairnError('STORE_READ_ONLY', { store: this.name, reason: 'it is a replica; name the primary' });
    const policy = info.get('maxmemory_policy') ?? 'noeviction';
    if (policy !== 'noeviction') throw refuse(evictionOf(policy));
    const settings = await client.sendCommand(['CONFIG', 'GET', 'appendfsync']).catch(() => []);
    this.#promise = promiseOf(info, String((settings as readonly Reply[])[1] ?? ''));
    const opening = { layout: String(layoutVersion), identity: crypto.randomUUID() };
    const [, layout] = (await this.#invoke(client, 'open', opening, [])) as readonly Reply[];
    if (Number(layout) > layoutVersion)
      throw new CairnError('STORE_VERSION_UNKNOWN', { store: this.name, version: layout, supported: layoutVersion });
    client.unref();
  }

  /** A policy that was set later: until it is set back nothing is written, and nothing was. */
  #refuseEviction(policy: string): CairnError {
    const hint = 'Nothing was written. Set it back, and runs go on: CONFIG SET maxmemory-policy noeviction';
    return new CairnError('STORE_UNAVAILABLE', { store: this.name, reason: evictionOf(policy), hint, written: 'no' });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Waits for the calls under way.
    await (await this.#client?.catch(() => undefined))?.close().catch(() => undefined);
  }

  #toStoreError(error: unknown, written: ErrorData = maybeWritten): unknown {
    if (CairnError.is(error)) return error;
    if (!(error instanceof Error) || error instanceof TypeError || error instanceof RangeError) return error;
    const reason = (error.message || ((error as { code?: string }).code ?? error.name)).replace(
      /rediss?:\/\/\S+/gi,
      'redis://…',
    );
    const isReply = this.#driver !== undefined && error instanceof this.#driver.ErrorReply;
    const code = isReply ? codes.find(([prefix]) => prefix.test(reason))?.[1] : undefined;
    const data = { store: this.name, reason, ...(isReply ? {} : written) };
    return new CairnError(code ?? 'STORE_UNAVAILABLE', data, { cause: error });
  }
}

const evictionOf = (policy: string): string =>
  `it evicts keys (maxmemory-policy ${policy}), so it would lose runs; set it to noeviction`;

const readInfo = (text: string): ReadonlyMap<string, string> =>
  new Map(text.split('\r\n').flatMap((line) => (line.includes(':') ? [splitOnce(line)] : [])));

const splitOnce = (line: string): [string, string] => {
  const at = line.indexOf(':');
  return [line.slice(0, at), line.slice(at + 1)];
};

/** What survives follows how the server writes its log, and whether another server may take its place. */
function promiseOf(info: ReadonlyMap<string, string>, appendfsync: string): ServerPromise {
  const less = (reason: string, fix: string): ServerPromise => ({ durability: 'process', limit: { reason, fix } });
  const fix = 'set appendonly yes and appendfsync always';
  if (info.get('aof_enabled') !== '1')
    return less('appendonly no: a server that ends loses what was committed since its last snapshot', fix);
  if (appendfsync === '')
    return less('appendfsync cannot be read: a power cut may lose the last commits', 'permit CONFIG GET');
  if (appendfsync !== 'always') return less(`appendfsync ${appendfsync}: a power cut loses the last commits`, fix);
  if (Number(info.get('connected_slaves')) > 0)
    return less('it has replicas: one that takes its place may lack the last commits', 'use a store without failover');
  return { durability: 'power' };
}

/** JSON that the server reads: it refuses halves of surrogate pairs, which stand for no letter. */
function toJson(query: object): string {
  const text = JSON.stringify(query);
  if (!text.includes('\\ud')) return text;
  return JSON.stringify(query, (_, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value));
}
