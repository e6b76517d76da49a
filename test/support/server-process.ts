/** Servers that tests start as processes of this machine: their port, their user, their start and their end. */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { chownSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';

/** Postgres and PgBouncer refuse to run as root; this user has no rights and is on every machine. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;

/** The user under which such a server runs, as options of `spawn`. */
export const plainUser: { readonly uid?: number; readonly gid?: number } = isRoot ? { uid: nobody, gid: nobody } : {};

/** Gives files and folders to that user. */
export function giveToPlainUser(...paths: readonly string[]): void {
  if (isRoot) for (const path of paths) chownSync(path, nobody, nobody);
}

export async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Starts a server, which ends with this process at the latest.
 * @param ready - what it prints when it can be connected to
 * @throws what it printed, if it ends before
 */
export async function startProcess(
  program: string,
  args: readonly string[],
  ready: RegExp,
  options: Pick<SpawnOptions, 'cwd' | 'uid' | 'gid'> = {},
): Promise<ChildProcess> {
  const server = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = (): boolean => server.kill('SIGKILL');
  process.once('exit', kill);
  server.once('exit', () => process.off('exit', kill));
  let log = '';
  await new Promise<void>((resolve, reject) => {
    for (const output of [server.stdout, server.stderr])
      output.on('data', (chunk: Buffer) => {
        log += chunk.toString();
        if (ready.test(log)) resolve();
      });
    server.once('error', reject);
    server.once('exit', () => reject(new Error(log.slice(-300))));
  });
  // What it prints later is for nobody, but has to be read.
  for (const output of [server.stdout, server.stderr]) output.removeAllListeners('data').resume();
  return server;
}

/** Ends a server, and waits until it has ended. */
export async function endProcess(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const isOver = once(server, 'exit');
  server.kill(signal);
  await isOver;
}
