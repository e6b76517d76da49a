/** Reads which database an Sql block uses, and how to connect. */
import { constants } from 'node:fs';
import { basename, dirname } from 'node:path';
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import type { InputFault, InputField, Inputs, Need } from '../../../graph/contracts/node-type.ts';
import { isPlainObject } from '../../../state/values/plain-object.ts';
import { describeFileError, fileFailure, files, holdFolder, type IsGranted } from '../../file/files.ts';
import { pathNeeds, resolveLinks, resolveLocalPath } from '../../file/local-path.ts';
import {
  fieldsOf,
  literal,
  numberOption,
  optionFaults,
  readText,
  refuseInput,
  requireText,
  secondsOption,
  textField,
} from '../block-options.ts';
import type { PostgresPlace } from './postgres-run.ts';
import type { Engine } from './sql-job.ts';
import type { SqlitePlace } from './sqlite-transaction.ts';

const port = numberOption('port', 'Of the server.', { default: 5_432, min: 1, max: 65_535 }, literal);
const connectTimeout = secondsOption('connect_timeout', 'Seconds until the server is given up.', {
  default: 10,
  min: 1,
  max: 600,
});
const isolationLevels = ['read committed', 'repeatable read', 'serializable'];
const sslModes = ['disable', 'require', 'verify-full'] as const;
const secret = { takesSecrets: true } as const;

const sqliteFields: Readonly<Record<string, InputField>> = {
  path: textField('The file of the database, which is made if it is not there; or `:memory:`.'),
  sqlite_pragmas: {
    schema: { type: 'object' },
    description: 'Settings of the connection, such as `{ synchronous: NORMAL }`.',
    ...literal,
  },
};

const serverFields: Readonly<Record<string, InputField>> = {
  connection: textField('All of the following as `postgres://username:password@host:port/database`.', secret),
  host: textField('The server.'),
  ...fieldsOf([port]),
  database: textField('On the server.', secret),
  username: textField('Whose rights hold.', secret),
  password: textField('Of the user.', secret),
  ssl: {
    schema: { enum: [true, false, ...sslModes] },
    description: '`require` encrypts; `verify-full` (or true) also checks the certificate.',
    default: 'disable',
  },
  isolation_level: {
    schema: { enum: isolationLevels },
    description: 'Of the transaction. Default: that of the server.',
    ...literal,
  },
  ...fieldsOf([connectTimeout]),
};

export const placeFields: Readonly<Record<string, InputField>> = {
  engine: {
    schema: { type: 'string' },
    description: '`sqlite` or `postgresql`.',
    isRequired: true,
    ...literal,
  },
  ...sqliteFields,
  ...serverFields,
};

export function engineOf({ engine }: Inputs): Engine | undefined {
  return engine === 'sqlite' || engine === 'postgresql' ? engine : undefined;
}

/** Time limit for connecting, in milliseconds. */
export function connectMs(inputs: Inputs): number {
  return engineOf(inputs) === 'sqlite' || optionFaults([connectTimeout], inputs).length > 0
    ? 0
    : connectTimeout.read(inputs);
}

export function placeNeeds(inputs: Inputs): readonly Need[] {
  if (engineOf(inputs) === 'sqlite')
    return inputs['path'] === ':memory:' ? [{ kind: 'sqlite' }] : pathNeeds(inputs['path']);
  const { connection, host } = inputs;
  if (typeof connection === 'string') return [{ kind: 'net', host: addressOf(URL.parse(connection)) }];
  if (typeof host !== 'string' || optionFaults([port], inputs).length > 0) return [{ kind: 'net', host: undefined }];
  const name = host.includes(':') ? `[${host}]` : host;
  return [{ kind: 'net', host: `${name}:${port.read(inputs)}` }];
}

const addressOf = (url: URL | null): string | undefined =>
  url === null || url.hostname === '' ? undefined : `${url.hostname}:${url.port === '' ? '5432' : url.port}`;

export function placeFaults(inputs: Inputs): readonly InputFault[] {
  const engine = engineOf(inputs);
  if (engine === undefined) {
    const message = `${JSON.stringify(inputs['engine'])} is no engine of this block`;
    return inputs['engine'] === undefined ? [] : [{ input: 'engine', message, fix: 'use sqlite or postgresql' }];
  }
  const others = engine === 'sqlite' ? serverFields : sqliteFields;
  const faults = Object.keys(others)
    .filter((name) => inputs[name] !== undefined)
    .map((name) => ({ input: name, message: `${name} is nothing to ${engine}`, fix: 'leave it out' }));
  if (engine === 'sqlite') return [...faults, ...pragmaFaults(inputs['sqlite_pragmas'])];
  if (inputs['connection'] !== undefined)
    for (const input of ['host', 'port', 'database', 'username', 'password'].filter(
      (name) => inputs[name] !== undefined,
    ))
      faults.push({ input, message: `${input} and connection are both given`, fix: 'give one of them' });
  return [...faults, ...optionFaults([port, connectTimeout], inputs)];
}

/** SQLite settings that authors may change. They affect a connection, and nothing outside of the database's file. */
const pragmas = new Set(
  (
    'journal_mode synchronous foreign_keys defer_foreign_keys recursive_triggers secure_delete cache_size mmap_size page_size ' +
    'auto_vacuum temp_store wal_autocheckpoint journal_size_limit case_sensitive_like automatic_index ' +
    'ignore_check_constraints cell_size_check trusted_schema'
  ).split(' '),
);

