/** What an endpoint for Restate decides, without a server of it: generations of alarms, whom a sweep wakes, and who may listen. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node } from '../../test/engine-kit.ts';
import { restateHost } from './index.ts';
import { generationAfter } from './restate-host.ts';

const graph = graphOf('g', [node('a', 'pure', () => 1, {})], edges('> a', 'a >'));

test('HO10 each tick makes the alarms before it stale, and nothing of a run that is over stays with the server', () => {
  expect(generationAfter({ status: 'running', againMs: 0 }, 3)).toBe(4);
  expect(generationAfter({ status: 'paused', againMs: 60_000 }, 3)).toBe(4);
  expect(generationAfter({ status: 'paused', againMs: null }, 3)).toBe(4);
  expect(generationAfter({ status: 'held', againMs: 500 }, 0)).toBe(1);
  for (const status of ['completed', 'failed', 'cancelled'] as const)
    expect(generationAfter({ status, againMs: null }, 3)).toBe(undefined);
});

test('HO6 a sweep wakes every run that can go on, and no other', async () => {
  const woken: string[] = [];
  const server = createServer((request, response) => {
    woken.push(request.url ?? '');
    response.writeHead(202).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const ingress = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { engine } = createBench();
  engine.know(graph);
  for (const runId of ['one', 'two', 'over']) await engine.start(graph, {}, { runId, detach: true });
  await engine.advance('over', { forMs: 1_000 });
  const host = restateHost({ graphs: [{ graph, engine }], ingress });
  await host.sweep();
  expect(woken.toSorted()).toEqual(['/cairnRun/one/tick/send', '/cairnRun/two/tick/send']);
  await host.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('HO10 without keys of the server only this machine is listened to, and settings out of range are refused', async () => {
  const graphs = [{ graph, engine: createBench().engine }];
  const ingress = 'http://127.0.0.1:9';
  await expect(restateHost({ graphs, ingress }).listen(0, '0.0.0.0')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  for (const options of [
    { identityKeys: [] },
    { forMs: 0 },
    { forMs: Infinity },
    { ingress: 'ftp://x' },
    { graphs: [] },
  ])
    expect(() => restateHost({ graphs, ingress, ...options })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
});
