/** Who starts or answers a run in another process wakes its host. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { openCairn } from './open-cairn.ts';
import { wakeByFetch, wakeByRestate } from './wake-host.ts';

type Call = readonly [path: string, authorization: string | undefined, body: string];

/** A server that remembers what it was asked. */
async function listen(use: (address: string, calls: readonly Call[]) => Promise<void>, status = 202): Promise<void> {
  const calls: Call[] = [];
  const note = async (request: IncomingMessage): Promise<void> => {
    calls.push([request.url ?? '', request.headers.authorization, await text(request)]);
  };
  const server = createServer(
    (request, response) => void note(request).then(() => response.writeHead(status).end('{}')),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test('HO5 a wake names the run, and says nothing else of it', () =>
  listen(async (address, calls) => {
    await wakeByFetch({ url: `${address}/cairn/`, token: 'secret' }).wake('a/b', 0);
    await wakeByRestate({ ingress: address }).wake('a/b', 0);
    await wakeByRestate({ ingress: address, token: 'other' }).wake('c', Date.now() + 3_600_000);
    expect(calls.slice(0, 2)).toEqual([
      ['/cairn/tick', 'Bearer secret', '{"runId":"a/b"}'],
      ['/cairnRun/a%2Fb/tick/send', undefined, '{}'],
    ]);
    expect(calls[2]?.[0]).toMatch(/^\/cairnRun\/c\/tick\/send\?delay=3[56]\d{5}ms$/u);
    expect(calls[2]?.[1]).toBe('Bearer other');
    expect(() => wakeByFetch({ url: 'ftp://x' })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  }));

test('HO5 a host that is configured is woken by starts, answers and cancels, and one that cannot be reached harms none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-host-'));
  const workflow = 'name: w\nblocks:\n  - id: ask\n    type: Prompt\n    inputs: { prompt: Go on? }\n';
  writeFileSync(join(folder, 'w.yaml'), workflow);
  const use = async (host: string): Promise<void> => {
    writeFileSync(join(folder, 'cairn.config.yaml'), `host: ${host}\n`);
    const cairn = await openCairn({ cwd: folder });
    try {
      const { runId } = await cairn.run({ file: 'w.yaml' });
      await cairn.answer({ run: runId, value: 'yes' });
      const other = await cairn.run({ file: 'w.yaml', detach: true });
      await cairn.cancel({ run: other.runId });
    } finally {
      await cairn.close();
    }
  };
  try {
    process.env['CAIRN_TEST_TICK'] = 'secret';
    await listen(async (address, calls) => {
      await use(`{ fetch: '${address}', token: 'secret:CAIRN_TEST_TICK' }`);
      expect(calls.map(([path, authorization]) => `${path} ${authorization}`)).toEqual(
        Array.from({ length: 3 }, () => '/tick Bearer secret'),
      );
      await use(`{ restate: '${address}' }`);
      expect(calls.slice(3).map(([path]) => path.split('/').at(-1))).toEqual(['send', 'send', 'send']);
    });
    await use(`{ restate: 'http://127.0.0.1:9' }`);
    for (const host of [
      '{}',
      '{ restate: x }',
      `{ fetch: 'http://a', restate: 'http://b' }`,
      '{ fetch: http://a, token: plain }',
    ])
      await expect(use(host)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  } finally {
    delete process.env['CAIRN_TEST_TICK'];
    rmSync(folder, { recursive: true, force: true });
  }
});
