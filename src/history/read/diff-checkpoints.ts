/** Computes the difference between two checkpoints, of one run or of two (H1). */
import { isDeepStrictEqual } from 'node:util';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { loadState } from '../load/load.ts';
import { compareValues, type ValueDifference } from './compare-values.ts';
import { viewState, type CheckpointView, type NodeRow } from './state-view.ts';

export interface CheckpointPlace {
  readonly run: RunRow;
  readonly seq: number;
}

/** A node whose state differs. A side on which it was not started lacks the field. */
export interface NodeDifference {
  readonly path: readonly string[];
  readonly before?: NodeRow;
  readonly after?: NodeRow;
}

export interface CheckpointDifference {
  readonly status?: { readonly before: string; readonly after: string };
  readonly values: readonly ValueDifference[];
  readonly nodes: readonly NodeDifference[];
  /** Ids of waits that are open on one side only. */
  readonly waits: { readonly closed: readonly string[]; readonly opened: readonly string[] };
}

/**
 * Compares the states of two checkpoints.
 * @throws what {@link loadState} throws
 */
export async function diffCheckpoints(
  store: Store,
  blobs: BlobStore,
  a: CheckpointPlace,
  b: CheckpointPlace,
): Promise<CheckpointDifference> {
  const before = viewState((await loadState(store, blobs, a.run, a.seq)).root);
  const after = viewState((await loadState(store, blobs, b.run, b.seq)).root);
  return {
    ...(before.status === after.status ? {} : { status: { before: before.status, after: after.status } }),
    values: compareValues({ ...before.state }, { ...after.state }),
    nodes: compareNodes(before.nodes, after.nodes),
    waits: { closed: waitsOnlyIn(before, after), opened: waitsOnlyIn(after, before) },
  };
}

function compareNodes(before: readonly NodeRow[], after: readonly NodeRow[]): readonly NodeDifference[] {
  const byPath = (rows: readonly NodeRow[]): Map<string, NodeRow> =>
    new Map(rows.map((row) => [JSON.stringify(row.path), row]));
  const [old, now] = [byPath(before), byPath(after)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((path) => {
    const [was, is] = [old.get(path), now.get(path)];
    if (isDeepStrictEqual(was, is)) return [];
    return [{ path: JSON.parse(path) as string[], ...(was && { before: was }), ...(is && { after: is }) }];
  });
}

function waitsOnlyIn(one: CheckpointView, other: CheckpointView): readonly string[] {
  const others = new Set(other.waits.map(({ waitId }) => waitId));
  return one.waits.map(({ waitId }) => waitId).filter((waitId) => !others.has(waitId));
}
