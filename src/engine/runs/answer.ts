/** Posts answers. Each is checked against its question, and durable before it is acknowledged (W2, W3, O1). */
import { CairnError } from '../../errors.ts';
import { postSealed } from '../../history/stored/messages.ts';
import { readWait } from '../../history/stored/open-waits.ts';
import type { OpenWait, RunRow } from '../../ports/store.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { OpenQuestion } from '../api.ts';
import { nodeNameOf, waitsNamed } from '../admit/find-wait.ts';
import { admitGiven } from '../admit/admit-given.ts';
import { takeFiles } from '../admit/take-files.ts';
import { checkAnswer } from '../admit/check-answer.ts';
import { messageBody } from '../drive/message-intake.ts';
import { ofLastVisit, readAnswered } from './answered-waits.ts';
import { requireRun } from './require-run.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

const encoder = new TextEncoder();

/** A wait and the answer to it. */
type GivenAnswer = readonly [waitId: string, value: unknown];

/** An answer that fits its question, ready to be posted. */
interface FittingAnswer {
  readonly waitId: string;
  /** The value of the choice that was meant. */
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
  answers: readonly GivenAnswer[],
  by: string,
): Promise<readonly unknown[]> {
  const run = await requireRun(env, runId);
  const open = new Map((await listOpenWaits(env, runId)).map((wait) => [wait.waitId, wait]));
  const fitting: FittingAnswer[] = [];
  const faults: string[] = [];
  for (const [waitId, value] of answers) {
    const wait = open.get(waitId);
    try {
      fitting.push(await fitAnswer(env, runId, { waitId, wait, value, by }));
    } catch (error) {
      if (answers.length === 1 || !CairnError.is(error, 'ANSWER_INVALID')) throw error;
      faults.push(`${wait === undefined ? waitId : nodeNameOf(wait)}: ${String(error.data['reason'])}`);
    }
  }
  if (faults.length > 0)
    throw new CairnError('ANSWER_INVALID', { reason: `${faults.join('; ')}; none of the ${answers.length} was taken` });
  if (fitting.length > 1) await refuseTaken(env, runId, fitting);
  // Answers to closed questions are more likely to be refused, so they are posted first, when nothing has been given yet.
  for (const answer of fitting.toSorted((a, b) => Number(a.isOpen) - Number(b.isOpen))) await post(env, run, answer);
  return fitting.map(({ meant }) => meant);
}

async function fitAnswer(
  env: EngineEnvironment,
  runId: string,
  given: {
    readonly waitId: string;
    readonly wait: OpenQuestion | undefined;
    readonly value: unknown;
    readonly by: string;
  },
): Promise<FittingAnswer> {
  const { waitId, wait: open, value, by } = given;
  const admitted = admitGiven(env, value, ['answer'], 'the answer');
  if (open?.isDamaged === true) throw damagedWait(env.store.name, runId, waitId);
  await takeFiles(env, admitted.value, 'the answer');
  const meant = open === undefined ? admitted.value : checkAnswer(open, admitted.value);
  return { waitId, meant, body: encoder.encode(encodeValue({ value: meant, by })), isOpen: open !== undefined };
}

/** @throws WAIT_CLOSED a question has another answer that the run has not taken yet */
async function refuseTaken(
  { store, tenant }: EngineEnvironment,
  runId: string,
  answers: readonly FittingAnswer[],
): Promise<void> {
  const posted = (await store.readMessages({ tenant, runId })).filter(({ kind }) => kind === 'answer');
  const first = new Map(posted.map(({ name, body }) => [name, body]));
  for (const { waitId, body } of answers) {
    const other = first.get(waitId);
    if (other !== undefined && !Buffer.from(other).equals(body)) throw closedBy(runId, waitId, other);
  }
}

async function post(env: EngineEnvironment, run: RunRow, answer: FittingAnswer): Promise<void> {
  const { waitId, body } = answer;
  const { tenant, runId } = run;
  const reply = await postSealed(env.store, { tenant, runId, kind: 'answer', name: waitId, body, at: env.clock.now() });
  if (reply.status === 'taken') throw closedBy(runId, waitId, reply.first);
  if (reply.status !== 'closed') return;
  const meant = await answeredAs(env, run, waitId);
  if (meant === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, waitId, open: 'open ' });
  await post(env, run, { ...answer, waitId: meant });
}

/**
 * The id of the answered wait that a name means, so that an answer which is repeated after the run's end is acknowledged by name too. While a
 * run goes on, the name may be meant for its next question.
 */
async function answeredAs(env: EngineEnvironment, run: RunRow, name: string): Promise<string | undefined> {
  if (run.status === 'running' || run.status === 'paused') return undefined;
  const found = ofLastVisit(waitsNamed(await readAnswered(env, run, run.head), name));
  return found.length === 1 && found[0]?.waitId !== name ? found[0]?.waitId : undefined;
}

function closedBy(runId: string, waitId: string, body: Uint8Array): CairnError {
  const { by = 'person', value } = messageBody(body);
  return new CairnError('WAIT_CLOSED', { runId, waitId, by, answer: value });
}

/** All open waits of a run, read from the index. */
export async function listOpenWaits(env: EngineEnvironment, runId: string): Promise<readonly OpenQuestion[]> {
  const questions: OpenQuestion[] = [];
  for await (const row of openWaits(env, runId)) questions.push(readWait(row));
  return questions;
}

async function* openWaits(env: EngineEnvironment, runId: string): AsyncGenerator<OpenWait> {
  let cursor: string | undefined;
  do {
    const page = await env.store.listWaits({ tenant: env.tenant, runId, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.rows;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

function damagedWait(store: string, runId: string, waitId: string): CairnError {
  const reason = `the row of question ${waitId} of run ${runId} does not fit its checksum; the run's own history has the question`;
  return new CairnError('STORE_CORRUPT', { store, reason });
}
