/** The time that a run may take (E6.10). What is used of it is in the tree, so that it survives pauses and crashes. */
import { CairnError } from '../../errors.ts';
import type { TimeLimit } from '../../graph/graph.ts';
import { followUpOf } from '../../state/tree.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { timeLimitWait } from '../live-run/run-ending.ts';

/** The most that a timer is set for: clocks may be set meanwhile. */
const lookEveryMs = 60_000;

interface Limit {
  readonly ms: number;
  readonly countsWaits: boolean;
}

const limitOf = (limit: TimeLimit): Limit =>
  typeof limit === 'number'
    ? { ms: limit, countsWaits: true }
    : { ms: limit.ms, countsWaits: limit.countsWaits ?? true };

export class RunTimer {
  readonly #core: RunCore;
  readonly #onOver: (error: CairnError) => void;
  #cancel: (() => void) | undefined;

  /** @param onOver - called when the time is over, while the run is advanced here */
  constructor(core: RunCore, onOver: (error: CairnError) => void) {
    this.#core = core;
    this.#onOver = onOver;
  }

  /** What follows a cancel or a failure has a time of its own. */
  get #limit(): Limit | undefined {
    const { root, rootFrame } = this.#core;
    const { timeLimit } = rootFrame.graph.policies;
    return timeLimit === undefined || followUpOf(root) !== undefined ? undefined : limitOf(timeLimit);
  }

  /** Call when the run is taken up. */
  start(): void {
    const { draft, root, env } = this.#core;
    const limit = this.#limit;
    if (limit === undefined) {
      if (Object.hasOwn(root.waits, timeLimitWait)) draft.closeWait(timeLimitWait);
      return;
    }
    if (root.time !== undefined && root.time.since === undefined)
      draft.set(['time'], { ...root.time, since: env.clock.now() });
    this.#look(limit);
  }

  stop(): void {
    this.#cancel?.();
  }

  /** Call when the run pauses: whoever comes when its time is over finds it by a row with a due time. */
  pause(): void {
    const { draft, root, env } = this.#core;
    const limit = this.#limit;
    if (limit === undefined) return;
    const now = env.clock.now();
    if (!limit.countsWaits) return draft.set(['time'], { usedMs: this.#usedMs(now) });
    const dueAt = now + limit.ms - this.#usedMs(now);
    if (root.waits[timeLimitWait]?.dueAt !== dueAt)
      draft.openWait(timeLimitWait, { kind: 'timer', node: [], name: 'time limit', dueAt, openedAt: now });
  }

  #usedMs(now: number): number {
    const { root, run } = this.#core;
    const { since = run.createdAt, usedMs = 0 } = root.time ?? {};
    return usedMs + Math.max(0, now - since);
  }

  #look(limit: Limit): void {
    const { clock } = this.#core.env;
    const leftMs = limit.ms - this.#usedMs(clock.now());
    if (leftMs <= 0) return this.#onOver(new CairnError('RUN_TIMED_OUT', { runId: this.#core.runId, ms: limit.ms }));
    this.#cancel = clock.setTimer(Math.min(leftMs, lookEveryMs), () => this.#look(limit));
  }
}
