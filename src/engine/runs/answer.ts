/** Posting an answer: checked against its question, durable before it is acknowledged (W2, W3, O1). */
import { CairnError } from '../../errors.ts';
import { postSealed } from '../../history/stored/messages.ts';
import { readWait } from '../../history/stored/open-waits.ts';
import type { OpenWait } from '../../ports/store.ts';
import { encodeValue } from '../../state/values/codec.ts';
import type { OpenQuestion } from '../api.ts';
import { admitGiven } from '../admit/admit-given.ts';
import { takeFiles } from '../admit/take-files.ts';
import { checkAnswer } from '../admit/check-answer.ts';
import { messageBody } from '../drive/message-intake.ts';
import { requireRun } from './require-run.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

const encoder = new TextEncoder();

/** @returns the value recorded: the choice that was meant. @throws RUN_NOT_FOUND, WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID, STORE_CORRUPT the question is damaged */
export async function postAnswer(
  env: EngineEnvironment,
  runId: string,
  waitId: string,
  value: unknown,
  by: string,
): Promise<unknown> {
  const { store, clock, tenant } = env;
  await requireRun(env, runId);
  const open = await findOpenWait(env, runId, waitId);
  const admitted = admitGiven(env, value, ['answer'], 'the answer');
  if (open?.isDamaged === true) throw damagedWait(store.name, runId, waitId);
  await takeFiles(env, admitted.value, 'the answer');
  const meant = open === undefined ? admitted.value : checkAnswer(open, admitted.value);
  const body = encoder.encode(encodeValue({ value: meant, by }));
  const reply = await postSealed(store, { tenant, runId, kind: 'answer', name: waitId, body, at: clock.now() });
  if (reply.status === 'accepted' || reply.status === 'equal') return meant;
  if (reply.status !== 'taken') throw new CairnError('WAIT_NOT_FOUND', { runId, waitId });
  const first = messageBody(reply.first);
  throw new CairnError('WAIT_CLOSED', { runId, waitId, by: first.by ?? 'person', answer: first.value });
}

/** Every open wait of a run, from the index. */
export async function listOpenWaits(env: EngineEnvironment, runId: string): Promise<readonly OpenQuestion[]> {
  const questions: OpenQuestion[] = [];
  for await (const row of openWaits(env, runId)) questions.push(readWait(row));
  return questions;
}

async function findOpenWait(env: EngineEnvironment, runId: string, waitId: string): Promise<OpenQuestion | undefined> {
  for await (const row of openWaits(env, runId)) if (row.waitId === waitId) return readWait(row);
  return undefined;
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
