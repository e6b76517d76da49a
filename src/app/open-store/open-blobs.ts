/**
 * The blobs of a store: beside it, unless a setting says where else. Every door opens them here, so that large values that one of them wrote
 * are found by all others.
 */
import { resolve } from 'node:path';
import { createFileBlobs } from '../../blobs/file-blobs.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { createS3Blobs, S3Blobs, s3Faults, type S3BlobsOptions } from '../../blobs/s3-blobs.ts';
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Store } from '../../ports/store.ts';
import { kindNamed, type StorePlace } from './store-kinds.ts';
import { parseStoreUrl } from './store-url.ts';

/** Where blobs are, if not beside the store: a blob store, or the URL of one, `s3://BUCKET/PREFIX` or `file:FOLDER`. */
export type BlobsSetting = BlobStore | string;

function refuse(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { path: 'blobs', reason });
}

const known: readonly string[] = ['region', 'endpoint'] satisfies readonly (keyof S3BlobsOptions)[];

/** What a URL of blobs may not hold: it stands in command lines, histories of shells and logs. */
function refuseCredentials(text: string): void {
  if (/^[^?#]*@/u.test(text))
    refuse(
      'its URL holds credentials, or a @; they are taken from the environment (AWS_ACCESS_KEY_ID), a profile or a role, and never from a URL',
    );
}

/** The text itself is in no message: who mistypes it may have put a secret into it. */
function parseUrl(text: string, what: string): URL {
  refuseCredentials(text);
  const url = URL.parse(text);
  return url ?? refuse(`${what} is no URL`);
}

/** @throws CONFIG_INVALID */
function parseBucketUrl(text: string): S3BlobsOptions {
  const { hostname, port, pathname, searchParams, hash } = parseUrl(text, 'what follows s3:');
  const names = [...searchParams.keys()];
  const unknown = names.filter((name) => !known.includes(name));
  if (hostname === '' || port !== '' || hash !== '') refuse('a bucket is named s3://BUCKET/PREFIX');
  if (unknown.length > 0) refuse(`${unknown.join(', ')} is not known in its URL; known are ${known.join(' and ')}`);
  if (new Set(names).size < names.length || searchParams.get('region') === '')
    refuse('its URL says something twice, or nothing for the region');
  const [region, endpoint] = [searchParams.get('region'), searchParams.get('endpoint')];
  if (endpoint !== null && !/^https?:$/u.test(parseUrl(endpoint, 'endpoint').protocol))
    refuse('endpoint is the URL of a server: https://HOST');
  const prefix = pathname.replace(/^\/|\/$/gu, '');
  return {
    bucket: hostname,
    ...(prefix !== '' && { prefix }),
    ...(region !== null && { region }),
    ...(endpoint !== null && { endpoint }),
  };
}

/**
 * Opens the blobs of a URL. Nothing is connected to before the first call.
 * @param url - `s3://BUCKET/PREFIX`, with `?region=` and `?endpoint=`, the URL of a server other than Amazon's; or `file:FOLDER`
 * @throws CONFIG_INVALID it is of another form, or holds credentials
 */
function openUrl(url: string, cwd: string): BlobStore {
  const [, scheme, rest = ''] = /^(?:([a-z][a-z0-9+]+):)?(.*)$/su.exec(url) ?? [];
  if (scheme === 's3') {
    const options = parseBucketUrl(url);
    const faults = s3Faults(options);
    if (faults.length > 0) refuse(faults.join('; '));
    return createS3Blobs(options);
  }
  const folder = rest.replace(/^\/\/(?=\/)/u, '');
  if (scheme !== 'file' || folder === '' || folder.includes('\0'))
    refuse('blobs are in a bucket, s3://BUCKET/PREFIX, or in a folder, file:FOLDER');
  return createFileBlobs(resolve(cwd, folder));
}

/** Blobs of stores in memory. Engines over the same store share them. */
const blobsInMemory = new WeakMap<Store, BlobStore>();

function blobsBeside(store: Store): BlobStore {
  if (store.blobs !== undefined) return store.blobs;
  if (store.capabilities.durability === 'none') {
    const blobs = blobsInMemory.get(store) ?? createMemoryBlobs();
    blobsInMemory.set(store, blobs);
    return blobs;
  }
  const [, scheme] = /^([^:]+):/u.exec(store.name) ?? [];
  const place = kindNamed(scheme) && parseStoreUrl(store.name, process.cwd());
  return place !== undefined && 'blobs' in place
    ? createFileBlobs(place.blobs)
    : refuse(`a blob store is needed beside the store ${store.name}`);
}

/** The blobs that a setting names, if there is one. Nothing is connected to. @throws CONFIG_INVALID */
export function openBlobs(setting: BlobsSetting | undefined, cwd: string = process.cwd()): BlobStore | undefined {
  return typeof setting === 'string' ? openUrl(setting, cwd) : setting;
}

/**
 * The blobs of a store: those of the setting; else the store's own, those beside a SQLite database or in a folder of runs, or some in memory.
 * Those live as long as the store, and every interface finds them at the same place.
 * @throws CONFIG_INVALID the setting; or there is none, and the store is of another kind
 */
export function blobsOf(store: Store, setting?: BlobsSetting): BlobStore {
  const blobs = openBlobs(setting) ?? blobsBeside(store);
  if (blobs instanceof S3Blobs) blobs.belongTo(store);
  return blobs;
}

/** The same for a store that is not open, or not yet there. @throws CONFIG_INVALID the setting */
export function blobsAt(place: Extract<StorePlace, { blobs: string }>, setting?: BlobsSetting): BlobStore {
  return openBlobs(setting) ?? createFileBlobs(place.blobs);
}

/**
 * The blobs that are named, else those of the configuration. They belong to its store: beside one that was named, nothing else is taken
 * for its blobs. As of stores, a configuration names those on this machine only.
 *
 * @throws CONFIG_INVALID
 */
export function chooseBlobs(
  named: { readonly storeUrl: string | undefined; readonly blobsUrl?: string | undefined },
  configured: string | undefined,
): string | undefined {
  const { storeUrl, blobsUrl } = named;
  if (blobsUrl !== undefined || storeUrl !== undefined || configured === undefined) return blobsUrl;
  return configured.startsWith('file:')
    ? configured
    : refuse(
        'a configuration names a folder of this machine only, file:FOLDER; name a bucket with --blobs or CAIRN_BLOBS',
      );
}
