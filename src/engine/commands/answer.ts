/** Checks answers against their questions and posts them, and lists what is still open (W3, W9). */
import type { RunRow, OpenWait, WaitQuery } from '../../ports/store.ts';
import { isRunOver } from '../../state/tree.ts';
import { type AnswerFormat, checkAnswer } from '../validate/check-answer.ts';
import { admitExternal, takeFiles } from '../validate/admit-input.ts';
import { readAnswer } from '../validate/read-answer.ts';
import { nodeNameOf, waitsNamed } from '../validate/find-wait.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { CairnError } from '../../errors.ts';
import { isDeepStrictEqual } from 'node:util';
import { postSealed } from '../../history/stored/messages.ts';
import { readWait } from '../../history/stored/wait-row.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { Acting, AnswerOptions, OpenQuestion } from '../api.ts';
import { messageBody } from '../run-loop/message-intake.ts';
import { requireRun } from '../live-run/require-run.ts';
import { readAnswered, ofLastVisit } from './answered.ts';
import { actorIn, isBound } from '../validate/whose-answer.ts';
import { refuseTwoSeats, secondSeat, seatsOf, type Seats } from './answer-rules.ts';

const encoder = new TextEncoder();

/** What is not open any more takes no seat: its answer is only repeated. */
const none: Seats = new Map();

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
  readonly seats: Seats;
}

/**
 * Posts all answers or none: first, each must fit a question that has no other answer. Only somebody else's answer in between can stop the
 * rest.
 * @returns the values recorded, in order, which for choices are those that were meant
 * @throws RUN_NOT_FOUND, WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID, ANSWER_RESERVED (W8), STORE_CORRUPT a question is damaged
 */
export async function postAnswers(
  env: EngineEnvironment,
  runId: string,
  answers: readonly SubmittedAnswer[],
  options: AnswerOptions = {},
): Promise<readonly unknown[]> {
  const run = await requireRun(env, runId);
  const waits = await listOpenWaits(env, runId);
  const open = new Map(waits.map((wait) => [wait.waitId, wait]));
  const fitting: FittingAnswer[] = [];
  const faults: string[] = [];
  for (const [waitId, value] of answers) {
    const wait = open.get(waitId);
    try {
      const seats = wait === undefined ? none : await seatsOf(env, run, { wait, open: waits }, options);
      fitting.push({ ...(await fitAnswer(env, runId, { waitId, wait, value }, options)), seats });
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
  if (fitting.length > 1) {
    refuseTwoSeats(runId, fitting, options);
    await refuseTaken(env, runId, fitting);
  }
  // Answers to closed questions are more likely to be refused, so they are posted first, when nothing is recorded yet.
  const recorded = new Map<FittingAnswer, unknown>();
  for (const answer of fitting.toSorted((a, b) => Number(a.isOpen) - Number(b.isOpen)))
    recorded.set(answer, await post(env, run, answer, options));
  return fitting.map((answer) => recorded.get(answer));
}

async function fitAnswer(
  env: EngineEnvironment,
  runId: string,
  answer: { readonly waitId: string; readonly wait: OpenQuestion | undefined; readonly value: unknown },
  options: AnswerOptions,
): Promise<Omit<FittingAnswer, 'seats'>> {
  const { waitId, wait: open, value } = answer;
  const { by = 'person', readsTexts = false } = options;
  if (open?.isDamaged === true) throw damagedWait(env.store.name, runId, waitId);
  if (open?.kind === 'refused')
    throw new CairnError('WAIT_REFUSED', { runId, waitId, what: open.prompt ?? 'is refused' });
  const meaning = (question: AnswerFormat): unknown => {
    const read = readsTexts && typeof value === 'string' ? readAnswer(question, value) : value;
    return checkAnswer(question, admitExternal(env, read, ['answer'], 'the answer').value);
  };
  const meant = meaning(open ?? {});
  await takeFiles(env, meant, 'the answer');
  const isRuled = open !== undefined && isBound(open);
  const body = encoder.encode(encodeValue({ value: meant, ...actorIn(options), by, ...(isRuled && { isRuled }) }));
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

/** @returns the value recorded. @throws WAIT_CLOSED the question has another answer; WAIT_NOT_FOUND; ANSWER_RESERVED */
async function post(env: EngineEnvironment, run: RunRow, answer: FittingAnswer, who: Acting): Promise<unknown> {
  const { waitId, body, meant, seats } = answer;
  const { tenant, runId } = run;
  const message = { tenant, runId, kind: 'answer', name: waitId, body, at: env.clock.now() } as const;
  const reply = await postSealed(env.store, { ...message, ...(seats.size > 0 && { seats: [...seats.keys()] }) });
  if (reply.status === 'seated') {
    const at = seats.get(reply.seat);
    if (at === undefined || [waitId, reply.holder].includes(at.waitId))
      throw secondSeat(runId, at ?? { node: [] }, who);
    // The seat at that question is kept free by an answer to a third one, so nobody answers both this and that.
    const others = new Map([...seats].filter(([seat]) => seat !== reply.seat));
    return post(env, run, { ...answer, seats: others }, who);
  }
  if (reply.status === 'taken') {
    const { value } = messageBody(reply.first);
    if (await stoodFor(env, run, answer, value)) return value;
    throw closedBy(runId, waitId, reply.first);
  }
  if (reply.status !== 'closed') return meant;
  const known = await answeredAs(env, run, waitId);
  if (known === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, waitId, open: 'open ', ...statusOf(run) });
  return post(env, run, { ...answer, waitId: known }, who);
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
