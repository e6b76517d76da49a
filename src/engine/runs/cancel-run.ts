/** Cancelling a run that nobody is working on (E7). */
import { CairnError } from '../../errors.ts';
import { loadState } from '../../history/load.ts';
import { readSound } from '../../history/messages.ts';
import type { RunRow } from '../../ports/store.ts';
import { DeltaBuilder } from '../../state/delta.ts';
import { Committer } from '../run/committer.ts';
import { claimForResume } from './resume-run.ts';
import type { EngineEnvironment } from '../run/run-core.ts';
import { pendingOf } from '../record/pending.ts';

/** Claims the run, ends it, and gives it back. If a live worker owns it, that one takes the request. @throws RUN_FINISHED it has completed */
export async function cancelUnowned(env: EngineEnvironment, run: RunRow): Promise<void> {
  let claimed: Awaited<ReturnType<typeof claimForResume>>;
  try {
    claimed = await claimForResume(env, run);
  } catch (error) {
    if (CairnError.is(error, 'CLAIM_TAKEN')) return;
    throw error;
  }
  const { store, blobs, clock, limits } = env;
  try {
    const { status } = claimed.run;
    // It may have ended between the look at it and the claim.
    if (status === 'cancelled') return;
    if (status === 'completed') throw new CairnError('RUN_FINISHED', { runId: run.runId, status });
    const loaded = await loadState(store, blobs, claimed.run);
    const delta = new DeltaBuilder();
    await new Promise<void>((resolve, reject) => {
      const committer = new Committer({
        store,
        claim: claimed.claim,
        runKey: run.key,
        seq: loaded.seq,
        checksum: loaded.checksum,
        delta,
        clock,
        limits,
        countPending: () => pendingOf(loaded.root),
        onLanded: () => resolve(),
        onBroken: reject,
      });
      delta.set('["status"]', '"cancelled"');
      committer.setStatus('cancelled');
      committer.note('{"kind":"end","status":"cancelled"}');
      for (const waitId of Object.keys(loaded.root.waits)) committer.closeWait(waitId);
      readSound(store, claimed.run)
        .then((rows) => {
          for (const row of rows) if (row.kind === 'cancel') committer.takeMessage(row.id);
          committer.commit('power');
        })
        .catch(reject);
    });
  } finally {
    await store.releaseClaim(claimed.claim).catch(() => {});
  }
}
