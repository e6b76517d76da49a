/** Posts answers. Each is checked against its question, and durable before it is acknowledged (W2, W3, O1). */
import { loadState, readHistory } from '../../history/load/load.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { RunRow, OpenWait, WaitQuery } from '../../ports/store.ts';
import { isRunOver, type RunTree, type WaitRecord } from '../../state/tree.ts';
import { type AnswerFormat, admitExternal, takeFiles, checkAnswer, readAnswer } from '../validate/admit-input.ts';
import { type KnownWait, nodeNameOf, waitsNamed } from '../validate/find-wait.ts';
import { placeOf } from '../visit-records/list-record.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { CairnError } from '../../errors.ts';
import { isDeepStrictEqual } from 'node:util';
import { schemaFault, type Schema } from '../../schema/json-schema.ts';
import { postSealed, readMessagesIntact, readWait } from '../../history/stored/messages.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { AnswerOptions, OpenQuestion } from '../api.ts';
import { messageBody } from '../run-loop/message-intake.ts';
import { checkId } from '../validate/admit-outcome.ts';

// The waits of a run that were answered, read from its history.

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
function waitsSetBy(ops: readonly unknown[]): readonly (readonly [waitId: string, wait: WaitRecord])[] {
  return (ops as readonly (readonly [op: string, path: readonly string[], value: unknown])[]).flatMap(
    ([op, path, value]) => {
      if (op !== 's' || path[0] !== 'waits') return [];
      if (path.length === 1) return Object.entries(value as RunTree['waits']);
      return path.length === 2 ? [[path[1] as string, value as WaitRecord] as const] : [];
    },
  );
}

// The row of a run that must be there.

/** @throws RUN_NOT_FOUND */
export async function requireRun({ store, tenant }: EngineEnvironment, runId: string): Promise<RunRow> {
  const run = await store.readRun({ tenant, runId });
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
  return run;
}

const encoder = new TextEncoder();

/** A wait and the answer to it. */
type SubmittedAnswer = readonly [waitId: string, value: unknown];

/** An answer that fits its question, ready to be posted. */
interface FittingAnswer {
  readonly waitId: string;
  /** What the answer stands for, such as the value of a choice. @throws ANSWER_INVALID */
  readonly meaning: (question: AnswerFormat) => unknown;
  /** What it stands for in its question, if that is open; otherwise what it would if anything were an answer. */
  readonly meant: unknown;
  readonly body: Uint8Array;
  /** Whether the question is in the index of open waits. */
  readonly isOpen: boolean;
}

/**
 * Posts all answers or none: first, each must fit a question that has no other answer. Only somebody else's answer in between can stop the
 * rest.
 * @returns the values recorded, in order, which for choices are those that were meant
 * @throws RUN_NOT_FOUND, WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID, STORE_CORRUPT a question is damaged
 */
export async function postAnswers(
  env: EngineEnvironment,
  runId: string,
  answers: readonly SubmittedAnswer[],
  options: AnswerOptions = {},
): Promise<readonly unknown[]> {
  const run = await requireRun(env, runId);
  const open = new Map((await listOpenWaits(env, runId)).map((wait) => [wait.waitId, wait]));
  const fitting: FittingAnswer[] = [];
  const faults: string[] = [];
  for (const [waitId, value] of answers) {
    const wait = open.get(waitId);
    try {
      fitting.push(await fitAnswer(env, runId, { waitId, wait, value }, options));
    } catch (error) {
      if (!CairnError.is(error, 'ANSWER_INVALID')) throw error;
      if (answers.length === 1) throw error;
      faults.push(`${wait === undefined ? waitId : nodeNameOf(wait)}: ${String(error.data['reason'])}`);
    }
  }
  if (faults.length > 0)
    throw new CairnError('ANSWER_INVALID', {
      reason: `${faults.join('; ')}; none of the ${answers.length} was taken`,
    });
  if (fitting.length > 1) await refuseTaken(env, runId, fitting);
  // Answers to closed questions are more likely to be refused, so they are posted first, when nothing is recorded yet.
  const recorded = new Map<FittingAnswer, unknown>();
  for (const answer of fitting.toSorted((a, b) => Number(a.isOpen) - Number(b.isOpen)))
    recorded.set(answer, await post(env, run, answer));
  return fitting.map((answer) => recorded.get(answer));
}

