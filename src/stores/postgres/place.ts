/** Where a Postgres store is and how it is reached: its URL, its password, TLS, and the driver. */
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { PeerCertificate } from 'node:tls';
import { importPeer } from '../../optional-peers.ts';
import { decodePart, invalidStore, isLoopback, readServerUrl } from '../server-url.ts';
import type { PostgresPool } from './database.ts';

/** At most this many connections a process, of which one listens. */
const connectionsMax = 8;

const parameters = ['schema', 'sslmode', 'sslrootcert', 'pgbouncer', 'application_name', 'connect_timeout'];
const tlsModes = ['disable', 'require', 'verify-full'] as const;

/** A database, read from a URL. */
export interface PostgresPlace {
  /** URL without user, password and parameters, for messages. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** The password in the URL. */
  readonly password?: string;
  readonly schema: string;
  readonly tls: (typeof tlsModes)[number];
  /** Path of the certificates that are trusted. Default: those of Node. */
  readonly certificates?: string;
  /** Whether the URL says that a pooler in transaction mode stands before the server. */
  readonly isPooled: boolean;
  readonly applicationName: string;
  readonly connectTimeoutMs: number;
}

/** Validates the name of a schema. It is written into statements. @throws CONFIG_INVALID */
export function checkSchema(schema: string): string {
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema))
    throw invalidStore(`a schema has lower-case letters, digits and _, at most 51: not ${JSON.stringify(schema)}`);
  return schema;
}

/**
 * Reads a URL: `postgres://USER@HOST:PORT/DATABASE?schema=…&sslmode=…`. @throws CONFIG_INVALID; it never repeats the URL, which may hold a
 * password
 */
export function readPostgresUrl(text: string): PostgresPlace {
  const form = 'a Postgres store has a URL: postgres://USER@HOST:PORT/DATABASE';
  const { url, ...common } = readServerUrl(text, /^postgres(?:ql)?:\/\//i, form, parameters);
  const { host, user = userInfo().username } = common;
  const query = url.searchParams;
  const database = decodePart(url.pathname.slice(1)) || user;
  const schema = checkSchema(query.get('schema') ?? 'cairn');
  const tls = query.get('sslmode') ?? (isLoopback(host) ? 'disable' : 'verify-full');
  if (!isTlsMode(tls)) throw invalidStore(`sslmode is one of ${tlsModes.join(', ')}`);
  const port = Number(url.port || 5432);
  const certificates = query.get('sslrootcert');
  return {
    ...common,
    name: `postgres://${url.host || host}/${encodeURIComponent(database)}${schema === 'cairn' ? '' : `?schema=${schema}`}`,
    port,
    database,
    user,
    schema,
    tls,
    ...(certificates === null ? {} : { certificates }),
    isPooled: query.get('pgbouncer') === 'true',
    applicationName: query.get('application_name') ?? 'cairn',
  };
}

/** What a connection to a place lacks, if its server is on another machine: who reads or changes what is sent. Undefined: nothing. */
export function weaknessOf({ host, tls }: PostgresPlace): string | undefined {
  if (isLoopback(host) || tls === 'verify-full') return undefined;
  return tls === 'disable'
    ? `the connection to ${host} is in clear: whoever is on the way can read and change it`
    : `the certificate of ${host} is not verified: whoever is on the way can pretend to be it`;
}

const isTlsMode = (mode: string): mode is PostgresPlace['tls'] => (tlsModes as readonly string[]).includes(mode);

/** The settings of a connection that are plain data. Every one that the driver would take from a variable such as PGHOST is set. */
export interface PlainSettings {
  readonly settings: object;
  readonly ssl: false | { readonly rejectUnauthorized: boolean; readonly ca?: string };
}

export function plainSettings(place: PostgresPlace): PlainSettings {
  const { host, port, database, user, tls, certificates, applicationName, connectTimeoutMs } = place;
  const ca = certificates === undefined ? {} : { ca: readFileSync(certificates, 'utf8') };
  return {
    settings: {
      host,
      port,
      database,
      user,
      application_name: applicationName,
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
    },
    ssl: tls === 'disable' ? false : { rejectUnauthorized: tls === 'verify-full', ...ca },
  };
}

/** The settings of `pg`. */
function toSettings(place: PostgresPlace, password: () => string | undefined, connections: number): object {
  const { settings, ssl } = plainSettings(place);
  // Of an address the driver tells Node no name, which would then hold the certificate against localhost.
  const isHost = (_: string, certificate: PeerCertificate): Error | undefined =>
    // Loaded when there is a server: with `net` it takes a tenth of the start of a program that has none.
    process.getBuiltinModule('node:tls').checkServerIdentity(place.host, certificate);
  return {
    ...settings,
    // A function, because the driver looks for a variable and a file where a password is empty. It is called for each connection, so that a
    // password that was changed holds for the next one.
    password: () => password() ?? '',
    ssl: ssl && { ...ssl, checkServerIdentity: isHost },
    idleTimeoutMillis: 30_000,
    max: connections,
    allowExitOnIdle: true,
  };
}

/** Opens a pool of connections to a place. @throws CONFIG_MISSING_PEER the package `pg` is not installed */
export async function openPool(
  place: PostgresPlace,
  password: () => string | undefined,
  connections: number = connectionsMax,
): Promise<PostgresPool> {
  const settings = toSettings(place, password, connections);
  const { default: driver } = await importPeer<{ readonly default: Driver }>('pg');
  const weakness = weaknessOf(place);
  if (weakness !== undefined && !warnedPlaces.has(place.name)) {
    warnedPlaces.add(place.name);
    process.emitWarning(`${place.name}: ${weakness}. Leave out sslmode, or name the certificates: sslrootcert=FILE`, {
      code: 'CAIRN_STORE_UNVERIFIED',
    });
  }
  return new driver.Pool({ ...settings, Client: guardPassword(driver.Client) });
}

/** Names of places about whose weak connection this process has warned. */
const warnedPlaces = new Set<string>();

/** What is used of a connection of the driver. */
interface DriverClient {
  readonly ssl: unknown;
  readonly connection: { readonly stream: { destroy(error: Error): unknown } };
  _handleAuthCleartextPassword(message: unknown): unknown;
}

interface Driver {
  readonly Pool: new (settings: object) => PostgresPool;
  readonly Client: new (settings: object) => DriverClient;
}

/** A server that asks for the password in clear gets it over TLS alone: any listener could ask. */
function guardPassword(Client: Driver['Client']): Driver['Client'] {
  return class extends Client {
    override _handleAuthCleartextPassword(message: unknown): unknown {
      if (this.ssl !== false && this.ssl !== undefined) return super._handleAuthCleartextPassword(message);
      const reason = 'the server asks for the password in clear, without TLS: it was not sent';
      return this.connection.stream.destroy(Object.assign(new Error(reason), { code: 'CAIRN_PASSWORD_IN_CLEAR' }));
    }
  };
}
