/** The lease guard port: keeps claims alive while the event loop of their process is blocked (O2.9). Without one, blocked work loses them. */
import type { Claim } from './store.ts';

/** When a renewal was requested: by the monotonic clock, and how long ago that was by the wall clock, in ms. */
export interface GuardRenewal {
  readonly monotonicMs: number;
  readonly wallAgoMs: number;
}

/** A claim that is guarded. */
export interface GuardedClaim {
  /** Call with each renewal that the event loop made itself. @param monotonicMs - when it was requested */
  renewed(monotonicMs: number): void;
  /** When the guard requested the newest renewal that the store granted; undefined if there was none. */
  renewedByGuard(): GuardRenewal | undefined;
  /** The claim was given up or lost. */
  release(): void;
}

export interface LeaseGuard {
  /** Gets ready at once. A guard that is not told to waits until claims have been held for a while, as most short programs end before. */
  start(): void;
  /** @param monotonicMs - when the claim was requested */
  hold(claim: Claim, monotonicMs: number): GuardedClaim;
  /** Notes which node begins: if the event loop is blocked next, it is named. */
  begins(graphId: string, runId: string, path: readonly string[]): void;
  /** Call when the engine is closed. */
  close(): void;
}
