/** What happened in a run, read from its history in one pass: see {@link PostMortem}. {@link storyPage} reads a part of it, from the end. */
import type { StatePlace } from '../access/place.ts';
import { foldStored } from '../load/fold-stored.ts';
import { firstSeqOf, readHistory } from '../load/lineage.ts';
import { letOthersIn } from '../stored/pace.ts';
import { StoredState } from '../stored/stored-state.ts';
import { resolveValues } from '../stored/checkpoint.ts';
import type { ResolvedReference } from '../read/references.ts';
import { statusAt } from '../read/list-runs.ts';
import { viewState } from '../read/checkpoint-view.ts';
import { wholeChanges } from '../read/failures.ts';
import type { RunRow } from '../../ports/store.ts';
import type { RunTree } from '../../state/tree.ts';
import type { PostMortem, StoryEntry, StoryError } from './story.ts';
import { StoryTeller } from './story-teller.ts';
import { findStart, readTimes, type StoryStart } from './story-start.ts';
import { edgesTakenLast, type TakenEdge } from './visit-ends.ts';

/** The node whose output is what a text declares as outputs. */
const outputsId = 'outputs';

/** After so many checkpoints others get their turn; that is some 30 ms. */
const restEvery = 256;

/** The checkpoints that are told. */
interface Range extends StoryStart {
  readonly upTo: number;
}

interface Told {
  readonly teller: StoryTeller;
  /** The state at the last checkpoint that was told. */
  readonly state: StoredState;
  readonly startedAt: number | undefined;
  readonly endedAt: number;
}

/** @throws what loading a checkpoint throws */
export async function postMortem(place: StatePlace, found: ResolvedReference): Promise<PostMortem> {
  const { teller, state, startedAt, endedAt } = await tell(place, found.run, { after: -1, upTo: found.seq });
  teller.tellOpen(state.root as unknown as RunTree);
  return summarize(place, found, state, { startedAt: startedAt ?? endedAt, endedAt }, teller.entries);
}

async function tell(place: StatePlace, run: RunRow, { after, state: before, upTo }: Range): Promise<Told> {
  const { store, blobs } = place;
  const teller = new StoryTeller(blobs, await place.explainChoice?.());
  let state = before ?? new StoredState({}, false);
  let startedAt: number | undefined;
  let endedAt = 0;
  let count = 0;
  for await (const read of readHistory(store, run, { from: after + 1, to: upTo })) {
    const { run: owner, checkpoint } = read;
    const isCut = checkpoint.seq === owner.prunedBelow && checkpoint.seq > firstSeqOf(owner);
    startedAt ??= isCut ? Math.min(owner.createdAt, checkpoint.at) : checkpoint.at;
    endedAt = checkpoint.at;
    count += 1;
    // A store in memory answers at once, so a long history would hold up everything else in the process.
    if (count % restEvery === 0) await letOthersIn();
    // Frames of a stack may stand before what is read.
    const [change = []] =
      before === undefined ? [checkpoint.change] : await wholeChanges(store, run, [checkpoint.change]);
    const entry = { ...read, checkpoint: { ...checkpoint, change } };
    if (!isCut) await teller.take(entry, state);
    else {
      // What was before is pruned: the story begins with the checkpoint that it led to.
      ({ state } = await foldStored(store, blobs, owner, checkpoint.seq));
      const at = { runId: owner.runId, seq: checkpoint.seq, at: checkpoint.at };
      teller.entries.push({ kind: 'fold', ...at, pruned: { upTo: checkpoint.seq - 1 } });
      await teller.take(entry, state, true);
    }
  }
  return { teller, state, startedAt, endedAt };
}

