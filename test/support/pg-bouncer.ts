/** The real PgBouncer before a Postgres server, in transaction mode. */
import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcess, findFreePort, giveToPlainUser, plainUser, startProcess } from './server-process.ts';

const program = '/usr/sbin/pgbouncer';

export interface PgBouncer {
  /** URL of the database over it. */
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** @returns why there is none here */
export async function startPgBouncer(serverUrl: string): Promise<PgBouncer | string> {
  if (!existsSync(program)) return `${program} is not installed`;
  const { hostname, port, pathname, username, password } = new URL(serverUrl);
  const folder = mkdtempSync(join(tmpdir(), 'cairn-bouncer-'));
  const ownPort = await findFreePort();
  const settings = join(folder, 'pgbouncer.ini');
  writeFileSync(
    settings,
    `[databases]
${pathname.slice(1)} = host=${hostname} port=${port} user=${username} password='${decodeURIComponent(password)}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
auth_type = any
pool_mode = transaction
default_pool_size = 3
unix_socket_dir =
`,
  );
  giveToPlainUser(folder, settings);
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  let server: ChildProcess;
  try {
    server = await startProcess(program, [settings], /process up/, plainUser);
  } catch (error) {
    remove();
    return `it ended: ${(error as Error).message}`;
  }
  const stop = async (): Promise<void> => {
    await endProcess(server, 'SIGINT');
    remove();
  };
  return { url: `postgres://${username}@127.0.0.1:${ownPort}${pathname}`, stop };
}
