/** What happened in a run, read from its history in one pass: see {@link PostMortem}. */
import type { StatePlace } from '../access/place.ts';
import { foldStored } from '../load/fold-stored.ts';
import { firstSeqOf, readHistory } from '../load/lineage.ts';
import { letOthersIn } from '../stored/pace.ts';
import { StoredState } from '../stored/stored-state.ts';
import { resolveValues } from '../stored/checkpoint.ts';
import type { ResolvedReference } from '../read/references.ts';
import { statusAt } from '../read/list-runs.ts';
import { viewState } from '../read/checkpoint-view.ts';
import type { RunTree } from '../../state/tree.ts';
import type { PostMortem, StoryError } from './story.ts';
import { StoryTeller } from './story-teller.ts';

/** The node whose output is what a text declares as outputs. */
const outputsId = 'outputs';

/** After so many checkpoints others get their turn; that is some 30 ms. */
const restEvery = 256;

/** @throws what loading a checkpoint throws */
export async function postMortem(place: StatePlace, { run, seq }: ResolvedReference): Promise<PostMortem> {
  const { store, blobs } = place;
  const teller = new StoryTeller(blobs, await place.explainChoice?.());
  let state = new StoredState({}, false);
  let startedAt: number | undefined;
  let endedAt = 0;
  let count = 0;
  for await (const entry of readHistory(store, run, { from: 0, to: seq })) {
    const { run: owner, checkpoint } = entry;
    const isCut = checkpoint.seq === owner.prunedBelow && checkpoint.seq > firstSeqOf(owner);
    startedAt ??= isCut ? Math.min(owner.createdAt, checkpoint.at) : checkpoint.at;
    endedAt = checkpoint.at;
    count += 1;
    // A store in memory answers at once, so a long history would hold up everything else in the process.
    if (count % restEvery === 0) await letOthersIn();
    if (!isCut) await teller.take(entry, state);
    else {
      // What was before is pruned: the story begins with the checkpoint that it led to.
      ({ state } = await foldStored(store, blobs, owner, checkpoint.seq));
      const at = { runId: owner.runId, seq: checkpoint.seq, at: checkpoint.at };
      teller.entries.push({ kind: 'fold', ...at, pruned: { upTo: checkpoint.seq - 1 } });
      await teller.take(entry, state, true);
    }
  }
  teller.tellOpen(state.root as unknown as RunTree);
  const root = (await resolveValues(blobs, run.tenant, structuredClone(state.root))) as RunTree;
  const { status, failures, spent, saved, state: values } = viewState(root);
  const result = values.outputs[outputsId];
  return {
    runId: run.runId,
    graphId: run.graphId,
    status: statusAt(run, { seq, status }, place.isWorkerDead),
    seq,
    startedAt: startedAt ?? endedAt,
    endedAt,
    ...(run.parent !== undefined && { forkedFrom: run.parent }),
    ...(spent !== undefined && { spent }),
    ...(saved !== undefined && { saved }),
    ...(seq === run.head && run.deaths > 0 && { deaths: run.deaths }),
    entries: teller.entries,
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
