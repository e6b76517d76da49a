import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { startS3, type S3UnderTest } from '../../test/support/s3-server.ts';
import { sample } from '../../test/support/scale.ts';
import { AgentGraph, END, START } from '../index.ts';
import { agent, memoryFiles } from '../agents/index.ts';
import type { FileRef } from '../graph/file-ref.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { blobSuite } from '../testing/blob-suite.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { createS3Blobs, S3Blobs, type S3ClientLike } from './s3-blobs.ts';

const started = await startS3();
if (typeof started === 'string') console.log(`blobs in S3 were not tested: ${started}`);
const server = started as S3UnderTest;
afterAll(async () => {
  if (typeof started !== 'string') await server.stop();
});

const acme = { tenant: 'acme' };
const hello = new TextEncoder().encode('hello');
const day = 24 * 3_600_000;
const megabyte = 1024 ** 2;
const page = '<!doctype html><html><body>Please sign in</body></html>';

/** What is sent, by the name of the command. `before` may fail a call, or hold it. */
function watched(before: (command: string, no: number) => void | Promise<void>): {
  client: S3ClientLike;
  sent: string[];
} {
  const client = server.client();
  const sent: string[] = [];
  const send = async (command: never, options?: never): Promise<unknown> => {
    const name = (command as object).constructor.name.replace('Command', '');
    sent.push(name);
    await before(name, sent.length);
    return client.send(command, options);
  };
  return { client: { send }, sent };
}

/** The keys of all objects. */
const keys = (): readonly string[] =>
  readdirSync(server.folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('_object'))
    .map((name) => name.replace(/\._S3rver_object$/u, ''));

