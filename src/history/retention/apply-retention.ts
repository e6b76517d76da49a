/**
 * Removes runs that their graph retains no longer (D18), in batches of one transaction each: whoever is killed meanwhile leaves whole runs or
 * none. A run stays while it has forks or tags, and while somebody has it.
 */
import { CairnError } from '../../errors.ts';
import { ageMs, readRetention, type RetentionRules, type RetentionSettings } from '../../graph/retention.ts';
import type { EndedRun, EndedStatus } from '../../ports/removals.ts';
import { requireIntact } from '../../ports/intact-run.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { isRunOver } from '../../state/tree.ts';
import { endedRunsOf, endedStatuses } from '../access/ended-runs.ts';
import type { ReadPlace } from '../access/place.ts';
import { readAllRuns } from '../access/read-all.ts';
import { datasetGraphId, isHousekeeping, isOfExperiment } from '../stored/run-ids.ts';
import { metaOf } from '../stored/stored-meta.ts';

/** The runs that one transaction removes. */
const batchRuns = 50;

/** A run that was removed. */
export interface ExpiredRun {
  readonly runId: string;
  readonly graphId: string;
  readonly endedAt: number;
}

/** A run that would have expired, and why it stays. */
export interface RetainedRun {
  readonly runId: string;
  readonly because: 'busy' | 'forked' | 'kept' | 'tagged';
}

/** What one transaction did; in a dry run, what it would do. */
export interface ExpiredBatch {
  readonly removed: readonly ExpiredRun[];
  readonly skipped: readonly RetainedRun[];
}

type Ended = Omit<EndedRun, 'endedAt'> & ExpiredRun;

/** What the system's own runs are retained by, whatever the settings of a store say. */
export const housekeepingRules: RetentionRules = readRetention({ completed: '7d', failed: '7d', cancelled: '7d' });

export interface ExpireOptions {
  /** Only runs of the system's own: somebody may have given a graph the same name. */
  readonly isHousekeeping?: boolean;
  /** Only say what would go. */
  readonly isDry?: boolean;
  /** Called with the runs of a batch before it is removed. */
  readonly beforeRemoval?: (runIds: readonly string[]) => Promise<void>;
}

/** All that expires of a graph. It reads what has ended long ago by an index, and of the others nothing; labels are looked for in all. */
export async function* expireRuns(
  place: ReadPlace,
  graphId: string,
  rules: RetentionRules,
  options: ExpireOptions = {},
): AsyncGenerator<ExpiredBatch, void> {
  const { isDry = false, isHousekeeping: isOwn = false } = options;
  const forked = new Map<string, Ended>();
  let isAny = false;
  for await (const expired of candidates(place, graphId, rules)) {
    const batch = isOwn ? expired.filter(({ runId }) => isHousekeeping(runId)) : expired;
    const done = await removeBatch(place, batch, rules, options);
    for (const run of batch)
      if (done.skipped.some(({ runId }) => runId === run.runId) && run.hasForks) forked.set(run.runId, run);
    isAny ||= done.removed.length > 0;
    yield { ...done, skipped: done.skipped.filter(({ runId }) => !forked.has(runId)) };
  }
  // What was forked from them may have gone meanwhile.
  isAny &&= !isDry;
  while (isAny && forked.size > 0) {
    const { removed } = await removeBatch(place, [...forked.values()].map(withoutForks), rules, options);
    for (const { runId } of removed) forked.delete(runId);
    isAny = removed.length > 0;
    yield { removed, skipped: [] };
  }
  yield { removed: [], skipped: [...forked.keys()].map((runId) => ({ runId, because: 'forked' })) };
}

const withoutForks = (run: Ended): Ended => ({ ...run, hasForks: false });

