/** The waits of a run that were answered, read from its history. */
import { loadState, readHistory } from '../../history/load/load.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { RunRow } from '../../ports/store.ts';
import type { RunTree, WaitRecord } from '../../state/tree.ts';
import type { AnswerFormat } from '../validate/check-answer.ts';
import type { KnownWait } from '../validate/find-wait.ts';
import { placeOf } from '../visit-records/visit-part.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';

/** A wait that an answer is for. */
export interface MeantWait {
  readonly waitId: string;
  /** The checkpoint at which it is open: for a fork the one that is forked, or the one just before it was answered. */
  readonly openAt: number;
  /** Set if the history took the answer over from another run: the run and checkpoint at which the question is open. */
  readonly original?: { readonly run: RunRow; readonly seq: number };
  /** The node whose whole outcome was taken over from there; undefined if only the answer was. */
  readonly takenNode?: readonly string[];
}

/** An answered wait, and the part of the change that reports it. If a node asks in each round, the last round counts. */
export interface AnsweredWait extends KnownWait, MeantWait {
  /** The recorded question; undefined if the checkpoint that opened it was pruned. */
  readonly question: AnswerFormat | undefined;
  readonly part: ChangePart;
}

/** Those of the last visit among them: a node in a loop asks in each round. */
export function ofLastVisit(found: readonly AnsweredWait[]): readonly AnsweredWait[] {
  const last = found.at(-1);
  return last === undefined
    ? []
    : found.filter(({ node, part }) => placeOf(node, part) === placeOf(last.node, last.part));
}

/** The waits answered up to a checkpoint, in the order of their last answers. */
export async function readAnswered(
  env: Pick<EngineEnvironment, 'store' | 'blobs'>,
  run: RunRow,
  seq: number,
): Promise<readonly AnsweredWait[]> {
  const records = new Map<string, WaitRecord>();
  const answered = new Map<string, AnsweredWait>();
  const note = (wait: AnsweredWait): void => {
    answered.delete(wait.waitId);
    answered.set(wait.waitId, wait);
  };
  for await (const { run: owner, checkpoint } of readHistory(env.store, run, { from: 0, to: seq })) {
    if (checkpoint.seq === owner.prunedBelow && checkpoint.seq > 0) {
      // Earlier waits are only in the state of this checkpoint.
      const { root } = await loadState(env.store, env.blobs, run, checkpoint.seq);
      for (const [waitId, wait] of Object.entries(root.waits)) records.set(waitId, wait);
    }
    for (const [waitId, wait] of waitsSetBy(checkpoint.ops)) records.set(waitId, wait);
    for (const part of checkpoint.change) {
      const openAt = checkpoint.seq - 1;
      for (const wait of await takenOver(env, run.tenant, part)) note({ ...wait, openAt });
      if (part.kind !== 'answer' || part.node === undefined || part.wait === undefined) continue;
      const question = records.get(part.wait);
      const { kind = 'question', name = '' } = question ?? {};
      note({ waitId: part.wait, kind, name, node: part.node, part, openAt, question });
    }
  }
  return [...answered.values()];
}

/**
 * The questions behind something that a fork took over from its original: an answer, or the outcome of a node with the child runs in it.
 */
async function takenOver(
  env: Pick<EngineEnvironment, 'store' | 'blobs'>,
  tenant: string,
  part: ChangePart,
): Promise<readonly AnsweredWait[]> {
  const { kind, node, step, from, effect } = part;
  const isAnswer = kind === 'step' && effect === 'human' && step !== undefined;
  if ((kind !== 'replay' && !isAnswer) || node === undefined || from === undefined) return [];
  const original = await env.store.readRun({ tenant, runId: from.runId });
  if (original === undefined) return [];
  const isMeant = isAnswer
    ? (wait: AnsweredWait): boolean => placeOf(wait.node, wait.part, wait.part.step) === placeOf(node, part, step)
    : (wait: AnsweredWait): boolean => isWithin(wait, node, visitsOf(node, part));
  const answers = (await readAnswered(env, original, from.seq)).filter(isMeant);
  return answers.map((wait) => ({
    ...wait,
    part: isAnswer ? part : wait.part,
    original: wait.original ?? { run: original, seq: wait.openAt },
    ...(isAnswer ? {} : { takenNode: wait.takenNode ?? node }),
  }));
}

/** The visit of each node on a path, outermost first. */
function visitsOf(node: readonly string[], { visit = 1, outer }: ChangePart): readonly number[] {
  return [...(outer ?? Array.from({ length: (node.length - 1) / 2 }, () => 1)), visit];
}

/** Whether a wait belongs to this visit of a node, or to a child run in it. */
function isWithin({ node, part }: AnsweredWait, path: readonly string[], visits: readonly number[]): boolean {
  const own = visitsOf(node, part);
  return path.every((id, index) => node[index] === id) && visits.every((visit, index) => own[index] === visit);
}

/** The waits that a delta opens, for their names. */
export function waitsSetBy(ops: readonly unknown[]): readonly (readonly [waitId: string, wait: WaitRecord])[] {
  return (ops as readonly (readonly [op: string, path: readonly string[], value: unknown])[]).flatMap(
    ([op, path, value]) => {
      if (op !== 's' || path[0] !== 'waits') return [];
      if (path.length === 1) return Object.entries(value as RunTree['waits']);
      return path.length === 2 ? [[path[1] as string, value as WaitRecord] as const] : [];
    },
  );
}
