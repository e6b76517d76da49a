/** Passes what nodes tell while they work on to the store's live feed, where other processes read it. */
import { toJson } from '../../state/values/to-json.ts';
import type { LiveFeed, LivePiece } from '../../ports/live-feed.ts';
import type { Claim } from '../../ports/store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LiveRules } from '../../state/secrecy/store-rules.ts';

/** Pieces of so many milliseconds are written together. */
const joinMs = 50;
/** The most that a run's feed contains, in characters of JSON. Further pieces are dropped until some of it is recorded. */
const runBytesMax = 1024 * 1024;
/** Pieces of a run are streamed in order, also over processes: the first of each is numbered by the time, in microseconds. */
const numbersPerMs = 1000;

/** A piece that is in the feed or on its way. */
interface PendingPiece {
  readonly n: number;
  readonly path: readonly string[];
  /** Key of the step that tells it, if that is known. */
  readonly call: string | undefined;
  /** Of text: what it is a piece of. Neighbours that are equal in this are one piece. */
  readonly stream: string | undefined;
  detail: unknown;
  bytes: number;
}

interface Delta {
  readonly type?: unknown;
  readonly call?: unknown;
  readonly delta?: { readonly type: string; readonly id?: string; readonly text: string };
}

export interface LiveWriterOptions {
  readonly feed: LiveFeed;
  readonly claim: Claim;
  readonly clock: Clock;
  /** What `redact.store` keeps out; undefined if there are no rules. */
  readonly rules: LiveRules | undefined;
}

/** One for each run being advanced. It never fails and nobody waits for it: pieces are lost rather than that work is. */
export class LiveWriter {
  readonly #options: LiveWriterOptions;
  readonly #written = new Map<number, PendingPiece>();
  #unwritten: PendingPiece[] = [];
  /** Numbers of pieces that are recorded by now, or void. */
  #removed: number[] = [];
  /** What is recorded with the checkpoint of this seq, which is not durable yet. */
  #recorded: { readonly seq: number; readonly n: number }[] = [];
  #n: number;
  #bytes = 0;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;

  /** @param isNew - whether no process has advanced the run before, so that its feed is empty */
  constructor(options: LiveWriterOptions, isNew: boolean) {
    this.#options = options;
    this.#n = options.clock.now() * numbersPerMs;
    if (!isNew) this.#write({ remove: 'all' });
  }

  /** Takes an event of `emit`. */
  take(path: readonly string[], event: unknown): void {
    const { rules } = this.#options;
    if (rules?.hides(path) === true) return;
    const { type, call, delta } = (typeof event === 'object' && event !== null ? event : {}) as Delta;
    // Rules name keys, and the text of arguments is not read for them piece by piece.
    if (rules !== undefined && delta?.type === 'tool-arguments') return;
    const key = typeof call === 'string' ? call : undefined;
    if (type === 'model-restarted') this.#drop((piece) => piece.call === key && key !== undefined);
    const stream = type === 'model-delta' && delta !== undefined ? `${key} ${delta.type} ${delta.id ?? ''}` : undefined;
    const last = this.#unwritten.at(-1);
    if (stream !== undefined && last?.stream === stream && samePath(last.path, path))
      return this.#join(last, delta?.text);
    const json = plainJson(event, rules);
    if (json === undefined || this.#bytes + json.length > runBytesMax) return;
    this.#n += 1;
    const detail = JSON.parse(json) as unknown;
    this.#unwritten.push({ n: this.#n, path, call: key, stream, detail, bytes: json.length });
    this.#bytes += json.length;
    this.#cancelTimer ??= this.#options.clock.setTimer(joinMs, () => this.#flush());
  }

  #join(last: PendingPiece, text = ''): void {
    if (this.#bytes + text.length > runBytesMax) return;
    const before = last.detail as { readonly delta: { readonly text: string } };
    last.detail = { ...before, delta: { ...before.delta, text: before.delta.text + text } };
    last.bytes += text.length;
    this.#bytes += text.length;
  }

  /** An attempt of a node begins or has ended: what it streamed before is void, or recorded with the checkpoint of this seq. */
  attemptEnded(path: readonly string[], seq: number): void {
    this.#record(seq, (piece) => path.every((id, index) => piece.path[index] === id));
  }

  /** A step has ended; its result is recorded with the checkpoint of this seq. */
  stepEnded(call: string, seq: number): void {
    this.#record(seq, (piece) => piece.call === call);
  }

  /** All checkpoints up to this seq are durable. */
  landed(seq: number): void {
    if (this.#recorded.length === 0) return;
    const due = new Set(this.#recorded.filter((entry) => entry.seq <= seq).map(({ n }) => n));
    this.#recorded = this.#recorded.filter((entry) => entry.seq > seq);
    if (due.size > 0) this.#drop(({ n }) => due.has(n));
  }

  /** The run is not advanced here any more. @param isOver - whether all of it is recorded */
  end(isOver: boolean): Promise<void> | undefined {
    if (isOver) this.#drop(() => true);
    this.#flush();
    return this.#writing;
  }

  get isEmpty(): boolean {
    return this.#written.size === 0 && this.#unwritten.length === 0;
  }

  #record(seq: number, fits: (piece: PendingPiece) => boolean): void {
    for (const piece of [...this.#written.values(), ...this.#unwritten])
      if (fits(piece)) this.#recorded.push({ seq, n: piece.n });
  }

  #drop(fits: (piece: PendingPiece) => boolean): void {
    for (const piece of this.#written.values())
      if (fits(piece)) {
        this.#written.delete(piece.n);
        this.#removed.push(piece.n);
        this.#bytes -= piece.bytes;
      }
    this.#unwritten = this.#unwritten.filter((piece) => {
      if (fits(piece)) this.#bytes -= piece.bytes;
      return !fits(piece);
    });
    if (this.#removed.length > 0) this.#cancelTimer ??= this.#options.clock.setTimer(joinMs, () => this.#flush());
  }

  #flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#unwritten.length + this.#removed.length === 0) return;
    const add = this.#unwritten.map(({ n, path, detail }): LivePiece => ({ n, node: path, detail }));
    for (const piece of this.#unwritten) this.#written.set(piece.n, piece);
    this.#write({ remove: this.#removed, add });
    this.#unwritten = [];
    this.#removed = [];
  }

  /** Writes in order: one after the other. */
  #write(change: Parameters<LiveFeed['write']>[1]): void {
    const { feed, claim } = this.#options;
    const { tenant, runId } = claim;
    const write = async (): Promise<void> => {
      await this.#writing;
      await feed.write({ tenant, runId }, change).catch(() => undefined);
    };
    this.#writing = write();
  }
}

function samePath(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((id, index) => id === other[index]));
}

/** The event as JSON, without what rules keep out; undefined for what is none. */
function plainJson(event: unknown, rules: LiveRules | undefined): string | undefined {
  try {
    const plain = toJson(event);
    return rules === undefined
      ? JSON.stringify(plain)
      : JSON.stringify(plain, (key, value: unknown) => (rules.keepsOut(key) ? '[redacted]' : value));
  } catch {
    return undefined;
  }
}
