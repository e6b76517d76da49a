/** The first command on a machine without a network: it says what it lacks, and does not try for minutes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'cairn-offline-'));
const sockets: Socket[] = [];
const server = createServer((socket) => sockets.push(socket));
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
  rmSync(folder, { recursive: true });
});

async function install(registry: string): Promise<{ readonly code: unknown; readonly err: string }> {
  const child = spawn('node', ['scripts/ensure-installed.mjs'], {
    cwd: folder,
    // An empty cache, and a registry of ours, whatever this machine has.
    env: { ...process.env, npm_config_registry: registry, npm_config_cache: join(folder, 'cache'), npm_execpath: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let err = '';
  child.stderr.on('data', (data) => (err += String(data)));
  const [code] = (await once(child, 'close')) as [unknown];
  return { code, err };
}

test('P6 without a network the first command names what it lacks, whether nobody is there or nobody answers', async () => {
  mkdirSync(join(folder, 'scripts'));
  for (const file of ['package.json', 'package-lock.json', 'scripts/ensure-installed.mjs'])
    copyFileSync(join(root, file), join(folder, file));
  cpSync(join(root, 'scripts/dev-node'), join(folder, 'scripts/dev-node'), { recursive: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const silent = await install(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  expect(sockets.length).toBeGreaterThan(0);
  for (const socket of sockets) socket.destroy();
  const { port } = server.address() as AddressInfo;
  server.close();
  const absent = await install(`http://127.0.0.1:${port}/`);
  const lacks =
    /^installing dependencies \(npm ci\) \.\.\.\nThe packages are not installed, npm has no copy of them, and it cannot reach its registry: (.+)\.\nThey are needed once/;
  expect([silent.code, absent.code]).toEqual([1, 1]);
  expect(lacks.exec(silent.err)?.[1]).toMatch(/^(no answer within 6 s|network timeout|ETIMEDOUT|ERR_SOCKET_TIMEOUT)$/);
  expect(lacks.exec(absent.err)?.[1]).toBe('ECONNREFUSED');
});
