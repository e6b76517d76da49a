/** The file node: reads, writes or appends to one file. */
import { CairnError } from '../errors.ts';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { basename, dirname } from 'node:path';
import {
  NodeFailure,
  type NodeContext,
  type Reconciliation,
  type StateView,
} from '../graph/contracts/node-contract.ts';
import { beforeEffect } from './draft/before-effect.ts';
import { describeConfig, resolveComputed, type Computed } from './draft/computed.ts';
import { confinePath, type ConfinedPath } from './file/local-path.ts';
import { describeFileError, holdFolder, requireGranted, readRegularFile, files } from './file/files.ts';
import { removeLeftovers, writeAtomically } from './file/write-atomically.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';

interface FilePlace<S extends StateView> {
  /** Path of the file, relative to `root`; without one, to the working directory. */
  readonly path: Computed<string, S>;
  /** A folder that the path must not leave, not even through symbolic links. */
  readonly root?: string;
}

export interface FileReadConfig<S extends StateView = StateView> extends FilePlace<S> {
  readonly action: 'read';
  /** Default `utf8`, which fails with `ENCODING` if the bytes are not valid UTF-8. */
  readonly encoding?: 'utf8' | 'bytes';
  /** The largest file that is read. Default 32 MiB. */
  readonly maxBytes?: number;
}

export interface FileWriteConfig<S extends StateView = StateView> extends FilePlace<S> {
  readonly action: 'write' | 'append';
  /** What to write. Text is encoded as UTF-8. */
  readonly content: Computed<string | Uint8Array, S>;
  /** File mode. Default: that of the existing file, else 0o666 minus the umask. */
  readonly mode?: number;
}

/** The output of a write or an append. */
export interface FileOutput {
  /** The path as the caller wrote it. */
  readonly path: string;
  /** Number of bytes written or appended. */
  readonly sizeBytes: number;
  /** SHA-256 of these bytes, as 64 hex digits. */
  readonly sha256: string;
}

/** Type of a file node's output: the content for a read, a {@link FileOutput} for a write or append. */
export type FileNodeOutput<Action, Encoding> = Action extends 'read'
  ? Encoding extends 'bytes'
    ? Uint8Array
    : string
  : FileOutput;

const readKeys = [
  'action',
  'path',
  'root',
  'encoding',
  'maxBytes',
] as const satisfies readonly (keyof FileReadConfig)[];
const writeKeys = ['action', 'path', 'root', 'content', 'mode'] as const satisfies readonly (keyof FileWriteConfig)[];

/**
 * Makes a node that works on a file.
 * - `read` has effect class `read`; the output is the file's content.
 * - `write` has class `write` and is atomic: the file is written completely or not changed. A write in doubt is settled by comparing the
 *   content.
 * - `append` has class `write`. If it is in doubt, a person is asked.
 *
 * Missing folders are created. Fails with `PATH_REFUSED`, `ENCODING`, `FILE_TOO_LARGE`, or the code of the operating system (`ENOENT`,
 * `EACCES`, `ENOSPC` …).
 */
export function fileNode<
  S extends StateView = StateView,
  Action extends 'read' | 'write' | 'append' = 'read' | 'write' | 'append',
  Encoding extends 'utf8' | 'bytes' = 'utf8',
>(
  config: { readonly action: Action; readonly encoding?: Encoding } & (FileReadConfig<S> | FileWriteConfig<S>),
  options: NodeOptions = {},
): NodeDraft<S, FileNodeOutput<Action, Encoding>> {
  checkConfig(config);
  const { config: own, data, codeText } = describeConfig(config as FileReadConfig | FileWriteConfig);
  const isRead = own.action === 'read';
  return draftNode(
    {
      type: 'file',
      effect: isRead ? 'read' : 'write',
      config: data,
      implementation: {
        run: (ctx) => (own.action === 'read' ? readWhole(ctx, own) : change(ctx, own)),
        codeText,
        ...(own.action === 'write' && {
          reconcile: ({ idempotencyKey, state }) => compareContent(idempotencyKey, state, own),
        }),
      },
    },
    options,
  );
}

