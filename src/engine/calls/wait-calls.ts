/** `ctx.ask`, `ctx.sleepUntil` and `ctx.receive`: questions, timers and signals of a composed node (X4, W). */
import { isDeepStrictEqual } from 'node:util';
import { CairnError } from '../../errors.ts';
import type { Question, ReceiveOptions } from '../../graph/contracts/node-contract.ts';
import type { StandardSchema } from '../../graph/graph.ts';
import type { OnWaiting } from '../../graph/contracts/parts.ts';
import { questionFault } from '../../graph/validate/validate-calls.ts';
import { admitValue, type Admitted } from '../../state/values/admit.ts';
import { deepFreeze } from '../../state/values/freeze.ts';
import type { LateEvent, StepKind, StepRecord, WaitRecord } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { defaultAnswerOf } from '../validate/check-answer.ts';
import { schemaDefect, type Schema } from '../../schema/json-schema.ts';
import {
  isStandardSchema,
  jsonSchemaOf,
  firstFault,
  validateStandard,
  wideJsonSchemaOf,
} from '../../schema/standard-schema.ts';
import { earlySignalOf, findEarlySignal } from '../waits/early-signals.ts';
import { admitError } from '../validate/admit-error.ts';
import { offloadValue } from '../validate/offload.ts';
import { codeOf, compareWait, identityOfQuestion, type KnownWait, type WaitIdentity } from '../waits/changed-waits.ts';
import { openWait } from '../waits/open-wait.ts';
import { type Due, type TakenRecord, type RunCore, guardCall, never, refusal } from '../live-run/run-core.ts';
import { inputHashOf } from '../settle/settle.ts';
import { admitStep, checkStepCount, finishStep } from '../visit-records/finish-step.ts';
import { keyAcrossSaves, nextStepKey, recordedStep } from '../visit-records/call-keys.ts';
import { giveBack, inTurn } from '../waits/give-back.ts';
import { beginCall, endCall, leaveAtWait } from '../waits/leave-at-wait.ts';
import { sentByParent, waitIdOf } from '../waits/wait.ts';
import { enterEvents } from '../visit-records/recorded-events.ts';
import { timesDrawn } from '../visit-records/drawn-values.ts';
import { ensureSteps, setStep } from '../visit-records/step-record.ts';

const nothing: Admitted = { value: undefined, json: 'null', hasTags: false };

interface WaitCall {
  readonly kind: StepKind;
  readonly name: string;
  readonly wait: WaitRecord;
  /** How long it stays open, in ms from when it is opened, if not until a time that is given. */
  readonly timeoutMs?: number | undefined;
  /** Of a question: what is to come of it while nobody answers, if it is opened now. */
  readonly late?: ((now: number) => readonly LateEvent[]) | undefined;
  readonly identity: WaitIdentity;
  readonly onWaiting: OnWaiting | undefined;
  /** Of a signal: false where only one that has come is taken. Default true. */
  readonly waits?: boolean | undefined;
  /** Of a signal: what its value must fit. */
  readonly schema?: StandardSchema | undefined;
}

/** Returns what ended the wait if that is recorded. Otherwise opens the wait, and the function stops here. */
async function waitFor(core: RunCore, activation: Activation, call: WaitCall): Promise<unknown> {
  const key = nextStepKey(core, activation, call.name);
  activation.notePart(key, call.onWaiting);
  const known = compareWait(core, activation, key, recordedStep(activation, key), call.identity);
  const { recorded, fault } = known;
  if (fault !== undefined) throw failCall(core, activation, key, fault);
  const isPart = call.onWaiting !== undefined;
  if (recorded?.status === 'done' || recorded?.status === 'failed') {
    const value = await giveBack(core, activation, recorded, isPart);
    return checkSignal(core, activation, key, call, value);
  }
  const { generation } = activation;
  beginCall(core, activation);
  try {
    const pause = core.env.pace.turn();
    if (pause !== undefined) await pause;
    const refused = refusal(core, activation);
    if (refused !== undefined) await refused;
    // A signal that arrives during this search finds no open wait and becomes pending, so the search is repeated.
    const isSignalPending = (): boolean =>
      recorded === undefined &&
      call.kind === 'signal' &&
      earlySignalOf(core, activation.frameRun, call.name) !== undefined;
    do {
      const ended = recorded === undefined ? await finishKnown(core, activation, key, call) : undefined;
      if (ended !== undefined) {
        endCall(core, activation);
        return checkSignal(core, activation, key, call, ended.output);
      }
      if (activation.generation !== generation || activation.phase !== 'running') return never();
    } while (isSignalPending());
    if (call.waits === false && recorded === undefined) return noneCame(core, activation, key, call);
    openCall(core, activation, key, call, known);
  } catch (error) {
    if (activation.generation === generation) endCall(core, activation);
    throw error;
  }
  await leaveAtWait(core, activation, key);
  const closed = recordedStep(activation, key) as StepRecord;
  if (!isPart) await inTurn(core, activation, closed.order);
  endCall(core, activation);
  if (closed.status === 'failed') throw closed.error;
  return checkSignal(core, activation, key, call, deepFreeze(closed.output));
}

