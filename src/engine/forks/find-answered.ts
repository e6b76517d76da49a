/**
 * Finds the waits that the names in a fork's answers mean, and the checkpoint at which the fork must begin: just before the original answer
 * was given (H2).
 */
import { CairnError } from '../../errors.ts';
import { loadState } from '../../history/load/load.ts';
import type { RunRow } from '../../ports/store.ts';
import { refuseSeveral, waitsNamed } from '../admit/find-wait.ts';
import type { EngineEnvironment } from '../run/run-core.ts';
import { ofLastVisit, readAnswered, type MeantWait } from '../runs/answer.ts';

export type { MeantWait };

/** The waits by name. @throws WAIT_NOT_FOUND a name fits none; USAGE_INVALID a name fits several */
export async function findAnswered(
  env: Pick<EngineEnvironment, 'store' | 'blobs'>,
  run: RunRow,
  seq: number,
  names: readonly string[],
): Promise<ReadonlyMap<string, MeantWait>> {
  const { root } = await loadState(env.store, env.blobs, run, seq);
  const open = Object.entries(root.waits).map(([waitId, wait]) => ({ ...wait, waitId, openAt: seq }));
  const answered = await readAnswered(env, run, seq);
  const meant = new Map<string, MeantWait>();
  for (const name of names) {
    const ofNow = waitsNamed(open, name);
    const found = ofNow.length > 0 ? ofNow : ofLastVisit(waitsNamed(answered, name));
    if (found.length > 1) refuseSeveral(found, run.runId, name);
    const [only] = found;
    if (only === undefined)
      throw new CairnError('WAIT_NOT_FOUND', {
        runId: run.runId,
        waitId: name,
        upTo: seq,
        hint: 'Nothing of this name was asked up to there. Fork at a later checkpoint, or without answers, and answer when it asks.',
      });
    meant.set(name, only);
  }
  return meant;
}
