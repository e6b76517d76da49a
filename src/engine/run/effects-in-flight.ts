/** Effects that are running in this process. While one runs, nobody here treats it as abandoned (O2). */

/** Number of running attempts by key. An attempt that is over may still be running beside the next one. */
export type EffectsInFlight = Map<string, number>;

/** Notes that an effect runs. Returns a function to call when it has ended. */
export function enterEffect(inFlight: EffectsInFlight, key: string): () => void {
  inFlight.set(key, (inFlight.get(key) ?? 0) + 1);
  return () => {
    const left = (inFlight.get(key) ?? 1) - 1;
    if (left === 0) inFlight.delete(key);
    else inFlight.set(key, left);
  };
}
