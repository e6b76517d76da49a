/** The operation `audit`: everything that people and tokens did to a run, in order. */
import { isAct } from '../../engine/validate/whose-answer.ts';
import { readHistory, type HistoryEntry } from '../../history/load/lineage.ts';
import { checkpointId } from '../../history/stored/checkpoint.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import type { MessageRow, RunRow } from '../../ports/store.ts';
import { asBuffer } from '../../history/stored/checksum.ts';
import type { Op } from '../../state/delta.ts';
import { decodeJson } from '../../state/values/revive.ts';
import { runField } from '../contract/fields.ts';
import { anything, described, flag, listOf, objectOf, text, texts, time, whole } from '../contract/output-shapes.ts';
import type { ReadContext, RoutedOperation } from '../contract/operation.ts';
import { findRunOf } from '../runs/find-run.ts';

export interface AuditRunInput {
  readonly run: string;
}

/** One act. */
export interface Act {
  /** Epoch ms. */
  readonly at: number;
  readonly act: 'start' | 'answer' | 'signal' | 'resume' | 'cancel' | 'fork' | 'label';
  /** Who acted; `person` where the door did not know who it is. */
  readonly by: string;
  /** By which door; `library` where a program called. */
  readonly door: string;
  readonly as?: 'owner' | 'program';
  /** The run that it was done to: for acts before a fork point, the one that was forked. */
  readonly runId: string;
  /** The checkpoint that records it. Absent: it is posted, and waits to be taken. */
  readonly checkpointId?: string;
  readonly seq?: number;
  readonly isPending?: true;
  /** An answer whose question was closed as changed before it was taken: it is kept, and not used. */
  readonly isUnused?: true;
  /** The node that asked, from the root of the run. */
  readonly node?: readonly string[];
  readonly wait?: string;
  /** What was said: the answer, the name of the signal, the reason of a cancel, the changes of a fork or of labels. */
  readonly said?: unknown;
}

export interface AuditRunOutput {
  readonly runId: string;
  readonly acts: readonly Act[];
}

export const auditRun: RoutedOperation<AuditRunInput, AuditRunOutput> = {
  name: 'audit_run',
  command: 'audit',
  summary: 'list what people and tokens did to a run: who, when, by which door, what',
  details:
    'Starts, answers, signals, resumes, cancels, forks and the last changes of labels, oldest first, those before a fork point included.',
  input: { run: runField() },
  output: 'what was done to the run, oldest first',
  outputSchema: objectOf({
    runId: text,
    acts: listOf(
      objectOf(
        {
          at: time,
          act: described(text, 'start, answer, signal, resume, cancel, fork or label'),
          by: described(text, 'who acted; person where the door did not know who it is'),
          door: described(text, 'by which door: cli, http, mcp, chat, link, or library where a program called'),
          runId: text,
        },
        {
          as: described(text, 'owner: of the store; program: no person'),
          checkpointId: text,
          seq: whole,
          isPending: described(flag, 'whether it is posted, and waits to be taken'),
          isUnused: described(
            flag,
            'whether its question was closed as changed before it was taken, so that it is not used',
          ),
          node: texts,
          wait: text,
          said: described(
            anything,
            'the answer, the signal’s name, the reason of a cancel, the changes of a fork or of labels',
          ),
        },
      ),
    ),
  }),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /runs/{run}/audit',
  async run(context, { run: reference }) {
    const run = await findRunOf(context, reference);
    const { runId } = run;
    const acts: Act[] = [];
    for await (const entry of readHistory(context.store, run, { from: 0, to: run.head }))
      for (const part of entry.checkpoint.change) acts.push(...actsOf(entry, part));
    return { runId, acts: [...inOrder(acts, relabellings(run)), ...(await pendingActs(context, runId))] };
  },
};

/** Changes of labels, which are in no checkpoint. */
function relabellings(run: RunRow): readonly Act[] {
  const { relabelled = [] } = metaOf(run);
  return relabelled.map(({ at, by, door, as, ...said }) => ({
    at,
    act: 'label',
    ...whoOf({ ...(by !== undefined && { by }), ...(door !== undefined && { door }), ...(as !== undefined && { as }) }),
    runId: run.runId,
    said,
  }));
}

