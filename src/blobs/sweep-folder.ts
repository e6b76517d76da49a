/** Lists the blobs in a tenant's folder page by page, and tidies up what dead processes left. */

import { join } from 'node:path';
import type { BlobRow } from '../ports/blobs.ts';
import type { Page } from '../ports/store.ts';
import { files, goneSuffix, isMissing, listFolder, youngAt } from './blob-files.ts';
import { isBlobHash } from './blob-hash.ts';

const pageSize = 1_000;

/** A partial file older than this was left by a process that died. */
const abandonedMs = 24 * 3_600_000;

/** @param suffix - suffix of compressed files */
export async function sweepFolder(
  folder: string,
  suffix: string,
  nowMs: number,
  { limit = pageSize, cursor = '' }: { readonly limit?: number; readonly cursor?: string },
): Promise<Page<BlobRow>> {
  const rows: BlobRow[] = [];
  for (const group of await listFolder(folder)) {
    if (group < cursor.slice(0, 2)) continue;
    for (const file of await listFolder(join(folder, group))) {
      const hash = file.endsWith(suffix) ? file.slice(0, -suffix.length) : file;
      const path = join(folder, group, file);
      if (!isBlobHash(hash)) await tidy(path, nowMs - abandonedMs);
      else if (hash > cursor && hash !== rows.at(-1)?.hash) {
        const at = await youngAt(path);
        if (at === undefined) continue;
        const last = rows.at(-1);
        if (last !== undefined && rows.length >= limit) return { rows, cursor: last.hash };
        rows.push({ hash, ageMs: nowMs - at });
      }
    }
  }
  return { rows };
}

/** Removes a partial file if it is old. A file whose removal was interrupted gets its name back. */
async function tidy(path: string, before: number): Promise<void> {
  const { rename, rm } = await files();
  const at = await youngAt(path);
  if (at === undefined || at >= before) return;
  try {
    if (path.endsWith('.part')) await rm(path, { force: true });
    else if (path.endsWith(goneSuffix)) await rename(path, path.slice(0, -goneSuffix.length));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