async function fitAnswer(
  env: EngineEnvironment,
  runId: string,
  answer: { readonly waitId: string; readonly wait: OpenQuestion | undefined; readonly value: unknown },
  { by = 'person', readsTexts = false }: AnswerOptions,
): Promise<FittingAnswer> {
  const { waitId, wait: open, value } = answer;
  if (open?.isDamaged === true) throw damagedWait(env.store.name, runId, waitId);
  const meaning = (question: AnswerFormat): unknown => {
    const read = readsTexts && typeof value === 'string' ? readAnswer(question, value) : value;
    return checkAnswer(question, admitExternal(env, read, ['answer'], 'the answer').value);
  };
  const meant = meaning(open ?? {});
  await takeFiles(env, meant, 'the answer');
  const body = encoder.encode(encodeValue({ value: meant, by }));
  return { waitId, meaning, meant, body, isOpen: open !== undefined };
}

/** @throws WAIT_CLOSED a question has another answer that the run has not taken yet */
async function refuseTaken(
  { store, tenant }: EngineEnvironment,
  runId: string,
  answers: readonly FittingAnswer[],
): Promise<void> {
  const posted = (await store.readMessages({ tenant, runId })).filter(({ kind }) => kind === 'answer');
  const first = new Map(posted.map(({ name, body }) => [name, body]));
  for (const { waitId, meant } of answers) {
    const other = first.get(waitId);
    if (other !== undefined && !isDeepStrictEqual(messageBody(other).value, meant))
      throw closedBy(runId, waitId, other);
  }
}

/** @returns the value recorded. @throws WAIT_CLOSED the question has another answer; WAIT_NOT_FOUND */
async function post(env: EngineEnvironment, run: RunRow, answer: FittingAnswer): Promise<unknown> {
  const { waitId, body, meant } = answer;
  const { tenant, runId } = run;
  const reply = await postSealed(env.store, { tenant, runId, kind: 'answer', name: waitId, body, at: env.clock.now() });
  if (reply.status === 'taken') {
    const { value } = messageBody(reply.first);
    if (await stoodFor(env, run, answer, value)) return value;
    throw closedBy(runId, waitId, reply.first);
  }
  if (reply.status !== 'closed') return meant;
  const known = await answeredAs(env, run, waitId);
  if (known === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, waitId, open: 'open ', ...statusOf(run) });
  return post(env, run, { ...answer, waitId: known });
}

/** How a run ended that takes no answers. */
function statusOf({ status }: RunRow): { readonly status?: string } {
  return isRunOver(status) ? { status } : {};
}

/** Whether an answer stands for the value that is recorded already, whoever gave that. The question may be in the history alone by now. */
async function stoodFor(
  env: EngineEnvironment,
  run: RunRow,
  { waitId, isOpen, meaning, meant }: FittingAnswer,
  recorded: unknown,
): Promise<boolean> {
  if (isDeepStrictEqual(meant, recorded)) return true;
  if (isOpen) return false;
  const closed = (await readAnswered(env, run, run.head)).find((wait) => wait.waitId === waitId);
  try {
    return isDeepStrictEqual(meaning(closed?.question ?? {}), recorded);
  } catch (error) {
    if (CairnError.is(error, 'ANSWER_INVALID')) return false;
    throw error;
  }
}

/**
 * The id of the answered wait that a name means, so that an answer which is repeated after the run's end is acknowledged by name too. While
 * a run goes on, the name may be meant for its next question.
 */
async function answeredAs(env: EngineEnvironment, run: RunRow, name: string): Promise<string | undefined> {
  if (statusOf(run).status === undefined) return undefined;
  const found = ofLastVisit(waitsNamed(await readAnswered(env, run, run.head), name));
  return found.length === 1 && found[0]?.waitId !== name ? found[0]?.waitId : undefined;
}

