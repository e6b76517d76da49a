/** What a run waits for that another process has begun: it may still be at work on it, or has not told how it ended (O2.5, O2.8). */
import type { RunRow } from '../../ports/store.ts';
import type { FrameTree, Intent, RunTree } from '../../state/tree.ts';

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
