/** Posts answers. Each is checked against its question, and durable before it is acknowledged (W2, W3, O1). */
import { isDeepStrictEqual } from 'node:util';
import { CairnError } from '../../errors.ts';
import { postSealed } from '../../history/stored/messages.ts';
import { readWait } from '../../history/stored/open-waits.ts';
import type { OpenWait, RunRow } from '../../ports/store.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { AnswerOptions, OpenQuestion } from '../api.ts';
import { nodeNameOf, waitsNamed } from '../admit/find-wait.ts';
import { admitGiven } from '../admit/admit-given.ts';
import { takeFiles } from '../admit/take-files.ts';
import { checkAnswer, type Asked } from '../admit/check-answer.ts';
import { readAnswer } from '../admit/read-answer.ts';
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
  /** What the answer stands for, such as the value of a choice. @throws ANSWER_INVALID */
  readonly meaning: (asked: Asked) => unknown;
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
  answers: readonly GivenAnswer[],
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
  // Answers to closed questions are more likely to be refused, so they are posted first, when nothing has been given yet.
  const recorded = new Map<FittingAnswer, unknown>();
  for (const answer of fitting.toSorted((a, b) => Number(a.isOpen) - Number(b.isOpen)))
    recorded.set(answer, await post(env, run, answer));
  return fitting.map((answer) => recorded.get(answer));
}

async function fitAnswer(
  env: EngineEnvironment,
  runId: string,
  given: { readonly waitId: string; readonly wait: OpenQuestion | undefined; readonly value: unknown },
  { by = 'person', readsTexts = false }: AnswerOptions,
): Promise<FittingAnswer> {
  const { waitId, wait: open, value } = given;
  if (open?.isDamaged === true) throw damagedWait(env.store.name, runId, waitId);
  const meaning = (asked: Asked): unknown => {
    const read = readsTexts && typeof value === 'string' ? readAnswer(asked, value) : value;
    return checkAnswer(asked, admitGiven(env, read, ['answer'], 'the answer').value);
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
  return status === 'running' || status === 'paused' ? {} : { status };
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
    return isDeepStrictEqual(meaning(closed?.asked ?? {}), recorded);
  } catch (error) {
    if (CairnError.is(error, 'ANSWER_INVALID')) return false;
    throw error;
  }
}

/**
 * The id of the answered wait that a name means, so that an answer which is repeated after the run's end is acknowledged by name too. While a
 * run goes on, the name may be meant for its next question.
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
