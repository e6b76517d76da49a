/** Effects that run in this process: while one does, nobody here takes it for one whose owner is gone (O2). */

/**
 * Notes that an effect runs, and returns what to call when it has ended. An attempt that is over may still be at work under the key of
 * the next one, so a key stands once for each: behind the first with a mark more each time, of which the last goes first.
 */
export function enterEffect(inFlight: Set<string>, key: string): () => void {
  inFlight.add(nextEntry(inFlight, key));
  return () => void inFlight.delete(nextEntry(inFlight, key).slice(0, -mark.length));
}

const mark = '\0';

function nextEntry(inFlight: ReadonlySet<string>, key: string): string {
  let entry = key;
  while (inFlight.has(entry)) entry += mark;
  return entry;
}
