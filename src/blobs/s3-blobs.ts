/**
 * Blobs in a bucket of S3, or of a server that speaks its protocol: `PREFIX/TENANT/blobs/HASH`. A blob's age is its object's
 * `LastModified`.
 *
 * S3 cannot delete an object on the condition that it is still old. So whoever removes a blob first leaves a mark at
 * `PREFIX/TENANT/removing/HASH/ID`, looks at the age once more, deletes the blob, and then the mark. Whoever puts a blob looks for marks
 * afterwards: as S3 shows what was written to everyone at once, either the remover sees that the blob is young, or the mark is seen here;
 * then the put waits for the removal to end, and is done again.
 */
import type * as S3 from '@aws-sdk/client-s3';
import { CairnError } from '../errors.ts';
import { importPeer } from '../optional-peers.ts';
import type { BlobOwner, BlobPage, BlobRange, BlobStore } from '../ports/blobs.ts';
import type { Store } from '../ports/store.ts';
import { hashBlob, isBlobHash, tenantFolder } from './blob-hash.ts';

/** Where blobs are stored, and how they are reached. */
export interface S3BlobsOptions {
  readonly bucket: string;
  /** What all keys begin with; a slash follows it. Default: nothing. */
  readonly prefix?: string;
  /** Default: what the SDK finds, such as `AWS_REGION`. */
  readonly region?: string;
  /** URL of a server other than Amazon's. The bucket is then part of the path. */
  readonly endpoint?: string;
  /** An `S3Client` of your own, with its credentials and retries, in place of `region` and `endpoint`. Closing it is yours. */
  readonly client?: S3ClientLike;
  /**
   * Bytes of a part: larger blobs are sent in parts of this size, four at a time. Default, and the least that S3 takes: 8 MiB and 5 MiB.
   */
  readonly partBytes?: number;
}

/** The part of `S3Client` of `@aws-sdk/client-s3` that is used. */
export interface S3ClientLike {
  send(command: never, options?: never): Promise<unknown>;
}

type Sdk = typeof S3;
type Call<Result> = (client: S3.S3Client, sdk: Sdk) => Promise<Result>;

const leastPartBytes = 5 * 1024 ** 2;
const partsAtOnce = 4;
/** Blobs of at least this size are looked for before they are sent: what is there already need not be sent again. */
const lookedForFromBytes = 1024 ** 2;
const pageSize = 1_000;
/** How often a request is sent in all, and how often a read that breaks off goes on where it was. */
const attempts = 5;
/** A removal that takes longer is abandoned before it deletes; one whose mark is there for `markMs` has died. */
const removalMs = 20_000;
const markMs = 60_000;
const pollMs = 250;
/** For how long it holds that no other store has its blobs here: what another puts meanwhile is too young to be removed. */
const aloneMs = 3_600_000;
/** What remains of a process that died: marks, and uploads that did not end. */
const abandonedMs = 24 * 3_600_000;

/**
 * Makes a blob store over a bucket, with the package `@aws-sdk/client-s3`, which is loaded by the first call. Use it with any store:
 * `compile({ store, blobs: createS3Blobs({ bucket: 'runs' }) })`. The bucket must exist.
 *
 * @throws CONFIG_INVALID the options. Methods throw as the port says, and CONFIG_MISSING_PEER if the package is not installed.
 */
export function createS3Blobs(options: S3BlobsOptions): BlobStore {
  const faults = s3Faults(options);
  if (faults.length > 0)
    throw new CairnError('CONFIG_INVALID', { path: 'createS3Blobs', reason: faults.join('; '), faults });
  return new S3Blobs(options, s3Time);
}

const optionNames = Object.keys({
  bucket: true,
  prefix: true,
  region: true,
  endpoint: true,
  client: true,
  partBytes: true,
} satisfies Record<keyof S3BlobsOptions, true>);

/**
 * Whatever stands before a bucket, a portal or a proxy, may answer everything with a page of its own and 200. What S3 says in each of its
 * answers, an ETag or the name of the bucket, is not in those.
 */