function checkConfig(config: { readonly action: unknown; readonly path: unknown; readonly content?: unknown }): void {
  refuseUnknownKeys('fileNode', config, [...readKeys, ...writeKeys]);
  const { action, path, content } = config;
  if (action !== 'read' && action !== 'write' && action !== 'append')
    throw new CairnError('CONFIG_INVALID', { reason: "fileNode: action must be 'read', 'write' or 'append'" });
  refuseUnknownKeys('fileNode', config, action === 'read' ? readKeys : writeKeys);
  if (path === undefined) throw new CairnError('CONFIG_INVALID', { reason: 'fileNode: path is missing' });
  if (action !== 'read' && content === undefined)
    throw new CairnError('CONFIG_INVALID', { reason: 'fileNode: content is missing' });
}

async function readWhole({ state, signal }: NodeContext, config: FileReadConfig): Promise<string | Uint8Array> {
  const path = resolveComputed(config.path, state);
  const limitBytes = config.maxBytes ?? 32 * 1024 * 1024;
  const bytes = await readBounded(await confinePath(path, config.root), limitBytes, signal);
  if (config.encoding === 'bytes') return bytes;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new NodeFailure(`${String(path)} is no UTF-8: read it with encoding 'bytes'`, {
      code: 'ENCODING',
      data: { path: path },
    });
  }
}

async function readBounded(
  { path, isGranted }: ConfinedPath,
  limitBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  signal.throwIfAborted();
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  try {
    const file = await (await files()).open(path, 'r');
    try {
      await requireGranted(file, path, isGranted);
      // Reading one byte more than the limit shows that the file is too large. This also works for files of unknown size (pipes, /proc).
      for await (const chunk of file.createReadStream({ end: limitBytes, signal })) {
        chunks.push(chunk as Buffer);
        sizeBytes += (chunk as Buffer).length;
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof NodeFailure ? error : describeFileError(error, 'read', path, 'no');
  }
  if (sizeBytes > limitBytes)
    throw new NodeFailure(`${path} is over the limit of ${limitBytes} bytes`, {
      code: 'FILE_TOO_LARGE',
      data: { path, limitBytes },
    });
  return new Uint8Array(Buffer.concat(chunks));
}

async function change({ state, idempotencyKey, signal }: NodeContext, config: FileWriteConfig): Promise<FileOutput> {
  const { place, bytes, output } = await beforeEffect(() => readTarget(state, config));
  signal.throwIfAborted();
  if (config.action === 'append') await append(place, bytes, config.mode);
  else await writeAtomically({ ...place, bytes, mode: config.mode, key: idempotencyKey });
  return output;
}

async function readTarget(
  state: StateView,
  config: FileWriteConfig,
): Promise<{ place: ConfinedPath; bytes: Uint8Array; output: FileOutput }> {
  const path = resolveComputed(config.path, state);
  const content = resolveComputed(config.content, state);
  if (typeof content !== 'string' && !(content instanceof Uint8Array)) {
    throw new NodeFailure('content is neither text nor bytes', { code: 'CONTENT_INVALID', applied: 'no' });
  }
  const place = await confinePath(path, config.root);
  const bytes = Buffer.from(content);
  return { place, bytes, output: { path: path as string, sizeBytes: bytes.length, sha256: hashBytes(bytes) } };
}

async function append({ path, isGranted }: ConfinedPath, bytes: Uint8Array, mode = 0o666): Promise<void> {
  // A confined path has no links any more, so a link in its last part was created since the check.
  const noFollow = isGranted === undefined ? 0 : constants.O_NOFOLLOW;
  const openForAppend = async () => {
    const folder = await holdFolder(dirname(path), isGranted);
    try {
      const flags = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | noFollow;
      return await (await files()).open(folder.at(basename(path)), flags, mode);
    } finally {
      await folder.handle.close();
    }
  };
  const file = await openForAppend().catch((error: unknown) => {
    throw error instanceof NodeFailure ? error : describeFileError(error, 'opened', path, 'no');
  });
  try {
    await file.writeFile(bytes);
    await file.sync();
  } catch (error) {
    throw describeFileError(error, 'appended to', path, 'unknown');
  } finally {
    await file.close();
  }
}

/** Finds out whether a write in doubt happened: it did if the file has the content that was to be written. */
async function compareContent(key: string, state: StateView, config: FileWriteConfig): Promise<Reconciliation> {
  const { place, bytes, output } = await readTarget(state, config);
  await removeLeftovers(place, key);
  const found = await readRegularFile(place.path, { limitBytes: bytes.length, isGranted: place.isGranted }).catch(
    () => undefined,
  );
  return found !== undefined && hashBytes(found) === output.sha256 ? { happened: true, output } : { happened: false };
}

function hashBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
