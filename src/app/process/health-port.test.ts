import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { until, within } from '../../../test/support/awaited.ts';
import { openHealthPort } from './health-port.ts';

test('O3.2.4 a process answers probes at a port of its own, and what is no path of it with 404', async () => {
  const answer = async (path: string): Promise<{ status: number; body: string; type: string } | undefined> =>
    path === '/other' ? { status: 202, body: 'words', type: 'text/plain' } : undefined;
  const opened = await openHealthPort({ port: 0, answer });
  const { port } = opened;
  const ask = (path: string, method = 'GET'): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`, { method });
  const alive = await ask('/livez?verbose');
  expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok' }]);
  const other = await ask('/other');
  expect([other.status, other.headers.get('content-type'), await other.text()]).toEqual([202, 'text/plain', 'words']);
  expect([(await ask('/none')).status, (await ask('/livez', 'POST')).status]).toEqual([404, 405]);
  await expect(openHealthPort({ port, answer })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/--health-port.*EADDRINUSE/) as string,
  });
  await opened.close();
  await expect(ask('/livez')).rejects.toThrow('fetch failed');
});

/** A process that opens the port and then holds its event loop. */
async function startBlocked(busyMaxMs: number): Promise<(path: string) => Promise<Response>> {
  const script = `
    import { openHealthPort } from ${JSON.stringify(new URL('health-port.ts', import.meta.url).href)};
    const { port } = await openHealthPort({ port: 0, busyMaxMs: ${busyMaxMs}, answer: async () => ({ status: 200, body: '{}' }) });
    process.stdout.write(port + '\\n', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 120_000));
  `;
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout as never })[Symbol.asyncIterator]();
  const { value: port } = await within('it listens', lines.next());
  return (path) => fetch(`http://127.0.0.1:${String(port)}${path}`);
}

test('O3.2.4 while a node holds the event loop the process is alive, and not ready', async () => {
  const ask = await startBlocked(100_000);
  expect((await ask('/livez')).status).toBe(200);
  const ready = await ask('/readyz');
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'unready' }]);
  expect((await ask('/livez')).status).toBe(200);
}, 60_000);

test('O3.2.4 a process whose event loop is held for longer than busyMaxMs is not alive', async () => {
  const ask = await startBlocked(700);
  await until('it is not alive', async () => (await ask('/livez')).status === 503, 20);
}, 60_000);
