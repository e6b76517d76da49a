/** What the parts of a run that is being advanced ask of its loop. */
import type { SpanParts, TraceSpan } from '../../graph/contracts/trace-contract.ts';
import type { LiveEvent } from '../api.ts';
import type { Activation } from './frame-run.ts';

/** The loop of one run. */
export interface Loop {
  /** Requests a turn, because something changed that the loop must check. */
  requestTurn(): void;
  /** Starts an activation that may run now. */
  begin(activation: Activation): void;
  /** Starts an activation when its next attempt is due, in epoch ms. */
  beginLater(activation: Activation, at: number): void;
  /** Finds out whether an activation that was started has happened. */
  judge(activation: Activation): void;
  /** Requests a checkpoint at the end of this turn of the event loop. */
  requestFlush(): void;
  /** Makes a checkpoint of everything pending, now. */
  seal(): void;
  /** Resolves when everything noted so far is durable, also against a power cut if the store supports that. */
  durable(): Promise<void>;
  /** Resolves when work may run ahead of the commits again (E4). */
  drained(): Promise<void>;
  /** Takes the waiting messages. */
  readMessages(): Promise<void>;
  /** Stops advancing the run here because of an error. */
  fail(error: unknown): void;
  /** Whether anybody listens to live events. */
  readonly isWatched: boolean;
  publishLive(type: LiveEvent['type'], activation: Activation, detail: unknown): void;
  /** Starts a span below an activation's attempt; undefined without telemetry. */
  trace(activation: Activation, name: string, parts: SpanParts): TraceSpan | undefined;
}
