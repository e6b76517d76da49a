/** A real Restate server, or a cluster of them, on free ports of this machine: the program of the package @restatedev/restate-server. */
import { spawn, type ChildProcess } from 'node:child_process';
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
  /** Kills the last node of a cluster, for good. */
  readonly killNode: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** One process of the server. */
interface Node {
  readonly ports: { readonly ingress: number; readonly admin: number; readonly node: number };
  child?: ChildProcess;
}

const startTries = 800;
const tryEveryMs = 50;

/** @param size - nodes that share the work and keep its data twice. @returns why there is none here, if its program is not installed */
export async function startRestate(size = 1): Promise<RestateServer | string> {
  const program = findProgram();
  if (program === undefined) return 'no Restate here: the package @restatedev/restate-server has no program for it';
  const folder = mkdtempSync(join(tmpdir(), 'cairn-restate-'));
  const nodes: Node[] = [];
  while (nodes.length < size)
    nodes.push({ ports: { ingress: await freePort(), admin: await freePort(), node: await freePort() } });
  const [first] = nodes as [Node];
  const { admin, ingress } = first.ports;
  const start = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => startNode(program, folder, nodes, node)));
  };
  const kill = async (): Promise<void> => {
    await Promise.all(nodes.map(killNode));
  };
  await start();
  return {
    ingress: `http://127.0.0.1:${ingress}`,
    async register(uri) {
      const response = await fetch(`http://127.0.0.1:${admin}/deployments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ uri, force: true }),
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    },
    async restart(keepsData) {
      await kill();
      if (!keepsData) rmSync(folder, { recursive: true, force: true });
      await start();
    },
    killNode: () => killNode(nodes.at(-1) as Node),
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startNode(program: string, folder: string, nodes: readonly Node[], node: Node): Promise<void> {
  const { ports } = node;
  const addresses = nodes.map((each) => `http://127.0.0.1:${each.ports.node}`);
  const name = `node-${nodes.indexOf(node)}`;
  const child = spawn(program, ['--no-logo', '--base-dir', folder, '--listen-mode', 'tcp'], {
    stdio: 'ignore',
    env: {
      ...process.env,
      DO_NOT_TRACK: '1',
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_NODE_NAME: name,
      RESTATE_BIND_IP: '127.0.0.1',
      RESTATE_BIND_PORT: String(ports.node),
      RESTATE_ADVERTISED_HOST: '127.0.0.1',
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ports.ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${ports.admin}`,
      RESTATE_DEFAULT_NUM_PARTITIONS: '4',
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '256 MiB',
      // How soon it notices that an endpoint hangs, whose connections stay; in place of 40 s.
      RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: '4s',
      RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: '4s',
      RUST_LOG: 'warn',
      ...(nodes.length > 1 && {
        RESTATE_CLUSTER_NAME: 'test',
        RESTATE_AUTO_PROVISION: String(node === nodes[0]),
        RESTATE_DEFAULT_REPLICATION: '2',
        RESTATE_METADATA_CLIENT__ADDRESSES: JSON.stringify(addresses),
      }),
    },
  });
  node.child = child;
  process.once('exit', () => child.kill('SIGKILL'));
  for (let tries = 0; tries < startTries; tries += 1) {
    if (child.exitCode !== null) throw new Error(`the Restate server ended with ${child.exitCode}`);
    if (
      (await isUp(`http://127.0.0.1:${ports.admin}/health`)) &&
      (await isUp(`http://127.0.0.1:${ports.ingress}/restate/health`))
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, tryEveryMs));
  }
  throw new Error('the Restate server does not answer');
}

async function isUp(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function killNode({ child }: Node): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const isOver = once(child, 'exit');
  child.kill('SIGKILL');
  await isOver;
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
