/** Checks that unfinished runs could be resumed, by reading of each what a resume would read (C6). */
import { CairnError, commandText } from '../../errors.ts';
import { loadState } from '../load/load.ts';
import { listMetaBlobs } from '../stored/stored-meta.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import { requireIntact } from '../../ports/intact-run.ts';
import type { RunRow, Store } from '../../ports/store.ts';

// What `cairn doctor` reports about one thing.

/** One thing that was examined. */
export interface Finding {
  readonly name: string;
  readonly verdict: 'ok' | 'warning' | 'bad';
  readonly detail: string;
  /** What to do about it. */
  readonly fix?: string;
  /** Code of the error that was found. */
  readonly code?: string;
}

/** Called with how many runs were looked at, and out of how many. */
export type Progressed = (runs: number, total: number) => void;

/** How many runs to examine, the newest first. The limit exists because each state is read completely. */
const examinedRuns = 1_000;

/** Returns one finding. If it is `bad`, it names the first run whose damage would make a resume fail. @throws STORE_* as the store */
export async function examineRuns(
  store: Store,
  blobs: BlobStore,
  tenant: string,
  progressed?: Progressed,
): Promise<Finding> {
  const { rows, cursor } = await store.listRuns({
    tenant,
    status: ['running', 'paused', 'cancelling', 'failed'],
    limit: examinedRuns,
  });
  const damaged: { readonly run: RunRow; readonly error: CairnError }[] = [];
  for (const [index, run] of rows.entries()) {
    progressed?.(index, rows.length);
    const error = await damageOf(store, blobs, run);
    if (error !== undefined) damaged.push({ run, error });
  }
  const [first] = damaged;
  const counted = `${cursor === undefined ? '' : 'the newest '}${rows.length} that ${rows.length === 1 ? 'is' : 'are'} not over`;
  if (first === undefined) return { name: 'histories', verdict: 'ok', detail: `sound of ${counted}` };
  return {
    name: 'histories',
    verdict: 'bad',
    detail: `${damaged.length} of ${counted} cannot be taken up: ${first.run.runId}: ${first.error.message}`,
    fix: commandText('verify', first.run.runId),
    code: first.error.code,
  };
}

async function damageOf(store: Store, blobs: BlobStore, run: RunRow): Promise<CairnError | undefined> {
  const damage = await readAll(store, blobs, run);
  if (damage === undefined || run.isDamaged === true) return damage;
  // A write or a pruning between two reads looks like damage, so it is damage only if it shows a second time.
  const now = await store.readRun(run);
  return now === undefined ? undefined : readAll(store, blobs, now);
}

async function readAll(store: Store, blobs: BlobStore, run: RunRow): Promise<CairnError | undefined> {
  try {
    requireIntact(store.name, run);
    await loadState(store, blobs, run);
    for (const hash of listMetaBlobs(run)) await blobs.get(run.tenant, hash);
    return undefined;
  } catch (error) {
    if (!CairnError.is(error) || (error.code.startsWith('STORE_') && run.isDamaged !== true)) throw error;
    return error;
  }
}
