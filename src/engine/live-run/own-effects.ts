/**
 * What this process knows of the effects that one run has announced here, until their ends are durable. If the claim is lost meanwhile, it
 * is the only one that knows, and tells whoever has the run now (O2.8).
 */
import type { Amounts } from '../../graph/amounts.ts';

// Effects that are running in this process. While one runs, nobody here treats it as abandoned (O2).

/** Number of running attempts by key. An attempt that is over may still be running beside the next one. */
export type EffectsInFlight = Map<string, number>;

/** Notes that an effect runs. Returns a function to call when it has ended. */
function enterEffect(inFlight: EffectsInFlight, key: string): () => void {
  inFlight.set(key, (inFlight.get(key) ?? 0) + 1);
  return () => {
    const remaining = (inFlight.get(key) ?? 1) - 1;
    if (remaining === 0) inFlight.delete(key);
    else inFlight.set(key, remaining);
  };
}

/** How an effect's function ended, and what it cost. */
export type FunctionEnd = { readonly spent?: Amounts | undefined } & (
  | { readonly returned: unknown }
  | { readonly thrown: unknown }
);

/** What is known of an effect: its function was never called, or how that ended. `isLate`: it had been told to stop by then. */
export type EffectEnd = 'not begun' | (FunctionEnd & { readonly isLate?: true });

/** An effect that was announced. */
export interface OwnEffect {
  /** Its idempotency key. */
  readonly key: string;
  /** Whether the run's tree holds its end. */
  readonly isRecorded: () => boolean;
  /** Tells whoever has the run now. Resolves when that is durable, or cannot be done. */
  readonly tell: (end: EffectEnd) => Promise<void>;
}

class Entry {
  readonly effect: OwnEffect;
  isRunning = false;
  end: EffectEnd | undefined;

  constructor(effect: OwnEffect) {
    this.effect = effect;
  }
}

export class OwnEffects {
  readonly #inFlight: EffectsInFlight;
  /** Those whose end is not durable. Several may be of one effect: of attempts that followed one another while the store was away. */
  readonly #open = new Set<Entry>();
  /** The newest of each effect, by key. */
  readonly #newest = new Map<string, Entry>();
  /** Those that have ended, and whose end is in no checkpoint yet. */
  #ended: Entry[] = [];
  /** Those whose end is in the checkpoint with this seq, in order. */
  readonly #committed: (readonly [seq: number, entry: Entry])[] = [];
  #isLost = false;

  constructor(inFlight: EffectsInFlight) {
    this.#inFlight = inFlight;
  }

  announced(effect: OwnEffect): void {
    const entry = new Entry(effect);
    this.#open.add(entry);
    this.#newest.set(effect.key, entry);
  }

  /** Until it is durable that it was withdrawn, only this process knows that it has not begun. */
  withdrawn(key: string): void {
    const entry = this.#newest.get(key);
    if (entry === undefined) return;
    entry.end = 'not begun';
    this.#ended.push(entry);
  }

  /**
   * Call right before the effect's function. Nobody in this process takes the effect for abandoned while the function runs and, if the run
   * is lost meanwhile, until others were told how it ended.
   * @returns to be called when the function has ended
   */
  begin(key: string): (end: FunctionEnd) => void {
    const leave = enterEffect(this.#inFlight, key);
    const entry = this.#newest.get(key);
    if (entry === undefined) return leave;
    entry.isRunning = true;
    return (end) => {
      entry.isRunning = false;
      entry.end = end;
      if (this.#isLost) return this.#tell(entry, { ...end, isLate: true }, leave);
      this.#ended.push(entry);
      leave();
    };
  }

  /** Call when a checkpoint was made of everything noted so far. */
  checkpointMade(seq: number): void {
    if (this.#ended.length === 0) return;
    const ended = this.#ended;
    this.#ended = [];
    for (const entry of ended)
      if (entry.effect.isRecorded()) this.#committed.push([seq, entry]);
      else this.#ended.push(entry);
  }

  /** Call when the checkpoints up to this seq are durable. */
  landed(seq: number): void {
    for (let first = this.#committed[0]; first !== undefined && first[0] <= seq; first = this.#committed[0]) {
      const [, entry] = first;
      this.#committed.shift();
      this.#open.delete(entry);
      if (this.#newest.get(entry.effect.key) === entry) this.#newest.delete(entry.effect.key);
    }
  }

  /** Call when the run is not this process's any more. Tells what is known, and of each function that still runs when it has ended. */
  handOver(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    for (const entry of this.#open)
      if (!entry.isRunning) this.#tell(entry, entry.end ?? 'not begun', enterEffect(this.#inFlight, entry.effect.key));
  }

  #tell(entry: Entry, end: EffectEnd, leave: () => void): void {
    entry.effect.tell(end).then(leave, leave);
  }
}
