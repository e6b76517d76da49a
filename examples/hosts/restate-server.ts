/** A real Restate server, on free ports of this machine: the program of the package @restatedev/restate-server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface RestateServer {
  readonly ingress: string;
  /** Tells the server of an endpoint. */
  readonly register: (uri: string) => Promise<void>;
  /** Kills the server and starts it again on its data, or on none. */
  readonly restart: (keepsData: boolean) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** @returns why there is none here, if its program is not installed */
export async function startRestate(): Promise<RestateServer | string> {
  const program = findProgram();
  if (program === undefined) return 'no Restate here: the package @restatedev/restate-server has no program for it';
  const folder = mkdtempSync(join(tmpdir(), 'cairn-restate-'));
  const [ingressPort, adminPort, nodePort] = [await freePort(), await freePort(), await freePort()];
  const admin = `http://127.0.0.1:${adminPort}`;
  let server = await start();
  async function start() {
    const child = spawn(program as string, ['--no-logo', '--base-dir', folder, '--listen-mode', 'tcp'], {
      stdio: 'ignore',
      env: {
        ...process.env,
        DO_NOT_TRACK: '1',
        RESTATE_DISABLE_TELEMETRY: 'true',
        RESTATE_NODE_NAME: 'test',
        RESTATE_BIND_IP: '127.0.0.1',
        RESTATE_BIND_PORT: String(nodePort),
        RESTATE_ADVERTISED_HOST: '127.0.0.1',
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingressPort}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${adminPort}`,
        RESTATE_DEFAULT_NUM_PARTITIONS: '4',
        RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '256 MiB',
        RUST_LOG: 'warn',
      },
    });
    process.once('exit', () => child.kill('SIGKILL'));
    const isUp = (url: string): Promise<boolean> =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      );
    for (let looks = 0; looks < 800; looks += 1) {
      if (child.exitCode !== null) throw new Error(`the Restate server ended with ${child.exitCode}`);
      if ((await isUp(`${admin}/health`)) && (await isUp(`http://127.0.0.1:${ingressPort}/restate/health`)))
        return child;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('the Restate server does not answer');
  }
  const kill = async (): Promise<void> => {
    const isOver = server.exitCode === null && server.signalCode === null ? once(server, 'exit') : undefined;
    server.kill('SIGKILL');
    await isOver;
  };
  return {
    ingress: `http://127.0.0.1:${ingressPort}`,
    async register(uri) {
      const response = await fetch(`${admin}/deployments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ uri, force: true }),
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    },
    async restart(keepsData) {
      await kill();
      if (!keepsData) rmSync(folder, { recursive: true, force: true });
      server = await start();
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function findProgram(): string | undefined {
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json'));
    const manifest = require.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/package.json`);
    const path = join(dirname(manifest), 'bin/restate-server');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
