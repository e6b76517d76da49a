/** The real PgBouncer before a Postgres server, in transaction mode. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const program = '/usr/sbin/pgbouncer';
/** It refuses to run as root; this user has no rights and is on every machine. */
const nobody = 65_534;

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
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const path of [folder, settings]) chownSync(path, nobody, nobody);
  const child = spawn(program, [settings], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(isRoot && { uid: nobody, gid: nobody }),
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const log = await new Promise<string>((resolve) => {
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('process up')) resolve('');
    });
    child.once('exit', () => resolve(`it ended: ${text}`));
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) {
      const isOver = once(child, 'exit');
      child.kill('SIGINT');
      await isOver;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  if (log !== '') {
    await stop();
    return log;
  }
  return { url: `postgres://${username}@127.0.0.1:${ownPort}${pathname}`, stop };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
