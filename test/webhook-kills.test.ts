/** Deliveries of webhooks to a receiver outside, while the workers that make them are killed again and again (WH2, WH3). */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { openFolder } from './cli/cairn.ts';
import { createSeededRandom } from '../src/ports/seeded-random.ts';
import { until, within } from './support/awaited.ts';
import { scale } from './support/scale.ts';

vi.setConfig({ testTimeout: 600_000 });

const kills = scale(2, 40);

const workflow = (url: string): string => `name: report
webhooks: [{ url: "${url}", on: [completed], secret: "secret:HOOK", private: true }]
blocks:
  - { id: say, type: EchoBlock, inputs: { message: done } }
`;

test(`WH2 workers on a disk are killed ${kills} times: each end of a run is told at least once, and under one id`, async () => {
  const folder = openFolder();
  const random = createSeededRandom(7);
  /** Ids of deliveries, by run. */
  const told = new Map<string, string[]>();
  const receiver = createServer((request, response) => {
    void readText(request).then((body) => {
      const { data } = JSON.parse(body) as { readonly data: { readonly runId: string } };
      told.set(data.runId, [...(told.get(data.runId) ?? []), String(request.headers['webhook-id'])]);
      // Some are killed between what the receiver has and what they hear of it.
      setTimeout(() => response.writeHead(204).end(), random.integer(200));
    });
  }).listen(0, '127.0.0.1');
  try {
    await once(receiver, 'listening');
    vi.stubEnv('HOOK', `whsec_${Buffer.alloc(32, 1).toString('base64')}`);
    folder.write('report.yaml', workflow(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`));
    folder.cairn('schedule', 'add', 'report.yaml', '--cron', '0 * * * *', '--overlap', 'allow');
    const span = ['--from', `${scale(6, 60)}h`];
    const { starts } = folder.json('schedule', 'backfill', 'report', ...span) as { readonly starts: readonly string[] };
    for (let count = 0; count < kills; count += 1) {
      const worker = folder.start('worker');
      await once(worker.stdout ?? worker, 'data');
      await sleep(random.integer(400));
      worker.kill('SIGKILL');
      await within('the worker is dead', once(worker, 'close'));
    }
    const last = folder.start('worker');
    await until('each run is told', () => starts.every((runId) => told.has(runId)), 100);
    const deliveries = (): readonly { readonly status: string }[] =>
      folder.jsonLines('ls', '--graph', 'cairn:webhook', '--all').rows as readonly { status: string }[];
    await until('each delivery is over', () => deliveries().every(({ status }) => status === 'completed'), 500);
    last.kill('SIGTERM');
    await within('the worker ends', once(last, 'close'));
    const ids = [...told.values()].map((each) => [...new Set(each)]);
    expect(ids.filter((each) => each.length !== 1)).toEqual([]);
    expect(new Set(ids.flat()).size).toBe(deliveries().length);
  } finally {
    vi.unstubAllEnvs();
    receiver.close();
  }
});