/** The same for programs, run by run, of one graph or of all. @throws CONFIG_INVALID */
export async function* applyRetention(
  place: ReadPlace,
  retention: RetentionSettings,
  { graphId, dryRun = false }: { readonly graphId?: string; readonly dryRun?: boolean },
): AsyncGenerator<ExpiredRun, void> {
  const rules = readRetention(retention);
  const graphs = graphId === undefined ? await endedRunsOf(place.store).graphs(place.tenant) : [graphId];
  for (const graph of graphs)
    for await (const { removed } of expireRuns(place, graph, rules, { isDry: dryRun })) yield* removed;
}

/** At most one batch of what expires, and of the labels only those of a run: for whoever has just ended one. */
export async function expireSome(place: ReadPlace, run: RunRow, rules: RetentionRules): Promise<ExpiredBatch> {
  const batch: Ended[] = [];
  for await (const some of candidates(place, run.graphId, { ...rules, perLabel: [] })) {
    const retained = await runsWithKeepFor(place, some);
    batch.push(...some.filter(({ runId, hasForks, hasTags }) => !hasForks && !hasTags && !retained.has(runId)));
    if (batch.length >= batchRuns) break;
  }
  for (const [name, keep] of rules.perLabel) {
    const value = metaOf(run).labels?.[name];
    if (value === undefined || batch.length >= batchRuns) continue;
    const query = { graphId: run.graphId, status: endedStatuses, labels: { [name]: value } };
    const { rows } = await place.store.listRuns({ tenant: place.tenant, ...query, limit: keep + batchRuns });
    batch.push(...rows.slice(keep).map(toEnded));
  }
  return removeBatch(place, batch.slice(0, batchRuns), rules);
}

async function* candidates(place: ReadPlace, graphId: string, rules: RetentionRules): AsyncGenerator<readonly Ended[]> {
  for (const status of endedStatuses) {
    if (rules.ages[status] === undefined && rules.runs === undefined) continue;
    yield* expiredOf(place, graphId, status, rules);
  }
  if (rules.perLabel.length > 0) yield* beyondLabels(place, graphId, rules.perLabel);
}