/** Puts the later acts among those of the history, which stay in their order whatever the clocks of their writers said. */
function inOrder(history: readonly Act[], later: readonly Act[]): readonly Act[] {
  const acts = [...history];
  for (const act of later) {
    const next = acts.findIndex(({ at }) => at > act.at);
    acts.splice(next === -1 ? acts.length : next, 0, act);
  }
  return acts;
}

type Who = Pick<ChangePart, 'by' | 'door' | 'as'>;

function whoOf({ by = 'person', door = 'library', as }: Who): Pick<Act, 'by' | 'door' | 'as'> {
  return { by, door, ...(as !== undefined && { as }) };
}

function actsOf({ run, checkpoint }: HistoryEntry, part: ChangePart): readonly Act[] {
  const { seq, at } = checkpoint;
  const done = doneBy(part, checkpoint.ops as readonly Op[]);
  if (done === undefined) return [];
  const { who, act, said, isUnused } = done;
  const { node, wait } = part;
  return [
    {
      at,
      act,
      ...whoOf(who),
      runId: run.runId,
      checkpointId: checkpointId(run.key, seq),
      seq,
      ...(node !== undefined && { node }),
      ...(wait !== undefined && { wait }),
      ...(said !== undefined && { said }),
      ...(isUnused && { isUnused }),
    },
  ];
}

interface Done {
  readonly who: Who;
  readonly act: Act['act'];
  readonly said?: unknown;
  readonly isUnused?: true;
}

/** What somebody did by a part of a change; undefined if the run did it itself. */
function doneBy(part: ChangePart, ops: readonly Op[]): Done | undefined {
  const { kind, by, sender, detail, step } = part;
  if (kind === 'start' || kind === 'fork') return { who: part, act: kind, said: detail };
  if (kind === 'signal') return { who: part, act: kind, said: detail };
  if (kind === 'answer' && by === 'signal') return { who: sender ?? {}, act: 'signal', said: answerIn(ops, step) };
  if (kind === 'answer' && isAct(by)) return { who: part, act: kind, said: answerIn(ops, step) };
  if (kind === 'changed' && isAct(by)) {
    const { answer } = (detail ?? {}) as { readonly answer?: unknown };
    return { who: part, act: 'answer', said: answer, isUnused: true };
  }
  if (kind === 'cancel') return { who: part, act: kind, said: detail };
  if (kind === 'end' && part.status === 'cancelled' && (by !== undefined || detail !== undefined))
    return { who: part, act: 'cancel', said: detail };
  if (kind === 'resume' && by !== undefined) return { who: part, act: kind, said: part.budget };
  return undefined;
}

/** What closed the call of a step in this checkpoint; undefined if it is large, or no step's. */
function answerIn(ops: readonly Op[], step: string | undefined): unknown {
  const set = ops.findLast(
    ([kind, path]) => kind === 's' && step !== undefined && path.at(-1) === step && path.at(-2) === 'steps',
  );
  const { output } = (set?.[2] ?? {}) as { readonly output?: unknown };
  return typeof output === 'object' && output !== null && 'sizeBytes' in output ? undefined : output;
}

/** What is posted and not taken yet. */
async function pendingActs({ store, tenant }: ReadContext, runId: string): Promise<readonly Act[]> {
  const rows = await store.readMessages({ tenant, runId });
  return rows.flatMap((row): readonly Act[] => {
    const { at } = row;
    const done = postedBy(row);
    if (done === undefined) return [];
    const { who, act, said } = done;
    const wait = act === 'answer' ? { wait: row.name } : {};
    return [{ at, act, ...whoOf(who), runId, isPending: true, ...wait, ...(said !== undefined && { said }) }];
  });
}

interface Posted extends Who {
  readonly value?: unknown;
  readonly signal?: string;
  readonly sender?: Who;
  readonly reason?: string;
}

function postedBy({ kind, body }: MessageRow): Done | undefined {
  if (kind === 'effect') return undefined;
  const posted = (body.byteLength === 0 ? {} : decodeJson(asBuffer(body).toString())) as Posted;
  const { value, signal, sender = {}, reason } = posted;
  if (kind === 'signal') return { who: sender, act: kind, said: signal };
  if (kind === 'cancel') return { who: posted, act: kind, said: reason };
  return isAct(posted.by) ? { who: posted, act: kind, said: value } : undefined;
}
