/** Counts what a store holds: runs and checkpoints by workflow, status and age, and what belongs to nothing. */
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow, StoredStatus } from '../../ports/store.ts';
import { readAllRuns } from '../access/read-all.ts';
import type { ReadPlace } from '../access/place.ts';
import { firstSeqOf } from '../load/lineage.ts';
import { countUnneeded } from './collect-blobs.ts';

/** How many there are, by how long ago their run was last written. */
export interface CountsByAge {
  readonly day: number;
  readonly week: number;
  readonly month: number;
  readonly older: number;
}

/** Runs of one workflow with one status. */
export interface RunStats {
  readonly graphId: string;
  readonly status: StoredStatus;
  readonly runs: number;
  readonly checkpoints: number;
  /** Their checkpoints by age. */
  readonly ages: CountsByAge;
  /** What their checkpoints take as they are stored, without snapshots and large values. Only if it was asked for. */
  readonly sizeBytes?: number;
}

export interface StoreStats {
  /** By workflow, then by status. */
  readonly groups: readonly RunStats[];
  readonly runs: number;
  readonly checkpoints: number;
  readonly sizeBytes?: number;
  /** What belongs to nothing: large values that no run names and that are older than a day, and forks whose original is gone. */
  readonly orphans: { readonly blobs: number; readonly forks: number };
}

export interface StatsOptions {
  /** Whether the sizes of checkpoints are added up, for which all of them are read. Default false. */
  readonly sizes?: boolean;
}

const dayMs = 86_400_000;
const pageRows = 256;

type Ages = Record<keyof CountsByAge, number>;
interface Counted extends Pick<RunStats, 'graphId' | 'status'> {
  runs: number;
  checkpoints: number;
  readonly ages: Ages;
  sizeBytes?: number;
}

/** Reads the row of every run, and with `sizes` every checkpoint. @throws errors of stores */
export async function readStoreStats(
  place: ReadPlace & { readonly blobs: BlobStore },
  { sizes = false }: StatsOptions = {},
): Promise<StoreStats> {
  const groups = new Map<string, Counted>();
  const ids = new Set<string>();
  const originals: string[] = [];
  for await (const run of readAllRuns(place)) {
    ids.add(run.runId);
    if (run.parent !== undefined) originals.push(run.parent.runId);
    count(groups, run, place.now(), sizes ? await readSize(place, run) : undefined);
  }
  const sorted = [...groups.values()].sort((a, b) => compare(a.graphId, b.graphId) || compare(a.status, b.status));
  const sum = (of: (group: RunStats) => number): number => sorted.reduce((all, group) => all + of(group), 0);
  return {
    groups: sorted,
    runs: sum(({ runs }) => runs),
    checkpoints: sum(({ checkpoints }) => checkpoints),
    ...(sizes && { sizeBytes: sum(({ sizeBytes = 0 }) => sizeBytes) }),
    orphans: {
      blobs: await countUnneeded(place.store, place.blobs, place.tenant),
      forks: originals.filter((runId) => !ids.has(runId)).length,
    },
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function count(groups: Map<string, Counted>, run: RunRow, now: number, sizeBytes: number | undefined): void {
  const { graphId, status } = run;
  const key = JSON.stringify([graphId, status]);
  const ages: Ages = { day: 0, week: 0, month: 0, older: 0 };
  const group: Counted = groups.get(key) ?? { graphId, status, runs: 0, checkpoints: 0, ages };
  groups.set(key, group);
  const checkpoints = run.head - Math.max(firstSeqOf(run), run.prunedBelow) + 1;
  group.runs += 1;
  group.checkpoints += checkpoints;
  group.ages[ageOf(now - run.updatedAt)] += checkpoints;
  if (sizeBytes !== undefined) group.sizeBytes = (group.sizeBytes ?? 0) + sizeBytes;
}

function ageOf(ageMs: number): keyof CountsByAge {
  if (ageMs < dayMs) return 'day';
  if (ageMs < 7 * dayMs) return 'week';
  return ageMs < 30 * dayMs ? 'month' : 'older';
}

async function readSize({ store }: ReadPlace, run: RunRow): Promise<number> {
  let size = 0;
  for (let from = firstSeqOf(run); from <= run.head;) {
    const rows = await store.readCheckpoints(run, { from, to: run.head, limit: pageRows });
    for (const { body } of rows) size += body.byteLength;
    from = (rows.at(-1)?.seq ?? run.head) + 1;
  }
  return size;
}
