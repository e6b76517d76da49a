/** The intent of an effect: durable before the effect begins, and taken back if it does not begin (E3, E4). */
import type { RunCore } from '../run/run-core.ts';
import type { Effort, EffortFields } from './effort.ts';

/** Characters of what is told of an effect. */
const aboutLengthMax = 500;

/** An announcement that has been written. */
export interface Announced {
  readonly effort: Effort;
  /** What was written of the effort before: an earlier attempt of it may have happened. */
  readonly before: EffortFields | undefined;
  /** Monotonic ms at which the attempt ends at the latest: until then another owner waits (O2). */
  readonly deadlineMs: number;
}

/** The key an effort was begun under, in a fork its original's; else its own (X1). */
export function effortKeyOf(core: RunCore, effort: Effort): string {
  return effort.fields()?.intent?.key ?? effort.keyIn(core.keySeed);
}

function toldOf({ secrets }: RunCore, about: string): string {
  return (secrets.mask?.text(about) ?? about).slice(0, aboutLengthMax).toWellFormed();
}

/** Writes that an effect is about to begin, under the key it began under before, if it did. It begins when that is durable. */
export function announce(core: RunCore, effort: Effort, attempt: number): Announced {
  const { clock, ids, limits } = core.env;
  const before = effort.fields();
  const key = effortKeyOf(core, effort);
  const timeoutMs = effort.timeoutMs ?? limits.effectMs;
  const about = effort.about === undefined ? undefined : toldOf(core, effort.about);
  const intent = { key, attempt, deadlineAt: clock.now() + timeoutMs, by: ids.workerId };
  effort.write({
    ...(attempt > 1 ? { attempt } : {}),
    intent: about === undefined ? intent : { ...intent, about },
  });
  core.draft.note({ kind: 'intent', ...effort.place, attempt, effect: effort.effect });
  return { effort, before, deadlineMs: clock.monotonic() + timeoutMs };
}

/** Takes an announcement back: its effect does not begin. An earlier attempt that may have happened is in doubt as it was before (X3). */
export function withdraw(core: RunCore, { effort, before }: Announced): void {
  if (effort.fields()?.intent === undefined || core.committer.broken !== undefined) return;
  effort.restore(before);
  const { place, effect } = effort;
  core.draft.note({ kind: 'withdraw', ...place });
  if (before?.intent !== undefined) core.draft.note({ kind: 'intent', ...place, effect });
  core.draft.mustCommit = true;
}