describe.skipIf(typeof started === 'string')('blobs in S3', () => {
  beforeEach(() => server.empty());
  blobSuite({
    test,
    create: () => ({
      blobs: createS3Blobs({ bucket: server.bucket, prefix: '/cairn/blobs/', client: server.client() }),
      advance: server.advance,
    }),
  });

  test('C5 a large blob is sent in parts, and not again while it is there', async () => {
    const { client, sent } = watched(() => undefined);
    const blobs = createS3Blobs({ bucket: server.bucket, client, partBytes: 5 * megabyte });
    const bytes = Uint8Array.from({ length: 11 * megabyte }, (_, index) => index >> 16);
    const hash = await blobs.put(acme, bytes);
    expect(sent.filter((name) => name === 'UploadPart')).toHaveLength(3);
    expect(keys()).toEqual([`acme/blobs/${hash}`]);
    expect(Buffer.compare(await blobs.get('acme', hash), bytes)).toBe(0);
    sent.length = 0;
    await blobs.put(acme, bytes);
    expect(sent).toEqual(['HeadObject', 'CopyObject', 'ListObjectsV2', 'HeadObject']);
  });

  test('C5 an upload in parts that fails is taken back', async () => {
    const { client, sent } = watched((name, no) => {
      if (name === 'UploadPart' && no > 4) throw new Error('the network broke');
    });
    const blobs = createS3Blobs({ bucket: server.bucket, client, partBytes: 5 * megabyte });
    await expect(blobs.put(acme, new Uint8Array(11 * megabyte))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(sent.at(-1)).toBe('AbortMultipartUpload');
    expect(keys()).toEqual([]);
  });

  test('C5 a byte that became another is found by every read of the whole, and mended by a put', async () => {
    const blobs = createS3Blobs({ bucket: server.bucket, client: server.client() });
    const hash = await blobs.put(acme, hello);
    for (const damaged of ['hellp', 'hell', '']) {
      writeFileSync(join(server.folder, `acme/blobs/${hash}._S3rver_object`), damaged);
      for (const range of [undefined, {}, { length: 1_000 }])
        await expect(blobs.get('acme', hash, range)).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
    }
    await blobs.put(acme, hello);
    expect(await blobs.get('acme', hash)).toEqual(hello);
  });

  test('C5 a read that breaks off goes on where it was', async () => {
    const bytes = Uint8Array.from({ length: 3 * megabyte }, (_, index) => index >> 12);
    const hash = await createS3Blobs({ bucket: server.bucket, client: server.client() }).put(acme, bytes);
    const proxy = await startBreakingProxy(server.endpoint, megabyte);
    try {
      const client = new S3Client({
        region: 'us-east-1',
        endpoint: proxy.endpoint,
        forcePathStyle: true,
        credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
      });
      const blobs = createS3Blobs({ bucket: server.bucket, client });
      expect(Buffer.compare(await blobs.get('acme', hash), bytes)).toBe(0);
      expect(proxy.ranges).toEqual([undefined, expect.stringMatching(/^bytes=\d{5,}-$/), expect.stringMatching(/^bytes=\d{7}-$/)]); // prettier-ignore
    } finally {
      await proxy.stop();
    }
  });

  test('C5 of a part, the bytes of that part are asked for', async () => {
    const ranges: unknown[] = [];
    const client = server.client();
    const send = (command: never, options?: never): Promise<unknown> => {
      const { Range } = (command as { readonly input: { readonly Range?: string } }).input;
      if (Range !== undefined) ranges.push(Range);
      return client.send(command, options);
    };
    const blobs = createS3Blobs({ bucket: server.bucket, client: { send } });
    const bytes = Uint8Array.from({ length: 3 * megabyte }, (_, index) => index >> 12);
    const hash = await blobs.put(acme, bytes);
    const part = await blobs.get('acme', hash, { offset: megabyte, length: 65_536 });
    expect(Buffer.compare(part, bytes.subarray(megabyte, megabyte + 65_536))).toBe(0);
    expect(ranges).toEqual([`bytes=${megabyte}-${megabyte + 65_535}`]);
  });

  test.each<[string, Answer]>([
    ['a page of a proxy', { body: page }],
    ['a page that tells no length', { body: page, isChunked: true }],
    ['a page with an ETag', { body: page, headers: { etag: '"1"' } }],
    ['a half of it, without its length', { body: 'hel', isChunked: true, headers: { etag: '"1"' } }],
    ['a half of it, that breaks off each time', { body: 'hel', breaksOff: true, headers: { etag: '"1"' } }],
  ])('C5 %s in place of a blob is no value, and no put of it is believed', async (_, answer) => {
    const place = await startAnswering(answer);
    const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
    const client = new S3Client({
      region: 'us-east-1',
      endpoint: place.endpoint,
      forcePathStyle: true,
      credentials,
      maxAttempts: 1,
    });
    const blobs = createS3Blobs({ bucket: server.bucket, client });
    const codes = ['STORE_UNAVAILABLE', 'BLOB_CORRUPT'];
    const codeOf = (work: Promise<unknown>): Promise<unknown> =>
      work.then(
        (value) => `no fault: ${JSON.stringify(value)}`,
        (error: unknown) => (error as { readonly code?: unknown }).code,
      );
    try {
      const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
      expect(codes).toContain(await codeOf(blobs.get('acme', hash)));
      expect(await codeOf(blobs.get('acme', hash, { offset: 1, length: 3 }))).toBe('STORE_UNAVAILABLE');
      expect(await codeOf(blobs.put(acme, hello))).toBe('STORE_UNAVAILABLE');
      expect(await codeOf(blobs.sweep('acme'))).toBe('STORE_UNAVAILABLE');
    } finally {
      await place.stop();
    }
  });

  test('S2 a bucket that is not there, or a server, is STORE_UNAVAILABLE and named', async () => {
    const blobs = createS3Blobs({ bucket: 'nowhere', client: server.client() });
    const unavailable = { code: 'STORE_UNAVAILABLE', message: expect.stringMatching(/s3:\/\/nowhere.*NoSuchBucket/) as string }; // prettier-ignore
    await expect(blobs.put(acme, hello)).rejects.toMatchObject(unavailable);
    await expect(blobs.get('acme', '0'.repeat(64))).rejects.toMatchObject(unavailable);
    await expect(blobs.sweep('acme')).rejects.toMatchObject(unavailable);
  });

  test('P2 a put or touch during a removal is never lost, in whatever order their calls come', async () => {
    for (const act of ['put', 'touch'] as const)
      for (const order of sample(orders(4, 4), 6)) {
        server.empty();
        const turns = new Turns(order);
        const made = (who: 0 | 1): S3Blobs =>
          new S3Blobs(
            { bucket: server.bucket, client: watched(() => turns.take(who)).client },
            { now: Date.now, wait: () => turns.take(who) },
          );
        const hash = await createS3Blobs({ bucket: server.bucket, client: server.client() }).put(acme, hello);
        server.advance(2 * day);
        const [isThere, isRemoved] = await Promise.all([
          turns.run(0, async () =>
            act === 'put' ? (await made(0).put(acme, hello), true) : made(0).touch('acme', hash),
          ),
          turns.run(1, () => made(1).remove('acme', hash, day)),
        ]);
        const found = keys();
        expect([order.join(''), found]).toEqual([order.join(''), isThere ? [`acme/blobs/${hash}`] : []]);
        // A touch says no only of what was removed.
        expect(isThere || isRemoved).toBe(true);
      }
  }, 120_000);

  test('P1 whoever is killed at any of their calls leaves a blob that is whole or absent, and the next one can go on', async () => {
    const acts = {
      put: async (blobs: S3Blobs) => void (await blobs.put(acme, new Uint8Array(6 * megabyte))),
      remove: async (blobs: S3Blobs) => void (await blobs.remove('acme', await hashOfLarge(), 0)),
      sweep: async (blobs: S3Blobs) => void (await blobs.sweep('acme')),
    };
    const hashOfLarge = async (): Promise<string> =>
      createS3Blobs({ bucket: server.bucket, client: server.client() }).put(acme, new Uint8Array(6 * megabyte));
    const calls = { put: 7, remove: 5, sweep: 3 };
    const deaths = (['put', 'remove', 'sweep'] as const).flatMap((name) =>
      Array.from({ length: calls[name] + 1 }, (_, index) => ({ name, at: index + 1 })),
    );
    for (const { name, at } of sample(deaths, 4, (death) => death.name)) {
      server.empty();
      if (name !== 'put') await hashOfLarge();
      server.advance(day);
      const { client, sent } = watched((_, no) => {
        if (no >= at) throw new Error('killed');
      });
      const options = { bucket: server.bucket, partBytes: 5 * megabyte };
      const time = { now: Date.now, wait: async () => undefined };
      await acts[name](new S3Blobs({ ...options, client }, time)).catch(() => undefined);
      // The last one is not killed at all.
      expect([name, at <= calls[name] || sent.length === calls[name]]).toEqual([name, true]);
      const next = new S3Blobs({ ...options, client: server.client() }, time);
      const { rows } = await next.sweep('acme');
      for (const { hash } of rows) expect((await next.get('acme', hash)).length).toBe(6 * megabyte);
      const hash = await next.put(acme, new Uint8Array(6 * megabyte));
      expect(keys()).toEqual([`acme/blobs/${hash}`]);
      server.advance(2 * day);
      expect(await next.remove('acme', hash, day)).toBe(true);
      expect(keys()).toEqual([]);
    }
  }, 120_000);

  test('C5 marks of dead processes are tidied up by a sweep, not those of living ones', async () => {
    const blobs = createS3Blobs({ bucket: server.bucket, client: server.client() });
    const hash = await blobs.put(acme, hello);
    server.advance(2 * day);
    const { client } = watched((name) => {
      if (name === 'DeleteObject') throw new Error('killed');
    });
    await expect(createS3Blobs({ bucket: server.bucket, client }).remove('acme', hash, day)).rejects.toThrow(/killed/);
    await blobs.sweep('acme');
    expect(keys()).toHaveLength(2);
    server.advance(2 * day);
    await blobs.sweep('acme');
    expect(keys()).toEqual([`acme/blobs/${hash}`]);
  });

  test('S4 an agent’s files and large values are in the bucket, with any store', async () => {
    const blobs = createS3Blobs({ bucket: server.bucket, prefix: 'cairn', client: server.client() });
    const large = 'x'.repeat(300_000);
    const models = createScriptedModels(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'Done.'
        : { calls: [{ id: 'c', tool: 'write_file', input: { path: 'notes/a.txt', content: large } }] },
    );
    const app = new AgentGraph({}, { id: 'report' })
      .addNode('write', agent({ model: 'm', prompt: 'Go.', files: memoryFiles({ as: 'notes' }), allow: true }))
      .addEdge(START, 'write')
      .addEdge('write', END)
      .compile({ store: createMemoryStore(), blobs, models });
    const { status, state } = await app.invoke({});
    expect(status).toBe('completed');
    const { 'notes/a.txt': file } = state.artifacts.notes as { readonly 'notes/a.txt': FileRef };
    expect(new TextDecoder().decode(await blobs.get('default', file.hash))).toBe(large);
    expect(keys().length).toBeGreaterThanOrEqual(1);
    expect(keys().every((key) => key.startsWith('cairn/default/blobs/'))).toBe(true);
    await app.engine.close();
  });
});

test('P6 options that cannot be right are refused, all at once', () => {
  const client = { send: () => Promise.resolve() };
  expect(() => createS3Blobs({ bucket: 'a/b', prefix: 'ä', region: 'r', client, partBytes: 1 })).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/bucket.*prefix.*client.*partBytes/s) as string,
    }),
  );
});

