/** The test suite that every blob store must pass (S2). */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { CairnError, type ErrorCode } from '../errors.ts';
import type { BlobStore } from '../ports/blobs.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

export interface BlobsUnderTest {
  /** An empty blob store. */
  readonly blobs: BlobStore;
  /** Advances the blob store's clock by this many milliseconds, so that blobs grow older. */
  readonly advance: (byMs: number) => void | Promise<void>;
  /** Called when the test has ended. */
  readonly dispose?: () => void | Promise<void>;
}

export interface BlobSuiteOptions {
  /** Registers one test; the `test` function of your test runner. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;
  readonly create: () => BlobsUnderTest | Promise<BlobsUnderTest>;
}

/** Registers the tests of the blob port. Titles begin with the rule they prove. */
export function blobSuite(options: BlobSuiteOptions): void {
  refuseUnknownKeys('blobSuite', options, ['test', 'create']);
  const { test, create } = options;
  for (const [title, run] of Object.entries(tests)) {
    test(title, async () => {
      const made = await create();
      try {
        await run(made);
      } finally {
        await made.dispose?.();
      }
    });
  }
}

const acme = { tenant: 'acme', runId: 'run' };
const day = 24 * 3_600_000;
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function collectPieces(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = [];
  for await (const piece of pieces) found.push(piece);
  return Buffer.concat(found);
}

/** All hashes of a tenant, page by page. */
async function hashesOf(blobs: BlobStore, tenant: string, limit?: number): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await blobs.sweep(tenant, { ...(limit && { limit }), ...(cursor !== undefined && { cursor }) });
    found.push(...page.rows.map(({ hash }) => hash));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

async function expectCode(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => CairnError.is(error, code));
}

