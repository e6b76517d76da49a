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

/** A node that held the event loop. */
export interface BlockedLoop {
  readonly graphId: string;
  readonly runId: string;
  readonly node: string;
  readonly heldMs: number;
  /** Whether nobody was told of this node before. */
  readonly isNew: boolean;
}

export interface LeaseGuard {
  /** Gets ready at once. A guard that is not told to waits until claims have been held for a while, as most short programs end before. */
  start(): void;
  /** @param monotonicMs - when the claim was requested */
  hold(claim: Claim, monotonicMs: number): GuardedClaim;
  /** Notes which node begins: if the event loop is blocked next, it is named. @param monotonicMs - now */
  begins(graphId: string, runId: string, path: readonly string[], monotonicMs: number): void;
  /** Tells of each node that held the event loop for over a second. @param told - returns whether it logged it; if not, the guard warns */
  tell(told: (blocked: BlockedLoop) => boolean): void;
  /** Call when the engine is closed. */
  close(): void;
}
