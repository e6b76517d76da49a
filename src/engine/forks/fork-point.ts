/** Finds the checkpoint that a fork goes on from. To patch an outcome or an answer, it is the one just before that was recorded (H2). */
import { CairnError } from '../../errors.ts';
import { loadState, readHistory } from '../../history/load/load.ts';
import type { RunRow } from '../../ports/store.ts';
import { refuseSeveral, waitsNamed } from '../validate/find-wait.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { ofLastVisit, readAnswered, type MeantWait } from '../commands/answered.ts';
import { formatPath } from '../../history/read/state-path.ts';
import { checkpointId } from '../../history/stored/checkpoint.ts';
import type { ForkOptions, Patch } from '../api.ts';

// Finds the waits that the names in a fork's answers mean, and the checkpoint at which the fork must begin: just
// before the original answer was recorded (H2).

export type { MeantWait };

/** The waits by name. @throws WAIT_NOT_FOUND a name fits none; USAGE_INVALID a name fits several */
async function findAnswered(
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

type Stores = Pick<EngineEnvironment, 'store' | 'blobs'>;

export interface ForkPoint {
  /** The checkpoint that was named, or an earlier one. */
  readonly from: number;
  /** The waits that the answers are for, by the names that these have in the options. */
  readonly meant: ReadonlyMap<string, MeantWait>;
  /** Why it is an earlier one than was named. */
  readonly because?: string;
}

export function isOfOutput({ path }: Patch): boolean {
  return path[0] === 'outputs';
}

export function isSeqOf(run: RunRow, seq: number): boolean {
  return Number.isInteger(seq) && seq >= 0 && seq <= run.head;
}

/** @throws CHECKPOINT_NOT_FOUND, WAIT_NOT_FOUND, USAGE_INVALID */
export async function findForkPoint(
  stores: Stores,
  run: RunRow,
  seq: number,
  { set = [], answers: given = {}, effects }: Pick<ForkOptions, 'set' | 'answers' | 'effects'>,
): Promise<ForkPoint> {
  if (!isSeqOf(run, seq)) throw new CairnError('CHECKPOINT_NOT_FOUND', { checkpoint: checkpointId(run.key, seq) });
  // A fork that cannot act keeps them for when it asks (X7).
  const answers = effects === 'refuse' ? {} : given;
  const nodes = set.filter(isOfOutput).map(({ path }) => path[1]);
  const names = Object.keys(answers);
  const meant = names.length === 0 ? new Map<string, MeantWait>() : await findAnswered(stores, run, seq, names);
  const settled = nodes.length === 0 ? new Map<string, number>() : await lastSettled(stores, run, seq, nodes);
  const points = [
    ...[...meant].map(([name, { openAt }]) => ({ at: openAt, what: `${name} was answered` })),
    ...[...settled].map(([id, at]) => ({ at: at - 1, what: `${formatPath(['outputs', id])} was recorded` })),
  ];
  const from = Math.min(seq, ...points.map(({ at }) => at));
  if (from === seq) return { from, meant };
  const reasons = points.filter(({ at }) => at === from).map(({ what }) => what);
  return { from, meant, because: `${reasons.join(' and ')} at ${run.runId}@${from + 1}` };
}

/** For each of the nodes, where it was last settled up to a checkpoint. */
async function lastSettled(
  { store }: Stores,
  run: RunRow,
  seq: number,
  nodes: readonly (string | undefined)[],
): Promise<ReadonlyMap<string, number>> {
  const last = new Map<string, number>();
  for await (const { checkpoint } of readHistory(store, run, { from: 0, to: seq })) {
    for (const { kind, node } of checkpoint.change) {
      const [id] = node ?? [];
      if ((kind === 'settle' || kind === 'replay') && node?.length === 1 && id !== undefined && nodes.includes(id))
        last.set(id, checkpoint.seq);
    }
  }
  return last;
}
