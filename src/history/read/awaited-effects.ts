/** What a run waits for that another process has begun: it may still be at work on it, or has not told how it ended (O2.5, O2.8). */
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { isUnderWay, type FrameTree, type Intent, type RunTree } from '../../state/tree.ts';
import { foldStored } from '../load/fold-stored.ts';

/** An effect that a worker announced that does not have the run any more. */
export interface AwaitedEffect {
  /** Node ids from the root, with the names of child runs between them. */
  readonly node: readonly string[];
  readonly step?: string;
  /** The worker that began it. */
  readonly owner: string;
  /** When its time is over, in epoch ms: then it is judged, unless its worker tells how it ended before. */
  readonly until: number;
}

/** The effects whose end the worker waits for that has the run now, in the order of the record. Empty if none has it. */
export function awaitedEffects({ claim }: RunRow, { frame }: RunTree): readonly AwaitedEffect[] {
  return claim === undefined ? [] : awaitedIn(frame, [], claim.workerId);
}

/**
 * The same of a run of which only the row is known. What a worker does in the first claim of a run, nobody began before, so nothing is read.
 * Of a run that cannot be read it is empty: what looks at that run says why.
 */
export async function readAwaited(store: Store, run: RunRow): Promise<readonly AwaitedEffect[]> {
  const { status, claim, claims } = run;
  if (!isUnderWay(status) || claim === undefined || claims < 2) return [];
  try {
    const { state } = await foldStored(store, noBlobs, run, run.head);
    return awaitedEffects(run, state.root as unknown as RunTree);
  } catch {
    return [];
  }
}

/** Large values stay where they are: what was announced is never among them. */
const noBlobs = {
  get: () => Promise.reject(new CairnError('INTERNAL', { reason: 'a list reads no blobs' })),
} as Partial<BlobStore> as BlobStore;

function awaitedIn({ nodes }: FrameTree, framePath: readonly string[], workerId: string): AwaitedEffect[] {
  const awaited = (intent: Intent | undefined, place: Pick<AwaitedEffect, 'node' | 'step'>): AwaitedEffect[] => {
    const { by: owner, deadlineAt: until = 0 } = intent ?? {};
    return owner === undefined || owner === workerId || until === 0 ? [] : [{ ...place, owner, until }];
  };
  return Object.entries(nodes).flatMap(([id, { status, fired, intent, steps = {}, children = {} }]) => {
    if (fired !== undefined) return [];
    const node = [...framePath, id];
    // A person is asked about what is in doubt already.
    const own = status === 'started' ? awaited(intent, { node }) : [];
    const inSteps = Object.entries(steps).flatMap(([step, { status: stands, intent: begun, wait }]) =>
      stands === 'started' && wait === undefined ? awaited(begun, { node, step }) : [],
    );
    const below = Object.entries(children).flatMap(([name, child]) => awaitedIn(child, [...node, name], workerId));
    return [...own, ...inSteps, ...below];
  });
}