function pragmaFaults(settings: unknown): readonly InputFault[] {
  if (!isPlainObject(settings)) return [];
  const fault = (message: string, fix: string): InputFault => ({ input: 'sqlite_pragmas', message, fix });
  return Object.entries(settings).flatMap(([name, value]) => {
    if (name === 'busy_timeout') return [fault('busy_timeout is the block’s own', 'use timeout')];
    if (!pragmas.has(name)) return [fault(`${name} cannot be set`, `use one of ${[...pragmas].join(', ')}`)];
    return /^-?\w+$/u.test(String(value)) ? [] : [fault(`${name} has no such value`, 'give a word or a number')];
  });
}

/** Default settings: writes survive a power cut, and readers do not wait for writers. */
const defaultPragmas = { journal_mode: 'WAL', synchronous: 'FULL', foreign_keys: true };

/** The place of a SQLite database. @throws NodeFailure INPUT_INVALID, PATH_REFUSED */
export function readSqlitePlace(inputs: Inputs): SqlitePlace {
  const path = requireText(inputs, 'path');
  return {
    path: path === ':memory:' ? path : resolveLocalPath(path),
    pragmas: { ...defaultPragmas, ...(inputs['sqlite_pragmas'] as SqlitePlace['pragmas'] | undefined) },
  };
}

/**
 * The file of a database where it really is, made if it is to be written and is not there. Its folder, and missing ones above it, are
 * judged while they are open, so links that change meanwhile lead nowhere. The child that opens the path compares what it opened
 * with `file`. The file itself is not opened here if it exists: closing it would release the locks that this process has on it.
 * @throws NodeFailure PERMISSION_DENIED, PATH_REFUSED, NOT_A_FILE, or the code of the operating system
 */
export async function reachDatabase(
  place: SqlitePlace,
  isReadOnly: boolean,
  isGranted: IsGranted,
): Promise<SqlitePlace> {
  if (place.path === ':memory:') return place;
  const path = resolveLinks(place.path);
  const { lstat, open } = await files();
  const unless =
    (code: string) =>
    (error: unknown): undefined => {
      if ((error as NodeJS.ErrnoException).code !== code) throw error;
    };
  const [missing, existing] = [unless('ENOENT'), unless('EEXIST')];
  try {
    if (isReadOnly && (await lstat(path).catch(missing)) === undefined) return { ...place, path };
    const folder = await holdFolder(dirname(path), isGranted, 0o700);
    try {
      for (const suffix of ['', '-wal', '-shm', '-journal']) {
        const found = await lstat(folder.at(basename(path) + suffix)).catch(missing);
        if (found?.isSymbolicLink() === true) throw fileFailure('PATH_REFUSED', path + suffix, 'is a symbolic link');
        if (found?.isFile() === false) throw fileFailure('NOT_A_FILE', path + suffix, 'is no file');
        if (suffix !== '' || found !== undefined) continue;
        // Only its owner can read it, like all files of Cairn.
        const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
        // Another process may have created it meanwhile.
        const made = await open(folder.at(basename(path)), flags, 0o600).catch(existing);
        await made?.close();
      }
      const file = await lstat(folder.at(basename(path)), { bigint: true });
      if (!file.isFile()) throw fileFailure('PATH_REFUSED', path, 'was replaced while it was opened');
      const { dev, ino } = file;
      return { ...place, path, file: { dev, ino } };
    } finally {
      await folder.handle.close();
    }
  } catch (error) {
    throw error instanceof NodeFailure ? error : describeFileError(error, 'opened', path, 'no');
  }
}

/** The place of a Postgres database. @throws NodeFailure INPUT_INVALID */
export function readPostgresPlace(inputs: Inputs): PostgresPlace {
  return {
    ...(inputs['connection'] === undefined ? readAddress(inputs) : readConnection(requireText(inputs, 'connection'))),
    ssl: readSsl(inputs['ssl']),
    connectTimeoutMs: connectTimeout.read(inputs),
    isolation: readText(inputs, 'isolation_level'),
  };
}

type Address = Pick<PostgresPlace, 'host' | 'port' | 'database' | 'username' | 'password'>;

function readAddress(inputs: Inputs): Address {
  return {
    host: requireText(inputs, 'host'),
    port: port.read(inputs),
    database: requireText(inputs, 'database'),
    username: requireText(inputs, 'username'),
    password: readText(inputs, 'password') ?? '',
  };
}

/** Parses a connection string. Errors do not quote it, because it may contain the password. */
function readConnection(text: string): Address {
  const url = URL.parse(text);
  const database = url === null ? '' : decodeURIComponent(url.pathname.slice(1));
  if (
    url === null ||
    !/^postgres(ql)?:$/u.test(url.protocol) ||
    url.hostname === '' ||
    url.username === '' ||
    database === ''
  )
    throw refuseInput('connection', 'must be postgres://username:password@host:port/database');
  if (url.search !== '') throw refuseInput('connection', 'must have no options behind the database: use ssl');
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  return {
    host: url.hostname.replace(/^\[(.*)\]$/u, '$1'),
    port: url.port === '' ? 5_432 : Number(url.port),
    database,
    username,
    password,
  };
}

function readSsl(ssl: unknown): PostgresPlace['ssl'] {
  if (ssl === true) return 'verify-full';
  if (ssl === undefined || ssl === false) return 'disable';
  const mode = sslModes.find((each) => each === ssl);
  if (mode === undefined) throw refuseInput('ssl', `must be true, false or one of ${sslModes.join(', ')}`);
  return mode;
}
