/** Carries out the verdict about a node's visit in doubt (X3). */
import { CairnError } from '../../errors.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { Intent, NodeRecord } from '../../state/tree.ts';
import { admitOutcome, type AdmittedOutcome } from '../admit/admit-outcome.ts';
import { asError } from '../admit/encode-error.ts';
import { forgetDecision, NodeEffort } from '../record/effort.ts';
import { openRecord } from '../record/open-record.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';
import { settleFailed } from '../settle/settle.ts';
import { settleOutcome } from '../settle/settle-outcome.ts';
import { tellWaiting } from '../waits/leave.ts';
import { openWait } from '../waits/open-wait.ts';
import { doubtWait } from '../waits/wait.ts';
import { judge, type Verdict } from './judge.ts';

/** Judges an activation that has an intent without a result. */
export function judgeNode(core: RunCore, activation: Activation): void {
  judge(core, new NodeEffort(activation), activation.node.onInDoubt)
    .then((verdict) => applyVerdict(core, activation, verdict))
    .catch((error: unknown) => {
      if (activation.phase === 'prepared') settleFailed(core, activation, error);
    })
    .finally(() => core.loop.requestTurn());
}

/** Whether the verdict is a result, for which nothing needs to start. Then it is recorded even after a failure elsewhere (G8). */
function isResult({ kind }: Verdict): boolean {
  return kind === 'happened' || kind === 'fail';
}

/** Carries out a verdict. */
export function applyVerdict(core: RunCore, activation: Activation, verdict: Verdict): void {
  if (activation.phase !== 'prepared') return;
  const { standing, agenda, loop } = core;
  if (verdict.kind === 'original') {
    if (verdict.end.kind === 'node') core.replay?.take(activation, verdict.end.offer);
    return;
  }
  if (standing.isStopping && !(standing.mayFinish && isResult(verdict))) return agenda.forget(activation);
  if (verdict.kind === 'happened') return settleHappened(core, activation, verdict.returned, verdict.by);
  if (verdict.kind === 'run') {
    // A retried attempt waits until it is due, also after a crash (E6).
    const { retryAt = 0 } = activation.frameRun.openRecordOf(activation.node) ?? {};
    return retryAt <= core.env.clock.now() ? loop.begin(activation) : loop.beginLater(activation, retryAt);
  }
  if (verdict.kind === 'fail') {
    const error = new CairnError('EFFECT_IN_DOUBT', { node: activation.path.join('/'), decided: 'fail' });
    return settleFailed(core, activation, error);
  }
  // The question was answered while the activation was judged.
  if (new NodeEffort(activation).fields()?.decision !== undefined) return loop.judge(activation);
  askWhetherItHappened(core, activation);
}

/**
 * Settles an effect that happened. Its updates are validated by the node's schemas and reducers. If a person's answer does not fit, the
 * question is asked again.
 */
function settleHappened(core: RunCore, activation: Activation, returned: unknown, by: string): void {
  let outcome: AdmittedOutcome;
  try {
    outcome = admitOutcome(core, activation, returned);
  } catch (error) {
    if (by !== 'person') throw error;
    forgetDecision(new NodeEffort(activation));
    return askWhetherItHappened(core, activation, asError(error).message);
  }
  void settleOutcome(core, activation, outcome, { by });
}

function askWhetherItHappened(core: RunCore, activation: Activation, because?: string): void {
  const { node, path, frameRun } = activation;
  const known = frameRun.openRecordOf(node);
  const record: NodeRecord = { ...known, ...openRecord(activation), status: 'waiting' };
  // The question was asked before a crash, or in the original of a fork, so the record stays as it is.
  if (known?.status !== 'waiting') frameRun.frame.setNode(node.id, record, encodeValue(record));
  openWait(
    core,
    activation,
    undefined,
    doubtWait({ node: path, effect: node.effect, intent: record.intent as Intent }, record, because),
  );
  activation.phase = 'left';
  core.agenda.setBusy(activation, false);
  tellWaiting(core, frameRun);
}