function requireAnswer(sign: string | undefined, isWanted = true): void {
  if (sign === undefined || !isWanted) throw new Error('what answers does not answer as S3 does');
}

/** What is wrong with options, one text each. */
export function s3Faults(options: S3BlobsOptions): readonly string[] {
  const { bucket, prefix = '', client, region, endpoint, partBytes = leastPartBytes } = options;
  const unknown = Object.keys(options).filter((key) => !optionNames.includes(key));
  return [
    ...unknown.map((key) => `${key} is not known; known are ${optionNames.join(', ')}`),
    ...(typeof bucket === 'string' && /^[\w.-]{3,255}$/u.test(bucket) ? [] : ['bucket is no name of a bucket']),
    ...(/^[\w.\-/!*'()]{0,512}$/u.test(prefix) ? [] : ["prefix has other signs than letters, digits and /!-_.*'()"]),
    ...(client !== undefined && (region ?? endpoint) !== undefined
      ? ['client has a region and an endpoint already']
      : []),
    ...(Number.isSafeInteger(partBytes) && partBytes >= leastPartBytes
      ? []
      : [`partBytes is at least ${leastPartBytes}`]),
  ];
}

/** Time, as a test may have it. */
export interface S3Time {
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}

const s3Time: S3Time = { now: Date.now, wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) };

/** A store, as far as its blobs are marked as its own. */
type BlobsOwner = Pick<Store, 'readIdentity'>;

export class S3Blobs implements BlobStore {
  readonly name: string;
  readonly #options: S3BlobsOptions;
  readonly #root: string;
  readonly #time: S3Time;
  /** Some servers cannot list uploads that did not end. There a rule of the bucket has to end them. */
  #listsUploads = true;
  /** The look whether the bucket is there, made once: a missing object alone does not tell. */
  #bucketFound: Promise<void> | undefined;
  /** The stores whose blobs these are. */
  readonly #owners = new Set<BlobsOwner>();
  /** Their marks, written once for each tenant. */
  readonly #ownersMarked = new Map<string, Promise<void>>();
  /** When no other store's mark was seen, for each tenant. */
  readonly #aloneAt = new Map<string, number>();
  #opened: Promise<{ readonly client: S3.S3Client; readonly sdk: Sdk }> | undefined;

  constructor(options: S3BlobsOptions, time: S3Time) {
    const prefix = (options.prefix ?? '').replace(/^\/+|\/+$/gu, '');
    this.name = `s3://${options.bucket}${prefix && `/${prefix}`}`;
    this.#options = options;
    this.#root = prefix && `${prefix}/`;
    this.#time = time;
  }

  /**
   * Says whose blobs these are. A clean-up removes what no run of its store refers to, so one prefix for two stores would cost each the blobs
   * of the other. So each store marks where it puts blobs, at `PREFIX/TENANT/stores/`, by the hash of its identity, and where others have,
   * nothing is removed. A copy has the identity of its original, and is not noticed.
   */
  belongTo(store: BlobsOwner): void {
    this.#owners.add(store);
  }

  /** Marks what is a tenant's as these stores' own, before its first blob is written; after a failure it is tried again. */
  #markOwners(tenant: string): Promise<void> {
    const marking = this.#ownersMarked.get(tenant) ?? this.#putMarks(tenant);
    this.#ownersMarked.set(tenant, marking);
    return marking.catch((error: unknown) => {
      this.#ownersMarked.delete(tenant);
      throw error;
    });
  }

  async #putMarks(tenant: string): Promise<void> {
    for (const Key of await this.#ownerKeys(tenant))
      await this.#call((client, sdk) =>
        client.send(new sdk.PutObjectCommand({ Bucket: this.#options.bucket, Key, Body: new Uint8Array() })),
      );
  }

  /** Stores in memory have no identity, and no mark. */
  async #ownerKeys(tenant: string): Promise<readonly string[]> {
    const identities = await Promise.all(Array.from(this.#owners, (owner) => owner.readIdentity()));
    const folder = this.#folderOf(tenant, 'stores');
    return identities.filter((identity) => identity !== '').map((identity) => folder + hashBlob(Buffer.from(identity)));
  }

  /** Whether no store but one has blobs here. */
  async #isAlone(tenant: string): Promise<boolean> {
    if (this.#owners.size === 0 || this.#time.now() - (this.#aloneAt.get(tenant) ?? -Infinity) < aloneMs) return true;
    const own = await this.#ownerKeys(tenant);
    const { Contents = [] } = await this.#list({ Prefix: this.#folderOf(tenant, 'stores') });
    const foreign = Contents.find(({ Key = '' }) => Key !== own[0])?.Key;
    if (foreign === undefined) this.#aloneAt.set(tenant, this.#time.now());
    else
      process.emitWarning(
        `${this.name} has blobs of more than one store, and nothing is removed there: give each a prefix of its own. If the other is no more, remove the object ${foreign}`,
        { code: 'CAIRN_SHARED_BUCKET' },
      );
    return foreign === undefined;
  }

  async put({ tenant }: BlobOwner, content: Uint8Array): Promise<string> {
    const bytes = new Uint8Array(content);
    const hash = hashBlob(bytes);
    if (bytes.length >= lookedForFromBytes && (await this.#sizeOf(tenant, hash)) === bytes.length)
      if (await this.touch(tenant, hash)) return hash;
    const Key = this.#keyOf(tenant, hash);
    await this.#whileNotRemoved(tenant, hash, async () => {
      if (bytes.length > this.#partBytes) await this.#putInParts(Key, bytes);
      else
        await this.#call(async (client, sdk) => {
          const { ETag } = await client.send(
            new sdk.PutObjectCommand({ Bucket: this.#options.bucket, Key, Body: bytes }),
          );
          requireAnswer(ETag);
        });
      return true;
    });
    return hash;
  }

  async get(tenant: string, hash: string, range?: BlobRange): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.stream(tenant, hash, range)) pieces.push(piece);
    return new Uint8Array(Buffer.concat(pieces));
  }

  /** A read that breaks off goes on where it was. */
  async *stream(
    tenant: string,
    hash: string,
    { offset = 0, length = Infinity }: BlobRange = {},
  ): AsyncGenerator<Uint8Array> {
    const end = offset + length;
    if (!isBlobHash(hash) || (length === 0 && !(await this.has(tenant, hash))))
      throw new CairnError('BLOB_NOT_FOUND', { hash, store: this.name });
    const sum = process.getBuiltinModule('node:crypto').createHash('sha256');
    let [at, sizeBytes] = [offset, Infinity];
    for (let failed = 0; at < Math.min(end, sizeBytes);) {
      const part = await this.#open(tenant, hash, at, end);
      if (part === undefined) return;
      // Of an answer that does not tell its length the end is the end.
      sizeBytes = part.sizeBytes ?? Infinity;
      try {
        for await (const read of part.body) {
          const piece = read.subarray(0, end - at);
          sum.update(piece);
          at += piece.length;
          if (piece.length > 0) yield new Uint8Array(piece);
        }
        if (part.sizeBytes === undefined) sizeBytes = at;
        if (at < Math.min(end, sizeBytes)) throw new Error(`it ended after ${at} bytes of ${sizeBytes}`);
      } catch (error) {
        if ((failed += 1) >= attempts) throw this.#fault(error);
      }
    }
    const isWhole = offset === 0 && at === sizeBytes;
    if (isWhole && sum.digest('hex') !== hash) throw new CairnError('BLOB_CORRUPT', { hash });
  }

  /** A blob's bytes from `at` on; undefined if there are none. @throws BLOB_NOT_FOUND */
  async #open(
    tenant: string,
    hash: string,
    at: number,
    end: number,
  ): Promise<{ readonly sizeBytes: number | undefined; readonly body: AsyncIterable<Uint8Array> } | undefined> {
    const Range = at === 0 && end === Infinity ? undefined : `bytes=${at}-${end === Infinity ? '' : end - 1}`;
    try {
      const found = await this.#call(async (client, sdk) => {
        const answer = await client.send(
          new sdk.GetObjectCommand({
            Bucket: this.#options.bucket,
            Key: this.#keyOf(tenant, hash),
            ...(Range !== undefined && { Range }),
          }),
        );
        // A part is held against no hash, so it must at least be that part.
        requireAnswer(answer.ETag, Range === undefined || answer.ContentRange?.startsWith(`bytes ${at}-`) === true);
        return answer;
      });
      const size = Number(found.ContentRange?.split('/')[1] ?? found.ContentLength);
      const body = found.Body as unknown as AsyncIterable<Uint8Array>;
      return { sizeBytes: Number.isNaN(size) ? undefined : size, body };
    } catch (error) {
      if (isMissing(error)) throw new CairnError('BLOB_NOT_FOUND', { hash, store: this.name }, { cause: error });
      if (statusOf(error) === 416) return undefined;
      throw error;
    }
  }

  async has(tenant: string, hash: string): Promise<boolean> {
    return (await this.#sizeOf(tenant, hash)) !== undefined;
  }

  /** A copy of the object onto itself is a new one. */
  async touch(tenant: string, hash: string): Promise<boolean> {
    if (!isBlobHash(hash)) return false;
    const { bucket } = this.#options;
    const Key = this.#keyOf(tenant, hash);
    const CopySource = `${bucket}/${Key}`.split('/').map(encodeURIComponent).join('/');
    return this.#whileNotRemoved(tenant, hash, () =>
      this.#ifThere((client, sdk) =>
        client.send(new sdk.CopyObjectCommand({ Bucket: bucket, Key, CopySource, MetadataDirective: 'REPLACE' })),
      ),
    );
  }

  async sweep(
    tenant: string,
    { limit = pageSize, cursor = '' }: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<BlobPage> {
    const Prefix = this.#keyOf(tenant, '');
    if (cursor === '') await this.#tidy(tenant);
    const found = await this.#list({
      Prefix,
      MaxKeys: Math.min(limit, pageSize),
      ...(cursor !== '' && { StartAfter: Prefix + cursor }),
    });
    const rows = (found.Contents ?? [])
      .map(({ Key = '', LastModified }) => ({ hash: Key.slice(Prefix.length), ageMs: this.#ageOf(LastModified) }))
      .filter(({ hash }) => isBlobHash(hash));
    const last = found.IsTruncated === true ? found.Contents?.at(-1)?.Key?.slice(Prefix.length) : undefined;
    return { rows, ...(last !== undefined && { cursor: last }) };
  }

  async remove(tenant: string, hash: string, olderThanMs: number): Promise<boolean> {
    const isOld = async (): Promise<boolean> => {
      const found = await this.#head(tenant, hash);
      return found !== undefined && this.#ageOf(found.LastModified) > olderThanMs;
    };
    if (!(await isOld()) || !(await this.#isAlone(tenant))) return false;
    const began = this.#time.now();
    const mark = this.#markOf(tenant, hash) + process.getBuiltinModule('node:crypto').randomUUID();
    await this.#call((client, sdk) =>
      client.send(new sdk.PutObjectCommand({ Bucket: this.#options.bucket, Key: mark, Body: new Uint8Array() })),
    );
    const isRemoved = (await isOld()) && this.#time.now() - began < removalMs;
    // If this fails, it may still happen: the mark stays.
    if (isRemoved) await this.#delete(this.#keyOf(tenant, hash));
    await this.#delete(mark);
    return isRemoved;
  }

  /** Writes a blob, and makes sure that no removal under way takes it away. @returns what `write` said */
  async #whileNotRemoved(tenant: string, hash: string, write: () => Promise<boolean>): Promise<boolean> {
    const Prefix = this.#markOf(tenant, hash);
    const marks = async (): Promise<readonly string[]> =>
      ((await this.#list({ Prefix })).Contents ?? []).flatMap(({ Key }) => Key ?? []);
    await this.#markOwners(tenant);
    for (let round = 0; round < attempts; round += 1) {
      if (!(await write())) return false;
      let found = await marks();
      // In this order: when no mark is there any more, whoever wrote one has ended, and what is there stays.
      if (found.length === 0 && (await this.has(tenant, hash))) return true;
      for (let waited = 0; found.length > 0 && waited < markMs; waited += pollMs) {
        await this.#time.wait(pollMs);
        found = await marks();
      }
      for (const mark of found) await this.#delete(mark);
    }
    throw new CairnError('STORE_UNAVAILABLE', { store: this.name, reason: `others remove the blob ${hash} each time` });
  }

  async #putInParts(Key: string, bytes: Uint8Array): Promise<void> {
    const Bucket = this.#options.bucket;
    const size = this.#partBytes;
    const { UploadId } = await this.#call((client, sdk) =>
      client.send(new sdk.CreateMultipartUploadCommand({ Bucket, Key })),
    );
    const parts: S3.CompletedPart[] = [];
    let next = 0;
    const sendParts = async (): Promise<void> => {
      for (let no = next++; no * size < bytes.length; no = next++) {
        const Body = bytes.subarray(no * size, (no + 1) * size);
        const PartNumber = no + 1;
        const { ETag } = await this.#call((client, sdk) =>
          client.send(new sdk.UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body })),
        );
        parts[no] = { PartNumber, ETag };
      }
    };
    try {
      await Promise.all(Array.from({ length: partsAtOnce }, sendParts));
      await this.#call((client, sdk) =>
        client.send(
          new sdk.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts: parts } }),
        ),
      );
    } catch (error) {
      next = Infinity;
      // What could not be taken back is tidied up by a sweep.
      await this.#call((client, sdk) =>
        client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })),
      ).catch(() => undefined);
      throw error;
    }
  }

  /** Removes what dead processes did not finish. */
  async #tidy(tenant: string): Promise<void> {
    const Bucket = this.#options.bucket;
    const { Contents = [] } = await this.#list({ Prefix: this.#folderOf(tenant, 'removing') });
    for (const { Key = '', LastModified } of Contents)
      if (this.#ageOf(LastModified) > abandonedMs) await this.#delete(Key);
    if (!this.#listsUploads) return;
    const Prefix = this.#keyOf(tenant, '');
    const uploads = await this.#call((client, sdk) =>
      client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix })),
    ).catch((error: unknown) => {
      if (![405, 501].includes(statusOf(error))) throw error;
      this.#listsUploads = false;
      return undefined;
    });
    for (const { Key, UploadId, Initiated } of uploads?.Uploads ?? [])
      if (this.#ageOf(Initiated) > abandonedMs)
        await this.#ifThere((client, sdk) =>
          client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })),
        );
  }

  get #partBytes(): number {
    return this.#options.partBytes ?? 8 * 1024 ** 2;
  }

  #folderOf(tenant: string, folder: 'blobs' | 'removing' | 'stores'): string {
    return `${this.#root}${tenantFolder(tenant)}/${folder}/`;
  }

  #keyOf(tenant: string, hash: string): string {
    return this.#folderOf(tenant, 'blobs') + hash;
  }

  #markOf(tenant: string, hash: string): string {
    return `${this.#folderOf(tenant, 'removing')}${hash}/`;
  }

  #ageOf(at: Date | undefined): number {
    return at === undefined ? 0 : this.#time.now() - at.getTime();
  }

  async #sizeOf(tenant: string, hash: string): Promise<number | undefined> {
    return (await this.#head(tenant, hash))?.ContentLength;
  }

  async #head(tenant: string, hash: string): Promise<S3.HeadObjectCommandOutput | undefined> {
    if (!isBlobHash(hash)) return undefined;
    const Key = this.#keyOf(tenant, hash);
    try {
      return await this.#call(async (client, sdk) => {
        const found = await client.send(new sdk.HeadObjectCommand({ Bucket: this.#options.bucket, Key }));
        requireAnswer(found.ETag);
        return found;
      });
    } catch (error) {
      if (!isMissing(error)) throw error;
      await (this.#bucketFound ??= this.#findBucket());
      return undefined;
    }
  }

  /** The answer to HEAD has no body that says whether it is the object that is not there, or its bucket. @throws STORE_UNAVAILABLE */
  async #findBucket(): Promise<void> {
    const Bucket = this.#options.bucket;
    await this.#call((client, sdk) => client.send(new sdk.HeadBucketCommand({ Bucket }))).catch((error: unknown) => {
      this.#bucketFound = undefined;
      if (statusOf(error) !== 404) throw error;
      const [reason, hint] = ['there is no such bucket', 'Make it, or name another.'];
      throw new CairnError('STORE_UNAVAILABLE', { store: this.name, reason, hint }, { cause: error });
    });
  }

  #list(query: Omit<S3.ListObjectsV2CommandInput, 'Bucket'>): Promise<S3.ListObjectsV2CommandOutput> {
    return this.#call(async (client, sdk) => {
      const found = await client.send(new sdk.ListObjectsV2Command({ Bucket: this.#options.bucket, ...query }));
      requireAnswer(found.Name);
      return found;
    });
  }

  async #delete(Key: string): Promise<void> {
    await this.#call((client, sdk) =>
      client.send(new sdk.DeleteObjectCommand({ Bucket: this.#options.bucket, Key }), {
        abortSignal: AbortSignal.timeout(removalMs),
      }),
    );
  }

  /** Makes a call. @returns whether the object that it is about is there */
  async #ifThere(call: Call<unknown>): Promise<boolean> {
    try {
      await this.#call(call);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** Makes a call to S3. @throws STORE_* whose cause is the error of the SDK */
  async #call<Result>(call: Call<Result>): Promise<Result> {
    const { client, sdk } = await (this.#opened ??= this.#connect());
    try {
      return await call(client, sdk);
    } catch (error) {
      throw this.#fault(error);
    }
  }

  async #connect(): Promise<{ readonly client: S3.S3Client; readonly sdk: Sdk }> {
    const sdk = await importPeer<Sdk>('@aws-sdk/client-s3');
    const { client, region, endpoint } = this.#options;
    // Checksums of the SDK's own are omitted: not every server knows them, and blobs are named by a better one.
    const made = (): S3.S3Client =>
      new sdk.S3Client({
        maxAttempts: attempts,
        requestChecksumCalculation: 'WHEN_REQUIRED',
        responseChecksumValidation: 'WHEN_REQUIRED',
        ...(region !== undefined && { region }),
        ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
      });
    return { sdk, client: (client as S3.S3Client | undefined) ?? made() };
  }

  #fault(error: unknown): CairnError {
    if (CairnError.is(error)) return error;
    const { name, message } = error as Error;
    const code = statusOf(error) === 507 || name === 'QuotaExceeded' ? 'STORE_FULL' : 'STORE_UNAVAILABLE';
    // What has no body is unknown to the SDK.
    const reason = message === 'UnknownError' ? `the server answers ${statusOf(error)}` : `${name}: ${message}`;
    const [, hint] = faultHints.find(([pattern]) => pattern.test(reason)) ?? [];
    return new CairnError(code, { store: this.name, reason, ...(hint !== undefined && { hint }) }, { cause: error });
  }
}

/** What to do, by what was said. */
const faultHints: readonly (readonly [RegExp, string])[] = [
  [/Region is missing/u, 'Set AWS_REGION, or name it: region as an option, ?region= in a URL.'],
  [
    /Credential|AccessKey|Signature/u,
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give a role.',
  ],
  [/answers 403|AccessDenied/u, 'Let the credentials that are used read and write the bucket, and list it.'],
  [/NoSuchBucket/u, 'Make the bucket, or name another.'],
];

/** The answer of S3 to what failed; 0 if there was none. */
function statusOf(error: unknown): number {
  const cause = CairnError.is(error) ? error.cause : error;
  const { $metadata } = (cause ?? {}) as { readonly $metadata?: { readonly httpStatusCode?: number } };
  return $metadata?.httpStatusCode ?? 0;
}

/** Whether the object is not there. A bucket that is not there is another matter, where S3 says which. */
function isMissing(error: unknown): boolean {
  const { name } = ((CairnError.is(error) ? error.cause : error) ?? {}) as { readonly name?: unknown };
  return statusOf(error) === 404 && name !== 'NoSuchBucket';
}
