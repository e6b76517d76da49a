/** Compares a run's index rows (the run, its open waits, its messages) with its history (C6). */
import { isDeepStrictEqual } from 'node:util';
import type { BlobStore } from '../../ports/blobs.ts';
import type { OpenWait, RunRow, Store } from '../../ports/store.ts';
import type { RunTree } from '../../state/tree.ts';
import { decodeJson } from '../../state/values/codec.ts';
import { runKeyOf } from '../stored/checkpoint.ts';
import { asBuffer } from '../stored/checksum.ts';
import { isSoundMessage } from '../stored/messages.ts';
import { isSoundWait, openWaitRows } from '../stored/open-waits.ts';
import { resolveValues } from '../stored/resolve-values.ts';

/**
 * What is wrong with the index, one text each. The history itself is not affected by these faults.
 * @param stored - the state at the run's head, with values in stored form; undefined if not known
 */
export async function findIndexFaults(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  stored: Readonly<Record<string, unknown>> | undefined,
): Promise<readonly string[]> {
  const waits = await readWaits(store, run);
  const messages = await store.readMessages(run);
  const now = await store.readRun(run);
  // A worker has advanced the run meanwhile, so rows and history were read at different moments.
  if (now?.head !== run.head || now.status !== run.status) return [];
  const damaged = messages.filter((message) => !isSoundMessage(run, message));
  const faults = damaged.map(({ kind, name }) => `its ${kind} ${name} does not fit its checksum`);
  if (run.key !== runKeyOf(run.tenant, run.runId)) faults.push(`its row has the key ${run.key}`);
  if (stored === undefined) return faults;
  const { status, graphHash, waits: open } = stored;
  const root = (await resolveValues(blobs, run.tenant, structuredClone({ status, graphHash, waits: open }))) as RunTree;
  if (run.status !== root.status) faults.push(`its row says ${run.status}, its history ${root.status}`);
  if (run.graphHash !== root.graphHash) faults.push('its row names another graph than its history');
  return [...faults, ...findWaitFaults(run, waits, root)];
}

function findWaitFaults(run: RunRow, rows: readonly OpenWait[], root: RunTree): readonly string[] {
  const found = new Map(rows.map((row) => [row.waitId, row]));
  const faults: string[] = [];
  for (const wait of openWaitRows(run, root)) {
    const { waitId, kind, dueAt, body } = wait;
    const row = found.get(waitId);
    found.delete(waitId);
    if (row === undefined) faults.push(`the row of its open wait ${waitId} is missing`);
    else if (!isSoundWait(row)) faults.push(`the row of its open wait ${waitId} does not fit its checksum`);
    else if (row.kind !== kind || row.dueAt !== dueAt || !isSameBody(row.body, body))
      faults.push(`the row of its open wait ${waitId} is not what its history has`);
  }
  return [
    ...faults,
    ...[...found.keys()].map((waitId) => `its history has no open wait ${waitId}, of which there is a row`),
  ];
}

/** Compares rows from before checksums existed by their content. */
function isSameBody(row: Uint8Array, expected: Uint8Array): boolean {
  const read = (body: Uint8Array): unknown => decodeJson(asBuffer(body).toString());
  try {
    return asBuffer(row).equals(expected) || isDeepStrictEqual(read(row), read(expected));
  } catch {
    return false;
  }
}

async function readWaits(store: Store, { tenant, runId }: RunRow): Promise<readonly OpenWait[]> {
  const rows: OpenWait[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.listWaits({ tenant, runId, ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}
