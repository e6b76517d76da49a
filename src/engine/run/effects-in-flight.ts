/** Effects that run in this process: while one does, nobody here takes it for one whose owner is gone (O2). */

/** How many attempts are at work under a key: one that is over may still be at work beside the next. */
export type EffectsInFlight = Map<string, number>;

/** Notes that an effect runs, and returns what to call when it has ended. */
export function enterEffect(inFlight: EffectsInFlight, key: string): () => void {
  inFlight.set(key, (inFlight.get(key) ?? 0) + 1);
  return () => {
    const left = (inFlight.get(key) ?? 1) - 1;
    if (left === 0) inFlight.delete(key);
    else inFlight.set(key, left);
  };
}