function closedBy(runId: string, waitId: string, body: Uint8Array): CairnError {
  const { by = 'person', value } = messageBody(body);
  return new CairnError('WAIT_CLOSED', { runId, waitId, by, answer: value });
}

/** All open waits of a run, or those of some kinds, read from the index. */
export async function listOpenWaits(
  env: EngineEnvironment,
  runId: string,
  kinds?: WaitQuery['kinds'],
): Promise<readonly OpenQuestion[]> {
  const questions: OpenQuestion[] = [];
  for await (const row of openWaits(env, { runId, ...(kinds !== undefined && { kinds }) }))
    questions.push(readWait(row));
  return questions;
}

async function* openWaits(env: EngineEnvironment, query: Pick<WaitQuery, 'runId' | 'kinds'>): AsyncGenerator<OpenWait> {
  let cursor: string | undefined;
  do {
    const page = await env.store.listWaits({
      tenant: env.tenant,
      ...query,
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

function damagedWait(store: string, runId: string, waitId: string): CairnError {
  const reason = `the row of question ${waitId} of run ${runId} does not fit its checksum; the run's own history has the question`;
  return new CairnError('STORE_CORRUPT', { store, reason });
}

// Posts a signal. It is durable before it is acknowledged, and pending if nothing waits for it yet (W5, O1).

/**
 * @throws RUN_NOT_FOUND, RUN_FINISHED the run has completed or was cancelled, SIGNAL_INVALID it is waited for, and does not fit,
 * ID_INVALID, VALUE_UNSTORABLE, FILE_NOT_FOUND, STORE_CORRUPT a signal that was posted before is damaged
 */
export async function postSignal(
  env: EngineEnvironment,
  runId: string,
  name: string,
  value: unknown,
  id: string = env.ids.createRunId(env.clock.now()),
): Promise<void> {
  const { store, clock, limits, tenant } = env;
  checkId('signal name', name, limits.idBytes);
  checkId('signal id', id, limits.idBytes);
  const { status } = await requireRun(env, runId);
  const admitted = admitExternal(env, value, ['signal'], 'the signal');
  // A failed run may be resumed and then finds its signals.
  const refusal =
    status === 'completed' || status === 'cancelled'
      ? new CairnError('RUN_FINISHED', { runId, status })
      : await misfitOf(env, runId, { name, value: admitted.value });
  if (refusal !== undefined) {
    // What was posted already is that signal, whatever has become of the run since.
    if (await store.hasMessage({ tenant, runId }, { kind: 'signal', name: id })) return;
    throw refusal;
  }
  await takeFiles(env, admitted.value, 'the signal');
  const body = encoder.encode(encodeValue({ signal: name, value: admitted.value }));
  await postSealed(store, { tenant, runId, kind: 'signal', name: id, body, at: clock.now() });
}

/**
 * Why a signal is refused that would close a wait whose schema it does not fit: whoever sends it hears of it now, and the run goes on
 * waiting. Signals that are posted and not taken yet close the waits that are older.
 */
async function misfitOf(
  env: EngineEnvironment,
  runId: string,
  { name, value }: { readonly name: string; readonly value: unknown },
): Promise<CairnError | undefined> {
  const found = await listOpenWaits(env, runId, ['signal']);
  const waits = found.filter((wait) => wait.name === name);
  if (waits.every(({ schema }) => schema === undefined)) return undefined;
  const posted = (await readMessagesIntact(env.store, { tenant: env.tenant, runId })).filter(
    (message) => message.kind === 'signal' && messageBody(message.body).signal === name,
  );
  const openedAt = waits.map((wait) => wait.openedAt ?? 0).toSorted((a, b) => a - b)[posted.length];
  // Of those opened in the same millisecond the order is not known here.
  const meant = waits.filter((wait) => (wait.openedAt ?? 0) === openedAt);
  const faults = meant.map(({ schema }) =>
    schema === undefined ? undefined : schemaFault(schema as Schema, value, 'the value'),
  );
  const reason = faults.every((fault) => fault !== undefined) ? faults[0] : undefined;
  if (reason === undefined) return undefined;
  return new CairnError('SIGNAL_INVALID', { name, node: nodeNameOf(meant[0] as OpenQuestion), reason });
}