/**
 * What a signal's schema makes of its value, each time it is read: what is recorded is the value that was sent. One that does not fit fails
 * the call, on record.
 */
async function checkSignal(
  core: RunCore,
  activation: Activation,
  key: string,
  { name, schema, waits, wait }: WaitCall,
  value: unknown,
): Promise<unknown> {
  if (schema === undefined || (waits === false && value === undefined)) return value;
  const { generation } = activation;
  const { value: valid, faults } = await validateStandard(schema, value);
  if (faults === undefined) return valid;
  const fault = new CairnError('SIGNAL_INVALID', { name, node: wait.node.join('/'), ...firstFault(faults) });
  if (activation.generation !== generation || activation.phase !== 'running') return never();
  throw failCall(core, activation, key, fault, 'signal');
}

/** Fails a call, on record: its function gets the same failure until its next attempt, which asks anew. */
function failCall(
  core: RunCore,
  activation: Activation,
  key: string,
  fault: CairnError,
  kind: 'ask' | 'signal' = 'ask',
): CairnError {
  const { value: error } = admitError(core, fault, [...activation.path, key]);
  setStep(core, activation.path, key, { kind, status: 'failed', error });
  return fault;
}

/** It is on record that no signal had come: a repeated function finds none, too. */
function noneCame(core: RunCore, activation: Activation, key: string, { kind }: WaitCall): undefined {
  finishStep(core, activation, key, { kind, status: 'done' }, nothing);
  endCall(core, activation);
  return undefined;
}

/** If something has ended the wait already, records that before the wait is opened. A signal taken by another call meanwhile is skipped. */
async function finishKnown(
  core: RunCore,
  activation: Activation,
  key: string,
  call: WaitCall,
): Promise<{ readonly output: unknown } | undefined> {
  const { generation } = activation;
  for (;;) {
    const known = await findKnown(core, activation, key, call);
    if (known === undefined) return undefined;
    if (activation.generation !== generation || activation.phase !== 'running') return never();
    if (!known.take()) continue;
    const step: StepRecord = { kind: call.kind, status: 'done', by: known.by, ...identityIn(core, activation, call) };
    return { output: finishStep(core, activation, key, step, known.admitted, known.from) };
  }
}

interface KnownEnd {
  readonly admitted: Admitted;
  readonly by: string;
  /** The ancestor's record that it was taken from, if any. */
  readonly from?: TakenRecord;
  /** Records that it was taken. Returns false if another call was first. */
  readonly take: () => boolean;
}

/**
 * Finds what ends a wait before it is opened: an early signal, or a result recorded by a fork's ancestor. It is taken in the same
 * checkpoint that records it.
 */
async function findKnown(
  core: RunCore,
  activation: Activation,
  key: string,
  { kind, name, identity: { fingerprint, older } }: WaitCall,
): Promise<KnownEnd | undefined> {
  const admit = (value: unknown): Promise<Admitted> => offloadValue(core, admitStep(core, activation, key, value));
  const early = kind === 'signal' ? await findEarlySignal(core, activation.frameRun, name, admit) : undefined;
  if (early !== undefined) return early;
  // There what ended the wait comes in recorded order, once nothing else can go on (X7).
  if (core.root.noEffects !== undefined) return undefined;
  const due: Due = {
    activation,
    stepKey: key,
    effect: 'human',
    ownInputHash: undefined,
    questionHashes: [fingerprint, older].filter((hash) => hash !== undefined),
    keyIn: () => '',
  };
  const offer = core.replay?.offer(due, 'any');
  const replayed = offer && (await core.replay?.readStep(due, offer));
  // Signals sent by a child run's parent are not taken over: in a fork the parent's calls are repeated too.
  if (replayed === undefined || replayed.step.by === sentByParent) return undefined;
  const take = (): boolean => {
    core.replay?.noteStep(activation, undefined, replayed);
    return true;
  };
  const { output, by = 'replay' } = replayed.step;
  return { admitted: await admit(output), by, from: replayed.from, take };
}

