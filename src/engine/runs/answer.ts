/** Posting an answer: checked against its question, durable before it is acknowledged (W2, W3, O1). */
import { CairnError } from '../../errors.ts';
import type { OpenWait } from '../../ports/store.ts';
import { decodeJson, encodeValue, admitValue } from '../../state/values/codec.ts';
import type { WaitRecord } from '../../state/tree.ts';
import type { OpenQuestion } from '../api.ts';
import { checkAnswer } from '../admit/check-answer.ts';
import { messageBody } from '../drive/message-intake.ts';
import { redactorOf } from '../run/redact.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @returns the value recorded: the choice that was meant. @throws RUN_NOT_FOUND, WAIT_NOT_FOUND, WAIT_CLOSED, ANSWER_INVALID */
export async function postAnswer(
  env: EngineEnvironment,
  runId: string,
  waitId: string,
  value: unknown,
  by: string,
): Promise<unknown> {
  const { store, clock, tenant, limits } = env;
  const run = await store.readRun({ tenant, runId });
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
  const open = await findOpenWait(env, runId, waitId);
  const admitted = admitValue(value, ['answer'], limits, redactorOf(env));
  const meant = open === undefined ? admitted.value : checkAnswer(waitOf(open), admitted.value);
  const body = encoder.encode(encodeValue({ value: meant, by }));
  const reply = await store.postMessage({ tenant, runId, kind: 'answer', name: waitId, body, at: clock.now() });
  if (reply.status === 'accepted' || reply.status === 'equal') return meant;
  if (reply.status !== 'taken') throw new CairnError('WAIT_NOT_FOUND', { runId, waitId });
  const first = messageBody(reply.first);
  throw new CairnError('WAIT_CLOSED', { runId, waitId, by: first.by ?? 'person', answer: first.value });
}

/** Every open wait of a run, from the index. */
export async function listOpenWaits(env: EngineEnvironment, runId: string): Promise<readonly OpenQuestion[]> {
  const questions: OpenQuestion[] = [];
  for await (const row of openWaits(env, runId)) questions.push({ ...waitOf(row), waitId: row.waitId, runId });
  return questions;
}

async function findOpenWait(env: EngineEnvironment, runId: string, waitId: string): Promise<OpenWait | undefined> {
  for await (const row of openWaits(env, runId)) if (row.waitId === waitId) return row;
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

function waitOf({ body }: OpenWait): WaitRecord {
  return decodeJson(decoder.decode(body)) as WaitRecord;
}
