/**
 * Where to begin to tell the end of a story: at a checkpoint after which enough happened, or before it, so that each visit that is told is
 * told from its beginning.
 */
import type { RunRow, Store } from '../../ports/store.ts';
import type { FrameTree, RunTree } from '../../state/tree.ts';
import type { StatePlace } from '../access/place.ts';
import { foldStored } from '../load/fold-stored.ts';
import { readLineage, readOwner } from '../load/lineage.ts';
import type { ResolvedReference } from '../read/references.ts';
import { walkBack } from '../read/walk-back.ts';
import type { StoredState } from '../stored/stored-state.ts';
import { isEnd } from './op-authors.ts';
import { isEvent } from './story-teller.ts';

/** A checkpoint after which a story is told, and the state there. -1 without a state: it is told from the beginning. */
export interface StoryStart {
  readonly after: number;
  readonly state?: StoredState;
}

const beginning: StoryStart = { after: -1 };

/** @param wanted - how many entries @returns `first`: of what is told from `start` on, what comes after that checkpoint is whole */
export async function findStart(
  place: StatePlace,
  run: RunRow,
  upTo: number,
  wanted: number,
): Promise<{ readonly start: StoryStart; readonly first: number }> {
  const first = await countBack(place.store, run, upTo, wanted);
  const state = await stateAt(place, run, first);
  if (state === undefined) return { start: beginning, first: -1 };
  const open = openVisits(state);
  // The state before anything of these visits was recorded is searched in steps that double.
  let start: StoryStart = { after: first, state };
  for (let step = 1; open.size > 0 && isAnyOf(open, start.state); step *= 2) {
    const after = start.after - step;
    if (after < 0) return { start: beginning, first };
    const before = await stateAt(place, run, after);
    start = { after, ...(before !== undefined && { state: before }) };
  }
  return { start, first };
}

/** The checkpoint after which so much happened; -1 if less did. */
async function countBack(store: Store, run: RunRow, upTo: number, wanted: number): Promise<number> {
  const pageSize = Math.min(200, wanted + 1);
  let count = 0;
  for await (const { checkpoint } of walkBack(store, run, { from: 0, to: upTo, pageSize })) {
    count += checkpoint.change.filter((part) => isEnd(part) || isEvent(part)).length;
    if (count >= wanted) return checkpoint.fold?.after ?? checkpoint.seq - 1;
  }
  return -1;
}

/** Undefined before the first checkpoint, and where it was pruned. */
async function stateAt({ store, blobs }: StatePlace, run: RunRow, seq: number): Promise<StoredState | undefined> {
  if (seq < 0) return undefined;
  const owner = await readOwner(store, run, seq);
  // A snapshot may be left of a checkpoint that was pruned into a later one, whose delta begins before it.
  const [row] = await store.readCheckpoints(owner, { from: seq, to: seq, limit: 1 });
  return row && (await foldStored(store, blobs, run, seq)).state;
}

/** The visits that have not ended, by path and number. */
function openVisits({ root }: StoredState): ReadonlySet<string> {
  const found = new Set<string>();
  const collect = ({ nodes }: FrameTree, path: readonly string[]): void => {
    for (const [id, { fired, visits = 1, children = {} }] of Object.entries(nodes)) {
      const at = [...path, id];
      // What is left without an end inside of a visit that has ended was told with that.
      if (fired !== undefined) continue;
      found.add(`${visits} ${at.join('\0')}`);
      for (const [name, child] of Object.entries(children)) collect(child, [...at, name]);
    }
  };
  collect((root as unknown as RunTree).frame, []);
  return found;
}

/** Of a state that was pruned it is not known. */
const isAnyOf = (visits: ReadonlySet<string>, state: StoredState | undefined): boolean =>
  state === undefined || [...openVisits(state)].some((visit) => visits.has(visit));

/** When a history began, and when its last checkpoint was made; one row is read for each. */
export async function readTimes(
  store: Store,
  { run, seq }: ResolvedReference,
): Promise<{ readonly startedAt: number; readonly endedAt: number }> {
  const owner = await readOwner(store, run, seq);
  const [last] = await store.readCheckpoints(owner, { from: seq, to: seq, limit: 1 });
  const endedAt = last?.at ?? run.updatedAt;
  for (const { run: part, upTo } of await readLineage(store, run)) {
    const [first] = await store.readCheckpoints(part, { from: 0, to: Math.min(upTo, seq), limit: 1 });
    if (first === undefined) continue;
    const isCut = part.prunedBelow > 0 && first.seq === part.prunedBelow;
    return { startedAt: isCut ? Math.min(part.createdAt, first.at) : first.at, endedAt };
  }
  return { startedAt: endedAt, endedAt };
}