function openCall(
  core: RunCore,
  activation: Activation,
  key: string,
  call: WaitCall,
  { recorded, changed }: KnownWait,
): void {
  const { kind, name, wait } = call;
  const { fingerprint } = call.identity;
  const record = ensureSteps(activation);
  checkStepCount(core, record);
  const drew = kind === 'ask' && wait.dueAt !== undefined ? timesDrawn(activation) : {};
  enterEvents(core, activation);
  const { replaces, ...again } = changed ?? {};
  const place = [...activation.keyParts, keyAcrossSaves(activation, key)];
  const newId =
    fingerprint === undefined ? undefined : waitIdOf(core.runId, place, `${wait.kind}:${name}:${fingerprint}`);
  const schema = call.schema && checkedAtDoors(core, activation, call.schema);
  const due = dueIn(core, call);
  const opened = {
    ...wait,
    ...due,
    ...(call.late !== undefined && recorded === undefined && { late: call.late(core.env.clock.now()) }),
    ...(replaces !== undefined && { replaces }),
    ...(schema !== undefined && { schema }),
  };
  const waitId = openWait(core, activation, key, opened, recorded?.wait ?? newId);
  if (recorded !== undefined)
    return kind === 'sleep' ? undefined : replaceSchema(core, activation, waitId, schema ?? wait.schema);
  const { hash } = inputHashOf(activation);
  const identity = identityIn(core, activation, call);
  const step: StepRecord = { kind, status: 'open', wait: waitId, hash, ...due, ...drew, ...identity, ...again };
  setStep(core, activation.path, key, step);
}

/** When a wait that is opened now is due. */
function dueIn({ env }: RunCore, { wait, timeoutMs }: WaitCall): Pick<WaitRecord, 'dueAt'> {
  const dueAt = timeoutMs === undefined ? wait.dueAt : env.clock.now() + timeoutMs;
  return dueAt === undefined ? {} : { dueAt };
}

/**
 * What signals must fit when they are sent while the wait is open: JSON Schema, which any process can check. Undefined if the schema has no
 * such form, or one that cannot be stored: then its value is checked when it is received.
 */
function checkedAtDoors(core: RunCore, activation: Activation, schema: StandardSchema): unknown {
  const json = wideJsonSchemaOf(schema);
  try {
    return json && admitValue(json, [...activation.path, 'schema'], core.env.bounds, core.secrets.intake).value;
  } catch (error) {
    if (CairnError.is(error, 'VALUE_UNSTORABLE') || CairnError.is(error, 'VALUE_TOO_LARGE')) return undefined;
    throw error;
  }
}

/** Changed code may take other values or answers: then the open wait's schema is the new one. */
function replaceSchema(core: RunCore, activation: Activation, waitId: string, schema: unknown): void {
  const { schema: before, ...wait } = core.root.waits[waitId] as WaitRecord;
  if (isDeepStrictEqual(before, schema)) return;
  core.draft.openWait(waitId, { ...wait, ...(schema !== undefined && { schema }) });
  core.draft.note({ kind: 'wait', node: activation.path, wait: waitId });
  core.draft.mustCommit = true;
}

/** What the record keeps of a wait, to tell whether a repeated call is for the same. */
function identityIn(
  core: RunCore,
  activation: Activation,
  { kind, identity: { fingerprint } }: WaitCall,
): Partial<StepRecord> {
  return { ...(kind === 'ask' && fingerprint !== undefined && { asked: fingerprint }), code: codeOf(core, activation) };
}

/**
 * Implements `ctx.ask`. @throws NODE_CALL_REFUSED, VALUE_UNSTORABLE, RUN_LIMIT, NODE_TIMED_OUT (its deadline passed and there is no default
 * answer)
 */
export function ask(
  core: RunCore,
  activation: Activation,
  question: Question,
  onWaiting: OnWaiting | undefined,
): Promise<unknown> {
  guardCall(activation, activation.generation, 'ask');
  const schema = checkQuestion(activation, question);
  const name = question.name ?? 'question';
  const wait: WaitRecord = {
    kind: 'question',
    node: activation.path,
    name,
    prompt: question.prompt,
    ...(question.choices === undefined ? {} : { choices: question.choices }),
    ...(question.matching === undefined || question.matching === 'exact' ? {} : { matching: question.matching }),
    ...(schema === undefined ? {} : { schema }),
    ...(question.metadata === undefined ? {} : { metadata: question.metadata }),
    ...(question.isApproval === true && { isApproval: true as const }),
    ...(question.audience === 'user' && { audience: 'user' as const }),
    ...(question.for !== undefined && { for: question.for }),
    ...(question.fourEyes !== undefined && { fourEyes: question.fourEyes }),
    ...(question.deadlineAt === undefined ? {} : { dueAt: question.deadlineAt }),
    ...('defaultAnswer' in question ? { defaultAnswer: defaultAnswerOf(question) } : {}),
  };
  const admitted = admitValue(wait, [...activation.path, name], core.env.bounds, core.secrets.intake)
    .value as WaitRecord;
  const identity = identityOfQuestion(core, wait, question.identity);
  const { timeoutMs } = question;
  const late = lateEventsOf(question);
  return waitFor(core, activation, { kind: 'ask', name, wait: admitted, timeoutMs, late, identity, onWaiting });
}