const tests: Readonly<Record<string, (made: BlobsUnderTest) => Promise<void>>> = {
  'C5 a blob is stored under its sha-256 and comes back as it was': async ({ blobs }) => {
    const every = Uint8Array.from({ length: 256 }, (_, index) => index);
    for (const bytes of [new Uint8Array(0), bytesOf('hello'), every, new Uint8Array(3_000_000).fill(7)]) {
      const hash = await blobs.put(acme, bytes);
      assert.equal(hash, hashOf(bytes));
      assert.equal(await blobs.has('acme', hash), true);
      assert.equal(Buffer.compare(await blobs.get('acme', hash), bytes), 0);
    }
  },

  'C5 the same bytes put again are one blob': async ({ blobs, advance }) => {
    const hashes = await Promise.all([1, 2, 3, 4].map(() => blobs.put(acme, bytesOf('same'))));
    assert.deepEqual(new Set(hashes), new Set([hashOf(bytesOf('same'))]));
    await advance(2 * day);
    assert.deepEqual(await hashesOf(blobs, 'acme'), [hashes[0]]);
    assert.equal(await blobs.remove('acme', hashes[0] ?? '', day), true);
  },

  'C5 a blob that is not there is BLOB_NOT_FOUND, whatever it is asked by': async ({ blobs }) => {
    for (const hash of [hashOf(bytesOf('none')), '', '../../etc/passwd', 'F'.repeat(64), 'nul\0']) {
      await expectCode(blobs.get('acme', hash), 'BLOB_NOT_FOUND');
      assert.equal(await blobs.has('acme', hash), false);
    }
  },

  'S2 a hash is not enough to reach the blob of another tenant': async ({ blobs, advance }) => {
    const tenants = ['acme', 'ACME', 'other', '', '..', 'a/b', 'nul\0', '\u{1f600}', '~', 'x'.repeat(300)];
    for (const tenant of tenants) {
      const hash = await blobs.put({ tenant, runId: 'run' }, bytesOf(`of ${tenant}`));
      for (const other of tenants) assert.equal(await blobs.has(other, hash), other === tenant, `${other} ${tenant}`);
      await expectCode(blobs.get(`${tenant}!`, hash), 'BLOB_NOT_FOUND');
    }
    await advance(2 * day);
    const [mine, theirs] = [hashOf(bytesOf('of acme')), hashOf(bytesOf('of other'))];
    assert.equal(await blobs.remove('acme', theirs, day), false);
    assert.equal(await blobs.remove('acme', mine, day), true);
    assert.equal(await blobs.has('other', theirs), true);
    assert.deepEqual(await hashesOf(blobs, 'nobody'), []);
  },

  'C5 a blob is removed if it is old, and can be put again': async ({ blobs, advance }) => {
    const old = await blobs.put(acme, bytesOf('old'));
    await advance(2 * day);
    const young = await blobs.put(acme, bytesOf('young'));
    assert.equal(await blobs.remove('acme', young, day), false);
    assert.equal(await blobs.remove('acme', old, day), true);
    assert.equal(await blobs.remove('acme', old, day), false);
    assert.deepEqual(await Promise.all([old, young].map((hash) => blobs.has('acme', hash))), [false, true]);
    assert.equal(await blobs.put(acme, bytesOf('old')), old);
    assert.equal(Buffer.compare(await blobs.get('acme', old), bytesOf('old')), 0);
  },

  'C5 a sweep finds each blob once, in order of hash, with its age, whatever the pages': async ({ blobs, advance }) => {
    const old = await Promise.all(Array.from({ length: 9 }, (_, index) => blobs.put(acme, bytesOf(`old ${index}`))));
    await advance(2 * day);
    const large = await blobs.put(acme, new Uint8Array(100_000).fill(7));
    const all = [...old, large].sort();
    for (const limit of [1, 4, 10, 1_000]) assert.deepEqual(await hashesOf(blobs, 'acme', limit), all);
    const { rows } = await blobs.sweep('acme');
    for (const { hash, ageMs } of rows) assert.equal(ageMs > day, hash !== large, `${hash} is ${ageMs} ms old`);
  },

  'C5 a part of a blob is read, and all of it piece by piece, whatever its size': async ({ blobs }) => {
    const every = Uint8Array.from({ length: 300_000 }, (_, index) => index * (index >> 9));
    for (const bytes of [new Uint8Array(0), bytesOf('hello'), every, new Uint8Array(3_000_000).fill(7)]) {
      const hash = await blobs.put(acme, bytes);
      const ranges = [
        {},
        { offset: 3 },
        { length: 2 },
        { offset: 70_000, length: 9 },
        { offset: 1e9 },
        { length: 1e9 },
      ];
      for (const range of ranges) {
        const { offset = 0, length = bytes.length } = range;
        const expected = bytes.slice(offset, offset + length);
        assert.equal(Buffer.compare(await blobs.get('acme', hash, range), expected), 0);
        assert.equal(Buffer.compare(await collectPieces(blobs.stream('acme', hash, range)), expected), 0);
      }
    }
    await expectCode(collectPieces(blobs.stream('acme', hashOf(bytesOf('none')))), 'BLOB_NOT_FOUND');
  },

  'C5 a part of a blob is the same bytes wherever it begins and ends, also where a store cuts the blob': async ({
    blobs,
  }) => {
    const bytes = bytesOf(Array.from({ length: 300_000 }, (_, index) => `${index},`).join(''));
    const hash = await blobs.put(acme, bytes);
    for (const cut of [16, 64, 256, 512, 1_024, 1_792].map((kib) => kib * 1_024))
      for (const offset of [cut - 1, cut, cut + 1])
        for (const length of [1, 2, 70_000]) {
          const part = await blobs.get('acme', hash, { offset, length });
          assert.equal(Buffer.compare(part, bytes.subarray(offset, offset + length)), 0, `${offset} ${length}`);
        }
    const end = { offset: bytes.length - 2, length: 9 };
    assert.equal(Buffer.compare(await collectPieces(blobs.stream('acme', hash, end)), bytes.subarray(-2)), 0);
    assert.equal((await blobs.get('acme', hash, { offset: bytes.length })).length, 0);
  },

  'C5 a blob that is put again is young again': async ({ blobs, advance }) => {
    const hash = await blobs.put(acme, bytesOf('again'));
    await advance(2 * day);
    await blobs.put(acme, bytesOf('again'));
    assert.equal(await blobs.remove('acme', hash, day), false);
    assert.equal(await blobs.has('acme', hash), true);
  },

  'C5 a blob that is touched is young again; one that is not there cannot be': async ({ blobs, advance }) => {
    const hash = await blobs.put({ tenant: 'acme' }, bytesOf('again'));
    await advance(2 * day);
    assert.equal(await blobs.touch('acme', hash), true);
    assert.equal(await blobs.touch('other', hash), false);
    for (const none of [hashOf(bytesOf('none')), '../../etc/passwd'])
      assert.equal(await blobs.touch('acme', none), false);
    assert.equal(await blobs.remove('acme', hash, day), false);
    assert.equal(await blobs.has('acme', hash), true);
    await advance(2 * day);
    assert.equal(await blobs.remove('acme', hash, day), true);
  },

  'S2 bytes handed in and out are not shared': async ({ blobs }) => {
    const bytes = bytesOf('mine');
    const hash = await blobs.put(acme, bytes);
    bytes.fill(0);
    (await blobs.get('acme', hash)).fill(1);
    assert.equal(Buffer.compare(await blobs.get('acme', hash), bytesOf('mine')), 0);
  },
};
