/** The intent of an effect: durable before the effect starts, and withdrawn if the effect does not start (E3, E4). */
import type { Intent } from '../../state/tree.ts';
import { isEffect } from '../run/effect.ts';
import type { RunCore } from '../run/run-core.ts';
import type { Effort, EffortFields } from './effort.ts';

/** The most characters of an effect's description. */
const aboutLengthMax = 500;

/** An announcement that was written. */
export interface Announced {
  readonly effort: Effort;
  /** What was recorded of the effort before. An earlier attempt of it may have happened. */
  readonly before: EffortFields | undefined;
  /** The latest end of the attempt in monotonic ms. Other owners wait until then (O2). */
  readonly deadlineMs: number;
}

/** The key that the effort was started with, which in a fork is the original's; otherwise its own (X1). */
export function effortKeyOf(core: RunCore, effort: Effort): string {
  return effort.fields()?.intent?.key ?? effort.keyIn(core.keySeed);
}

/**
 * Announces an effect that may have happened without a trace: the run was restored from a backup, and what it did after that was made is in
 * no history. So what can be looked up is judged like an effect in doubt before it begins (B3).
 * @returns whether it is to be judged
 */
export function announceIfReleased(core: RunCore, effort: Effort, attempt: number): boolean {
  if (core.root.released !== true || !isEffect(effort) || effort.reconcile === undefined) return false;
  if (attempt > 1 || effort.fields()?.intent !== undefined) return false;
  announce(core, effort, attempt);
  core.draft.mustCommit = true;
  return true;
}

function toldOf({ secrets }: RunCore, about: string): string {
  const text = secrets.mask?.text(about) ?? about;
  const told = text.slice(0, aboutLengthMax).toWellFormed();
  return text.length > aboutLengthMax ? `${told}… [${text.length} characters]` : told;
}

/** Records that an effect is about to start. If it was started before, it keeps its key. It starts when this is durable. */
export function announce(core: RunCore, effort: Effort, attempt: number): Announced {
  const { clock, ids, limits } = core.env;
  const before = effort.fields();
  const key = effortKeyOf(core, effort);
  const timeoutMs = effort.timeoutMs ?? limits.effectMs;
  const about = effort.about === undefined ? undefined : toldOf(core, effort.about);
  const intent: Intent = {
    key,
    attempt,
    deadlineAt: clock.now() + timeoutMs,
    by: ids.workerId,
    ...(effort.isForgettable ? { forgettable: true } : {}),
    ...(effort.isIdempotent ? { idempotent: true } : {}),
  };
  effort.write({
    ...(attempt > 1 ? { attempt } : {}),
    intent: about === undefined ? intent : { ...intent, about },
  });
  core.draft.note({ kind: 'intent', ...effort.place, attempt, effect: effort.effect });
  return { effort, before, deadlineMs: clock.monotonic() + timeoutMs };
}

/** Withdraws an announcement, because its effect does not start. If an earlier attempt may have happened, it is in doubt again (X3). */
export function withdraw(core: RunCore, { effort, before }: Announced): void {
  if (effort.fields()?.intent === undefined || core.committer.broken !== undefined) return;
  effort.restore(before);
  const { place, effect } = effort;
  core.draft.note({ kind: 'withdraw', ...place });
  if (before?.intent !== undefined) core.draft.note({ kind: 'intent', ...place, effect });
  core.draft.mustCommit = true;
}
