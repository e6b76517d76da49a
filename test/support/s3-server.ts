/** A server that speaks the protocol of S3, on loopback, with its objects in a folder. */
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3Client } from '@aws-sdk/client-s3';

/** The parts of the package's server that are used. It brings no types. */
interface Server {
  readonly store: {
    listObjects(bucket: string, options: object): Promise<{ isTruncated: boolean }>;
    copyObject(from: string, fromKey: string, to: string, toKey: string, metadata: unknown): Promise<unknown>;
    getResourcePath(bucket: string, key: string, resource: string): string;
    getMetadata(bucket: string, key: string): Promise<unknown>;
  };
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
}

export interface S3UnderTest {
  readonly endpoint: string;
  readonly bucket: string;
  /** The folder of the bucket: a file for each object, and some for the server itself. */
  readonly folder: string;
  /** A client of its own, with credentials that the server knows. */
  readonly client: () => S3Client;
  /** Makes all objects older by this many milliseconds. */
  readonly advance: (byMs: number) => void;
  /** Removes all objects. */
  readonly empty: () => void;
  readonly stop: () => Promise<void>;
}

/** Makes all objects in the folder of a bucket older. */
export function makeOlder(folder: string, byMs: number): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile()) utimesSync(file, new Date(), new Date(statSync(file).mtimeMs - byMs));
  }
}

/** @returns why there is none, where the package does not run on this version of Node */
export async function startS3(): Promise<S3UnderTest | string> {
  const packageName = '@20minutes/s3rver';
  const bucket = 'runs';
  const directory = mkdtempSync(join(tmpdir(), 'cairn-s3-'));
  let server: Server;
  try {
    const { default: S3rver } = (await import(packageName)) as { default: new (options: object) => Server };
    server = new S3rver({
      address: '127.0.0.1',
      port: 0,
      silent: true,
      // It does not compute all signatures of today's SDK as S3 does.
      allowMismatchedSignatures: true,
      directory,
      configureBuckets: [{ name: bucket }],
    });
  } catch (error) {
    return `${packageName} does not run here: ${String(error)}`;
  }
  // In S3 an object that is copied onto itself is a new one; this server leaves its file as it is.
  const { store } = server;
  const copy = store.copyObject.bind(store);
  store.copyObject = async (...args) => {
    const [, , to, toKey] = args;
    await copy(...args);
    utimesSync(store.getResourcePath(to, toKey, 'object'), new Date(), new Date());
    return store.getMetadata(to, toKey);
  };
  // Its token for the next page needs a cipher that OpenSSL has no more. It asks twice whether there is more: for the token, and to say so.
  const list = store.listObjects.bind(store);
  store.listObjects = async (...args) => {
    const found = await list(...args);
    const answers = [false, found.isTruncated];
    return Object.defineProperty({ ...found }, 'isTruncated', { get: () => answers.shift() });
  };
  const { port } = await server.run();
  const endpoint = `http://127.0.0.1:${port}`;
  const folder = join(directory, bucket);
  return {
    endpoint,
    bucket,
    folder,
    client: () =>
      new S3Client({
        region: 'us-east-1',
        endpoint,
        forcePathStyle: true,
        requestChecksumCalculation: 'WHEN_REQUIRED',
        responseChecksumValidation: 'WHEN_REQUIRED',
        credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
      }),
    advance: (byMs) => makeOlder(folder, byMs),
    empty: () => readdirSync(folder).forEach((name) => rmSync(join(folder, name), { recursive: true })),
    stop: async () => {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