async function summarize(
  place: StatePlace,
  { run, seq }: ResolvedReference,
  state: StoredState,
  times: Pick<PostMortem, 'startedAt' | 'endedAt'>,
  entries: readonly StoryEntry[],
): Promise<PostMortem> {
  const root = (await resolveValues(place.blobs, run.tenant, structuredClone(state.root))) as RunTree;
  const { status, failures, spent, saved, state: values } = viewState(root);
  const result = values.outputs[outputsId];
  return {
    runId: run.runId,
    graphId: run.graphId,
    status: statusAt(run, { seq, status }, place.isWorkerDead),
    seq,
    ...times,
    ...(run.parent !== undefined && { forkedFrom: run.parent }),
    ...(spent !== undefined && { spent }),
    ...(saved !== undefined && { saved }),
    ...(seq === run.head && run.deaths > 0 && { deaths: run.deaths }),
    entries,
    failures: Object.fromEntries(Object.entries(failures).map(([node, error]) => [node, toError(error)])),
    ...(result !== undefined && { result }),
  };
}

/** The error below all that the engine says of it comes last, as causes do. */
function toError(error: unknown): StoryError {
  const { code = '', message = String(error) } = (error ?? {}) as {
    readonly code?: unknown;
    readonly message?: string;
  };
  return { code: String(code), message };
}

// Pages, read from the end.

/**
 * A place between two entries: behind the first `index` entries of checkpoint `seq`. Visits that have not ended come last, as those of a
 * checkpoint after the last one.
 */
export interface StoryPosition {
  readonly seq: number;
  readonly index: number;
}

/** Some entries of a story, and all that is said of the run as a whole. */
export interface StoryPage extends PostMortem {
  /** Where the page before ends. Absent: there is none. */
  readonly earlier?: StoryPosition;
  /** Edges that were taken in these entries, or by the last visit of a node, each once. */
  readonly taken: readonly TakenEdge[];
}

/**
 * The newest entries of a story, or those before a position. What is read grows with them, and not with the history; only of a visit that
 * began long ago everything since is read. A question about the budget that was answered before the visit began is told with it where both
 * are among what is read.
 * @param limit - how many entries at most
 * @throws what loading a checkpoint throws
 */
export async function storyPage(
  place: StatePlace,
  found: ResolvedReference,
  { limit, before }: { readonly limit: number; readonly before?: StoryPosition },
): Promise<StoryPage> {
  const { run, seq } = found;
  const end = before ?? { seq: seq + 1, index: Infinity };
  const upTo = Math.min(seq, end.index === 0 ? end.seq - 1 : end.seq);
  const { start, first } = await findStart(place, run, upTo, limit);
  const { teller, state: told } = await tell(place, run, { ...start, upTo });
  const ended = placed(teller.entries.filter((entry) => entry.seq > first));
  const endedCount = teller.entries.length;
  const state = upTo === seq ? told : (await foldStored(place.store, place.blobs, run, seq)).state;
  if (end.seq > seq) teller.tellOpen(state.root as unknown as RunTree);
  const open = teller.entries.slice(endedCount).map((entry, index) => ({ entry, at: { seq: seq + 1, index } }));
  const all = [...ended, ...open].filter(({ at }) => at.seq < end.seq || (at.seq === end.seq && at.index < end.index));
  const listed = all.slice(-limit);
  const entries = listed.map(({ entry }) => entry);
  const hasEarlier = first >= 0 || listed.length < all.length;
  const lastTaken = await edgesTakenLast(place.blobs, run, state);
  return {
    ...(await summarize(place, found, state, await readTimes(place.store, found), entries)),
    ...(hasEarlier && { earlier: listed[0]?.at ?? { seq: first + 1, index: 0 } }),
    taken: distinct([...lastTaken, ...takenIn(entries)]),
  };
}

function placed(entries: readonly StoryEntry[]): { readonly entry: StoryEntry; readonly at: StoryPosition }[] {
  let [seq, index] = [-1, 0];
  return entries.map((entry) => {
    index = entry.seq === seq ? index + 1 : 0;
    ({ seq } = entry);
    return { entry, at: { seq, index } };
  });
}

function takenIn(entries: readonly StoryEntry[]): readonly TakenEdge[] {
  return entries.flatMap((entry) =>
    entry.kind === 'visit' ? entry.edges.filter(({ fired }) => fired).map(({ to }) => ({ path: entry.path, to })) : [],
  );
}

const distinct = (edges: readonly TakenEdge[]): readonly TakenEdge[] => [
  ...new Map(edges.map((edge) => [`${edge.path.join('/')}\n${edge.to}`, edge])).values(),
];