/** What is to come of a question while nobody answers, in order of time; undefined if nothing. */
function lateEventsOf(question: Question): ((now: number) => readonly LateEvent[]) | undefined {
  const { remindAfterMs = [], escalateAfterMs, escalateTo } = question;
  const events = [
    ...[remindAfterMs].flat().map((afterMs) => ({ afterMs })),
    ...(escalateAfterMs === undefined || escalateTo === undefined
      ? []
      : [{ afterMs: escalateAfterMs, to: escalateTo }]),
  ].toSorted((a, b) => a.afterMs - b.afterMs);
  if (events.length === 0) return undefined;
  return (now) => events.map(({ afterMs, ...event }) => ({ at: now + afterMs, ...event }));
}

function deadlineFault({ deadlineAt, timeoutMs }: Question): string | undefined {
  if (deadlineAt !== undefined && !Number.isFinite(deadlineAt)) return 'its deadline is no time';
  return timeFault(timeoutMs);
}

function timeFault(timeoutMs: number | undefined): string | undefined {
  return timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs >= 0)
    ? undefined
    : 'its timeoutMs is no time in ms';
}

/** Refuses a question that could never be answered, or would never be due. @returns its schema as JSON Schema */
function checkQuestion(activation: Activation, question: Question): Schema | undefined {
  const fault = questionFault(question) ?? deadlineFault(question);
  const exported = fault === undefined ? tellSchema(question) : undefined;
  const reason = fault ?? exported?.fault ?? schemaDefect(exported?.schema);
  if (reason === undefined) return exported?.schema;
  throw new CairnError('NODE_CALL_REFUSED', { call: 'ask', node: activation.path.join('/'), reason });
}

function tellSchema({ schema }: Question): { readonly schema?: Schema; readonly fault?: string } {
  if (!isStandardSchema(schema)) return schema === undefined ? {} : { schema: schema as Schema };
  try {
    return { schema: jsonSchemaOf(schema, 'input', 'its schema') };
  } catch (error) {
    return { fault: String((error as CairnError).data['reason']) };
  }
}

/** Implements `ctx.sleepUntil`. @throws NODE_CALL_REFUSED, RUN_LIMIT */
export async function sleepUntil(
  core: RunCore,
  activation: Activation,
  time: number | Date,
  name: string,
  onWaiting: OnWaiting | undefined,
): Promise<void> {
  guardCall(activation, activation.generation, 'sleepUntil');
  const dueAt = typeof time === 'number' ? time : time.getTime();
  if (!Number.isFinite(dueAt))
    throw new CairnError('NODE_CALL_REFUSED', {
      call: 'sleepUntil',
      node: activation.path.join('/'),
      reason: 'it needs a time',
    });
  await waitFor(core, activation, {
    kind: 'sleep',
    name,
    wait: { kind: 'timer', node: activation.path, name, dueAt },
    identity: { fingerprint: String(dueAt) },
    onWaiting,
  });
}

/** Implements `ctx.receive`. @throws NODE_CALL_REFUSED, RUN_LIMIT, SIGNAL_INVALID, NODE_TIMED_OUT, VALUE_UNSTORABLE */
export async function receive(
  core: RunCore,
  activation: Activation,
  signal: string,
  options: ReceiveOptions,
  onWaiting: OnWaiting | undefined,
): Promise<unknown> {
  guardCall(activation, activation.generation, 'receive');
  const { waits, schema, timeoutMs } = options;
  const reason = receiveFault(options);
  if (reason !== undefined)
    throw new CairnError('NODE_CALL_REFUSED', { call: 'receive', node: activation.path.join('/'), reason });
  const wait: WaitRecord = {
    kind: 'signal',
    node: activation.path,
    name: signal,
    ...('defaultValue' in options && {
      defaultAnswer: admitValue(
        options.defaultValue,
        [...activation.path, signal],
        core.env.bounds,
        core.secrets.intake,
      ).value,
    }),
  };
  const call: WaitCall = { kind: 'signal', name: signal, wait, timeoutMs, identity: {}, onWaiting, waits, schema };
  return waitFor(core, activation, call);
}

function receiveFault({ waits, schema, timeoutMs, ...rest }: ReceiveOptions): string | undefined {
  if (schema !== undefined && !isStandardSchema(schema)) return 'its schema is no Standard Schema';
  const fault = timeFault(timeoutMs);
  if (fault !== undefined) return fault;
  if (timeoutMs !== undefined && waits === false) return 'what does not wait has no timeout';
  return 'defaultValue' in rest && timeoutMs === undefined ? 'a defaultValue needs a timeoutMs' : undefined;
}