/** All orders of so many turns of two. */
function orders(first: number, second: number): readonly (readonly (0 | 1)[])[] {
  if (first + second === 0) return [[]];
  return [
    ...(first > 0 ? orders(first - 1, second).map((rest) => [0, ...rest] as const) : []),
    ...(second > 0 ? orders(first, second - 1).map((rest) => [1, ...rest] as const) : []),
  ];
}

/** Lets two go on in a given order. When the order is used up, or one has ended, whoever is left goes on. */
class Turns {
  readonly #order: (0 | 1)[];
  readonly #waiting: ((() => void) | undefined)[] = [undefined, undefined];
  readonly #ended = [false, false];

  constructor(order: readonly (0 | 1)[]) {
    this.#order = [...order];
  }

  /** Waits until it is this one's turn. What it then does has been done when it asks again, or ends. */
  take(who: 0 | 1): Promise<void> {
    const turn = new Promise<void>((resolve) => (this.#waiting[who] = resolve));
    this.#next();
    return turn;
  }

  async run<Result>(who: 0 | 1, act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } finally {
      this.#ended[who] = true;
      this.#next();
    }
  }

  #next(): void {
    // Nobody goes on while the other one is at work.
    if (![0, 1].every((who) => this.#ended[who] || this.#waiting[who])) return;
    while (this.#order[0] !== undefined && this.#ended[this.#order[0]]) this.#order.shift();
    const chosen = this.#order.shift() ?? (this.#waiting[1] ? 1 : 0);
    const go = this.#waiting[chosen];
    this.#waiting[chosen] = undefined;
    go?.();
  }
}

/** Passes requests on, and breaks off each answer after so many bytes of its body. */
/** What a server answers to everything, with 200. */
interface Answer {
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isChunked?: boolean;
  readonly breaksOff?: boolean;
}

async function startAnswering({ body, headers, isChunked, breaksOff }: Answer): Promise<{
  endpoint: string;
  stop: () => Promise<void>;
}> {
  const answering = createServer((incoming, outgoing) => {
    incoming.resume();
    const length = isChunked === true ? {} : { 'content-length': breaksOff === true ? body.length + 2 : body.length };
    outgoing.writeHead(200, { 'content-type': 'text/html', ...length, ...headers });
    if (breaksOff === true) outgoing.write(body, () => outgoing.destroy());
    else outgoing.end(body);
  });
  await new Promise<void>((resolve) => answering.listen(0, '127.0.0.1', resolve));
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      answering.closeAllConnections();
      answering.close(() => resolve());
    });
  return { endpoint: `http://127.0.0.1:${(answering.address() as AddressInfo).port}`, stop };
}

async function startBreakingProxy(
  target: string,
  bytesMax: number,
): Promise<{ endpoint: string; ranges: (string | undefined)[]; stop: () => Promise<void> }> {
  const ranges: (string | undefined)[] = [];
  const proxy = createServer((incoming, outgoing) => {
    ranges.push(incoming.headers.range);
    const onward = request(target + incoming.url, { method: incoming.method, headers: incoming.headers });
    onward.on('response', (answer: IncomingMessage) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      let sent = 0;
      answer.on('data', (piece: Buffer) => {
        if (sent >= bytesMax) return;
        outgoing.write(piece.subarray(0, bytesMax - sent), () => sent >= bytesMax && outgoing.destroy());
        sent += piece.length;
      });
      answer.on('end', () => sent < bytesMax && outgoing.end());
    });
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    ranges,
    stop: () =>
      new Promise((resolve) => {
        proxy.closeAllConnections();
        proxy.close(() => resolve());
      }),
  };
}
