/** A Postgres server and a synchronous standby that follows it, of the programs of the system: those of packages bring no pg_basebackup. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcess, findFreePort, giveToPlainUser, plainUser, startProcess } from './server-process.ts';

const programs = '/usr/lib/postgresql';

export interface ServerPair {
  readonly port: number;
  readonly standbyPort: number;
  /** URL of a database on a port of this machine. */
  readonly urlAt: (port: number) => string;
  /** Which standbys the first server's commits wait for: `*` at first. */
  readonly waitFor: (standbys: string) => void;
  /** Starts another receiver of what the first server writes, which it calls `archive`. */
  readonly addArchive: () => void;
  /** Ends the first server as a power cut does, and makes the standby the one that is written to. */
  readonly failOver: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** @returns why there is none here */
export async function startPair(): Promise<ServerPair | string> {
  const version = existsSync(programs) ? readdirSync(programs).at(-1) : undefined;
  const bin = join(programs, version ?? '', 'bin');
  if (!existsSync(join(bin, 'pg_basebackup'))) return 'the system has no Postgres server with pg_basebackup';
  const folder = mkdtempSync(join(tmpdir(), 'cairn-pair-'));
  const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
  mkdirSync(data, { mode: 0o700 });
  giveToPlainUser(folder, data);
  const run = (program: string, ...args: readonly string[]): void =>
    void execFileSync(join(bin, program), args, { ...plainUser, stdio: 'pipe', cwd: folder });
  const [port, standbyPort] = [await findFreePort(), await findFreePort()];
  run('initdb', '-D', data, '-U', 'tester', '--auth=trust', '--encoding=UTF8', '--no-sync');
  const common = ['fsync=off', 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`];
  appendFileSync(join(data, 'postgresql.conf'), `synchronous_standby_names = '*'\n`);
  const first = await start(join(bin, 'postgres'), data, port, common);
  run('pg_basebackup', '-D', copy, '-R', '-h', '127.0.0.1', '-p', `${port}`, '-U', 'tester', '--no-sync', '-c', 'fast');
  const second = await start(join(bin, 'postgres'), copy, standbyPort, [...common, 'synchronous_standby_names=']);
  let archive: ChildProcess | undefined;
  return {
    port,
    standbyPort,
    urlAt: (at) => `postgres://tester@127.0.0.1:${at}/postgres`,
    waitFor: (standbys) => {
      const change = `alter system set synchronous_standby_names = '${standbys}'`;
      const at = ['-h', '127.0.0.1', '-p', `${port}`, '-U', 'tester', '-d', 'postgres'];
      // It is itself a write, which waits for a standby that is not there.
      run('psql', ...at, '-c', 'set synchronous_commit = local', '-c', change, '-c', 'select pg_reload_conf()');
    },
    addArchive: () => {
      const source = `host=127.0.0.1 port=${port} user=tester application_name=archive`;
      const options = { ...plainUser, cwd: folder, stdio: 'ignore' } as const;
      archive = spawn(join(bin, 'pg_receivewal'), ['-D', folder, '--no-sync', '-d', source], options);
    },
    failOver: async () => {
      await endProcess(first, 'SIGQUIT');
      run('pg_ctl', 'promote', '-D', copy, '-w');
    },
    stop: async () => {
      if (archive !== undefined) await endProcess(archive, 'SIGKILL');
      await Promise.all([endProcess(first, 'SIGQUIT'), endProcess(second, 'SIGQUIT')]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function start(program: string, data: string, port: number, settings: readonly string[]): Promise<ChildProcess> {
  const flags = ['-D', data, '-p', `${port}`, ...settings.flatMap((setting) => ['-c', setting])];
  return startProcess(program, flags, /ready to accept (?:read-only )?connections/, plainUser);
}
