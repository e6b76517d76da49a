/**
 * What a checkpoint holds, for those who show it in a way of their own: its records and values, the graph, and large values that are stored
 * apart.
 */
import type { GraphStructure } from '../../graph/graph.ts';
import type { FrameTree, RunStatus, RunTree } from '../../state/tree.ts';
import { foldStored } from '../load/fold-stored.ts';
import { readOwner } from '../load/lineage.ts';
import type { StatePlace } from '../access/place.ts';
import type { ResolvedReference } from '../read/references.ts';
import { referenceHash, resolveValues } from '../stored/checkpoint.ts';
import { Structures } from './structures.ts';

export interface CheckpointRecords {
  readonly runId: string;
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  readonly status: RunStatus;
  /** Values and records of nodes, those of child runs within. The caller's own. */
  readonly frame: FrameTree;
  /** Absent: the graph is not recorded. */
  readonly structure?: GraphStructure;
  /** Large values and files, which are stored apart under their hash. */
  readonly references: readonly { readonly path: readonly string[]; readonly hash: string }[];
}

/** @throws what loading a checkpoint throws */
export async function readRecords(
  { store, blobs }: Pick<StatePlace, 'store' | 'blobs'>,
  { run, seq }: ResolvedReference,
): Promise<CheckpointRecords> {
  const { state } = await foldStored(store, blobs, run, seq);
  const stored = state.root as unknown as RunTree;
  const structure = await new Structures(blobs).of(run, stored.definition);
  const owner = await readOwner(store, run, seq);
  const [row] = await store.readCheckpoints(owner, { from: seq, to: seq, limit: 1 });
  const root = (await resolveValues(blobs, run.tenant, structuredClone(stored))) as RunTree;
  return {
    runId: run.runId,
    seq,
    at: row?.at ?? 0,
    status: root.status,
    frame: root.frame,
    ...(structure !== undefined && { structure }),
    references: referencesIn(stored.frame),
  };
}

/** What a stored value refers to that is stored apart. */
export function referencesIn(stored: unknown): CheckpointRecords['references'] {
  const found: { readonly path: readonly string[]; readonly hash: string }[] = [];
  findReferences(stored, [], found);
  return found;
}

function findReferences(
  value: unknown,
  path: readonly string[],
  found: { readonly path: readonly string[]; readonly hash: string }[],
): void {
  if (typeof value !== 'object' || value === null) return;
  const hash = referenceHash(value);
  if (hash !== undefined) found.push({ path, hash });
  else for (const [key, inner] of Object.entries(value)) findReferences(inner, [...path, key], found);
}
