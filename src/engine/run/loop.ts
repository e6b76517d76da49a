/** What the parts of an advancing run ask of the loop that drives it. */
import type { SpanParts, TraceSpan } from '../../graph/contracts/trace-contract.ts';
import type { LiveEvent } from '../api.ts';
import type { Activation } from './frame-run.ts';

/** The loop of one run. */
export interface Loop {
  /** Asks for a turn: something changed that the loop must look at. */
  requestTurn(): void;
  /** Begins an activation that may run now. */
  begin(activation: Activation): void;
  /** Begins it when its next attempt is due, epoch ms. */
  beginLater(activation: Activation, at: number): void;
  /** Finds out what became of an activation that began and may have happened. */
  judge(activation: Activation): void;
  /** Asks for a checkpoint at the end of this turn of the event loop. */
  requestFlush(): void;
  /** Makes a checkpoint of what is pending, now. */
  seal(): void;
  /** Resolves when everything noted so far is durable against a power cut, if the store offers that. */
  durable(): Promise<void>;
  /** Resolves when work may run ahead of the commits again (E4). */
  drained(): Promise<void>;
  /** Takes the messages that are there. */
  readMessages(): Promise<void>;
  /** The run cannot be advanced here any further. */
  fail(error: unknown): void;
  /** Whether anybody hears live events. */
  readonly isWatched: boolean;
  publishLive(type: LiveEvent['type'], activation: Activation, detail: unknown): void;
  /** Begins a span within an activation's attempt, if anybody is told of spans. */
  trace(activation: Activation, name: string, parts: SpanParts): TraceSpan | undefined;
}
