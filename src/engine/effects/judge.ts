/** Effects in doubt: started, no result on record (X table, X3). Reconciled, retried when idempotent, or asked about. */
import { CairnError } from '../../errors.ts';
import type { Reconciliation } from '../../graph/node-contract.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { Intent, NodeRecord } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import { admitOutcome } from '../admit/admit-outcome.ts';
import { openWait } from '../waits/open-wait.ts';
import { launchOrGate, retryLater } from './gate.ts';
import { openRecord } from '../record/open-record.ts';
import type { RunCore } from '../run/run-core.ts';
import { settleFailed } from '../settle/settle.ts';
import { settleOutcome } from '../settle/settle-outcome.ts';
import { holdTimer } from '../run/timers.ts';
import { doubtDecision, doubtWait } from '../waits/wait.ts';

/** How an open effect is judged. */
export interface DoubtfulEffect {
  readonly intent: Intent;
  readonly isIdempotent: boolean;
  readonly applied: 'no' | undefined;
  readonly decision: unknown;
  /** What becomes of it if nothing else decides. */
  readonly onInDoubt: 'ask' | 'fail';
  readonly reconcile: ((key: string) => Promise<Reconciliation> | Reconciliation) | undefined;
  /** What the original of a fork says by now. */
  readonly original: () => Promise<Verdict | undefined>;
}

/** What becomes of an effect in doubt. */
export type Verdict =
  | { readonly kind: 'happened'; readonly output: unknown; readonly by: string }
  | { readonly kind: 'run' }
  | { readonly kind: 'failed' }
  | { readonly kind: 'ask' }
  /** Somebody else sees to it. */
  | { readonly kind: 'none' };

/** Judges an open effect once its first owner can no longer be inside it (O2). */
export async function judgeEffect(core: RunCore, effect: DoubtfulEffect): Promise<Verdict> {
  const before = await effect.original();
  if (before !== undefined) return before;
  if (await ownerGone(core, effect.intent)) {
    const since = await effect.original();
    if (since !== undefined) return since;
  }
  if (effect.decision !== undefined) {
    const { decision, output } = doubtDecision(effect.decision);
    if (decision === 'happened') return { kind: 'happened', output, by: 'person' };
    return decision === 'run again' ? { kind: 'run' } : { kind: 'failed' };
  }
  if (effect.applied === 'no') return { kind: 'run' };
  if (effect.reconcile !== undefined) {
    const found = await effect.reconcile(effect.intent.key);
    if (found.happened === true) return { kind: 'happened', output: found.output, by: 'reconcile' };
    if (found.happened === false) return { kind: 'run' };
  }
  if (effect.isIdempotent) return { kind: 'run' };
  return { kind: effect.onInDoubt === 'fail' ? 'failed' : 'ask' };
}

/** Until the attempt's deadline its first owner may still be in the effect, unless it is known to be gone. Says whether it had to wait. */
async function ownerGone(core: RunCore, intent: Intent): Promise<boolean> {
  const { clock, ids, effectsInFlight, limits } = core.env;
  const isOwn = intent.by === ids.workerId;
  const isGone = (): boolean =>
    isOwn ? !effectsInFlight.has(intent.key) : intent.by !== undefined && ids.isWorkerDead(intent.by) === true;
  for (let hasWaited = false; ; hasWaited = true) {
    const remainingMs = intent.deadlineAt - clock.now();
    if (isGone() || remainingMs <= 0) return hasWaited;
    // One that runs here, left behind by an attempt that is over, may end long before its deadline.
    const delayMs = isOwn ? Math.min(remainingMs, limits.messagePollMs) : remainingMs;
    await new Promise<void>((resolve) => {
      holdTimer(core, delayMs, resolve);
    });
  }
}

/** Judges an activation that left an intent behind. */
export function judgeActivation(core: RunCore, activation: Activation, record: NodeRecord): void {
  const { node } = activation;
  const intent = record.intent as Intent;
  const original = async (): Promise<Verdict | undefined> =>
    (await core.replay?.takesOverOpen(activation, intent)) === true ? { kind: 'none' } : undefined;
  if (core.isDry) return void foresee(core, activation, record, original);
  const { reconcile } = node.implementation;
  const effect: DoubtfulEffect = {
    intent,
    isIdempotent: node.idempotent,
    applied: record.applied,
    decision: record.decision,
    original,
    onInDoubt: node.onInDoubt,
    reconcile:
      reconcile === undefined
        ? undefined
        : (key) => reconcile(key, { config: node.config, state: activation.view.state, signal: activation.signal }),
  };
  judgeEffect(core, effect)
    .then((verdict) => applyVerdict(core, activation, verdict))
    .then(
      () => core.requestTurn(),
      (error: unknown) => {
        if (activation.phase === 'prepared') settleFailed(core, activation, error);
        core.requestTurn();
      },
    );
}

/** What a preview tells of it. */
async function foresee(
  core: RunCore,
  activation: Activation,
  record: NodeRecord,
  original: () => Promise<Verdict | undefined>,
): Promise<void> {
  if (core.replay === undefined) return core.onDoubt(activation, record);
  try {
    if ((await original()) === undefined) core.onDoubt(activation, record);
    core.requestTurn();
  } catch (error) {
    core.fail(error);
  }
}

/** Whether nothing needs to start for it: then a failure elsewhere does not keep it from being recorded (G8). */
function isResult({ kind }: Verdict): boolean {
  return kind === 'happened' || kind === 'failed';
}

function applyVerdict(core: RunCore, activation: Activation, verdict: Verdict): void {
  if (activation.phase !== 'prepared' || verdict.kind === 'none') return;
  if (core.isStopping && !(core.isOnlyFailing && isResult(verdict))) return core.forget(activation);
  if (verdict.kind === 'happened')
    return void settleOutcome(core, activation, admitOutcome(core, activation, verdict.output), { by: verdict.by });
  if (verdict.kind === 'run') return runAgain(core, activation);
  if (verdict.kind === 'failed') {
    const error = new CairnError('EFFECT_IN_DOUBT', { node: activation.path.join('/'), decided: 'fail' });
    return settleFailed(core, activation, error);
  }
  const known = activation.frameRun.openRecordOf(activation.node);
  const record: NodeRecord = { ...known, ...openRecord(activation), status: 'waiting' };
  // Asked already, before a crash or in the original: then nothing changes.
  if (known?.status !== 'waiting') activation.frameRun.frame.setNode(activation.node.id, record, encodeValue(record));
  openWait(
    core,
    activation,
    undefined,
    doubtWait({ node: activation.path, effect: activation.node.effect, intent: record.intent as Intent }),
  );
  activation.phase = 'left';
  core.setBusy(activation, false);
}

/** An attempt that failed and is tried again waits its delay out, after a crash too (E6). */
function runAgain(core: RunCore, activation: Activation): void {
  const { retryAt = 0 } = activation.frameRun.openRecordOf(activation.node) ?? {};
  if (retryAt <= core.env.clock.now()) return launchOrGate(core, activation);
  retryLater(core, activation, retryAt);
}