async function* expiredOf(
  { store, tenant, now }: ReadPlace,
  graphId: string,
  status: EndedStatus,
  { ages, runs }: RetentionRules,
): AsyncGenerator<readonly Ended[]> {
  const age = ages[status];
  const query = {
    tenant,
    graphId,
    status,
    limit: batchRuns,
    ...(age !== undefined && { endedBefore: now() - age }),
    ...(runs !== undefined && { beyond: runs }),
  };
  const ended = endedRunsOf(store);
  let cursor: string | undefined;
  do {
    const page = await ended.list({ ...query, ...(cursor !== undefined && { cursor }) });
    for (let from = 0; from < page.rows.length; from += batchRuns)
      yield page.rows.slice(from, from + batchRuns).map((run) => ({ ...run, graphId }));
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Of each value of a label, those behind the newest. */
async function* beyondLabels(
  place: ReadPlace,
  graphId: string,
  perLabel: RetentionRules['perLabel'],
): AsyncGenerator<readonly Ended[]> {
  const counts = new Map<string, number>();
  let batch: Ended[] = [];
  for await (const run of readAllRuns(place, { graphId, status: endedStatuses })) {
    const { labels } = requireIntact(place.store.name, run) && metaOf(run);
    const isBeyond = perLabel.map(([name, keep]) => {
      const value = labels?.[name];
      const key = JSON.stringify([name, value]);
      const count = (counts.get(key) ?? 0) + 1;
      if (value !== undefined) counts.set(key, count);
      return value !== undefined && count > keep;
    });
    if (isBeyond.includes(true)) batch.push(toEnded(run));
    if (batch.length < batchRuns) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function toEnded({ runId, graphId, updatedAt: endedAt, hasForks = false, hasTags = false }: RunRow): Ended {
  return { runId, graphId, endedAt, hasForks, hasTags };
}

/**
 * How long what an experiment made is kept, and with it the runs that it is of, whatever the settings say. Datasets stay until they
 * are removed.
 */
const experimentMs = 30 * 86_400_000;

const isKeptForExperiment = ({ runId, graphId, endedAt }: Ended, now: number): boolean =>
  graphId === datasetGraphId || (isOfExperiment(runId) && endedAt > now - experimentMs);

/** Removes those of a batch that nothing needs. */
async function removeBatch(
  place: ReadPlace,
  batch: readonly Ended[],
  { rememberMs }: RetentionRules,
  { isDry = false, beforeRemoval }: ExpireOptions = {},
): Promise<ExpiredBatch> {
  const own = batch.filter((run) => !isKeptForExperiment(run, place.now()));
  const unneeded = own.filter(({ hasForks, hasTags }) => !hasForks && !hasTags);
  const retained = await runsWithKeepFor(place, unneeded);
  const free = unneeded.filter(({ runId }) => !retained.has(runId));
  const skipped: RetainedRun[] = own
    .filter((run) => !free.includes(run))
    .map(({ runId, hasForks }) => ({ runId, because: retained.has(runId) ? 'kept' : hasForks ? 'forked' : 'tagged' }));
  const ids = free.map(({ runId }) => runId);
  if (!isDry) await beforeRemoval?.(ids);
  const gone = new Set(isDry ? ids : await removeEnded(place, ids, rememberMs));
  for (const { runId } of free) {
    if (gone.has(runId)) continue;
    const reason = await whyStays(place.store, place.tenant, runId);
    if (reason !== undefined) skipped.push({ runId, because: reason });
  }
  const removed = free
    .filter(({ runId }) => gone.has(runId))
    .map(({ runId, graphId, endedAt }) => ({ runId, graphId, endedAt }));
  return { removed, skipped };
}

/** Those that were started to be kept for longer. */
async function runsWithKeepFor(
  { store, tenant, now }: ReadPlace,
  runs: readonly Ended[],
): Promise<ReadonlySet<string>> {
  const rows = await Promise.all(runs.map(({ runId }) => store.readRun({ tenant, runId })));
  const retained = runs.filter(({ endedAt }, index) => {
    const forMs = keepForMs(rows[index]);
    return forMs !== undefined && endedAt + forMs > now();
  });
  return new Set(retained.map(({ runId }) => runId));
}

/** A run whose row is damaged says nothing, and goes as the rules say. */
function keepForMs(row: RunRow | undefined): number | undefined {
  try {
    return row && ageMs(metaOf(row).keepFor);
  } catch {
    return undefined;
  }
}

/** Undefined of a run that is gone: another process has removed it. */
async function whyStays(store: Store, tenant: string, runId: string): Promise<RetainedRun['because'] | undefined> {
  const run = await store.readRun({ tenant, runId });
  if (run === undefined || !isRunOver(run.status)) return undefined;
  if (run.claim !== undefined) return 'busy';
  if ((await store.readTags(run)).length > 0) return 'tagged';
  const { rows } = await store.listRuns({ tenant, parentRunId: runId, limit: 1 });
  return rows.length > 0 ? 'forked' : 'busy';
}

async function removeEnded(
  { store, tenant }: ReadPlace,
  runIds: readonly string[],
  rememberMs: number,
): Promise<readonly string[]> {
  const leaves = { because: 'expired', rememberMs } as const;
  if (runIds.length === 0) return [];
  if (store.removals !== undefined) return store.removals.remove({ tenant, runIds, ...leaves });
  const removed: string[] = [];
  for (const runId of runIds) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined || !isRunOver(run.status) || (await store.readTags(run)).length > 0) continue;
    try {
      await store.removeRun({ tenant, runId });
      removed.push(runId);
    } catch (error) {
      if (!CairnError.is(error, 'RUN_NOT_FOUND', 'HISTORY_HAS_FORKS', 'CLAIM_TAKEN')) throw error;
    }
  }
  return removed;
}
