/** Efforts in doubt: begun, and no result on record. Taken from a fork's original, decided by a person, reconciled, tried again, or asked about (X3). */
import type { Intent } from '../../state/tree.ts';
import { decideDoubt, type DoubtDecision, type DoubtView } from '../plan/decide-doubt.ts';
import type { Effort } from '../record/effort.ts';
import type { OriginalEnd } from '../run/recorded-past.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { holdTimer } from '../run/timers.ts';
import { doubtDecision } from '../waits/wait.ts';

/** What becomes of an effort in doubt. */
export type Verdict =
  /** `returned`: its output, or an outcome with updates too. */
  | { readonly kind: 'happened'; readonly returned: unknown; readonly by: string }
  /** The original of a fork has recorded its end by now, or may still: it is seen to elsewhere. */
  | { readonly kind: 'original'; readonly end: OriginalEnd }
  | { readonly kind: 'run' }
  | { readonly kind: 'fail' }
  | { readonly kind: 'ask' };

/** Judges an effort once its first owner can no longer be inside it (O2). */
export async function judge(core: RunCore, effort: Effort, onInDoubt: 'ask' | 'fail'): Promise<Verdict> {
  const intent = effort.fields()?.intent as Intent;
  const before = await core.replay?.originalEnd(effort, intent);
  if (before !== undefined) return { kind: 'original', end: before };
  if (await ownerGone(core, effort.activation, intent)) {
    const since = await core.replay?.originalEnd(effort, intent);
    if (since !== undefined) return { kind: 'original', end: since };
  }
  const known = verdictOf(effort, decideDoubt(doubtViewOf(effort, onInDoubt)));
  if (known !== 'reconcile') return known;
  const found = await effort.reconcile?.({ idempotencyKey: intent.key });
  // Meanwhile a person may have decided, who goes first.
  const view = doubtViewOf(effort, onInDoubt);
  if (view.decision === undefined && found?.happened === true)
    return { kind: 'happened', returned: found.output, by: 'reconcile' };
  const said = found?.happened === false ? 'did not happen' : 'unknown';
  return verdictOf(effort, decideDoubt({ ...view, found: said })) as Verdict;
}

function verdictOf(effort: Effort, decision: DoubtDecision): Verdict | 'reconcile' {
  if (decision === 'reconcile') return decision;
  return decision === 'happened'
    ? { kind: 'happened', returned: saidByPerson(effort), by: 'person' }
    : { kind: decision };
}

/** What is known of an effort in doubt before the world is asked. */
export function doubtViewOf(effort: Effort, onInDoubt: 'ask' | 'fail'): DoubtView {
  const { decision, applied, retryAt } = effort.fields() ?? {};
  return {
    decision: decision === undefined ? undefined : (doubtDecision(decision).decision as DoubtView['decision']),
    applied,
    isRetryPlanned: retryAt !== undefined,
    canReconcile: effort.reconcile !== undefined,
    found: undefined,
    isIdempotent: effort.isIdempotent,
    onInDoubt,
  };
}

/** What it gave, by the person who said that it happened. */
export function saidByPerson(effort: Effort): unknown {
  return doubtDecision(effort.fields()?.decision).returned;
}

/** Until the attempt's deadline its first owner may still be in the effect, unless it is known to be gone. Says whether it had to wait. */
async function ownerGone(core: RunCore, activation: Activation, intent: Intent): Promise<boolean> {
  const { clock, ids, effectsInFlight, limits } = core.env;
  const isOwn = intent.by === ids.workerId;
  const isGone = (): boolean =>
    isOwn ? !effectsInFlight.has(intent.key) : intent.by !== undefined && ids.isWorkerDead(intent.by) === true;
  for (let hasWaited = false; ; hasWaited = true) {
    const remainingMs = intent.deadlineAt - clock.now();
    if (isGone() || remainingMs <= 0) {
      activation.heldBy = undefined;
      return hasWaited;
    }
    if (!isOwn && !hasWaited) {
      activation.heldBy = { owner: intent.by, until: intent.deadlineAt };
      core.loop.publishLive('waiting', activation, activation.heldBy);
    }
    // One that runs here, left behind by an attempt that is over, may end long before its deadline.
    const delayMs = isOwn ? Math.min(remainingMs, limits.messagePollMs) : remainingMs;
    await new Promise<void>((resolve) => {
      holdTimer(core, delayMs, resolve);
    });
  }
}
