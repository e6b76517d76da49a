/** Opens and closes waits. A wait is an entry in the tree, a row in the index, and an activation that waits for it here (W2, W5). */
import { CairnError, isStoreAway } from '../../errors.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import { postSealed } from '../../history/stored/messages.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { nextDueOf, type NodeRecord, type StepRecord, type WaitRecord } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { isFailing } from '../live-run/run-ending.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { orderOfWait } from '../visit-records/call-order.ts';
import { keyAcrossSaves } from '../visit-records/call-keys.ts';
import { recordPathOf } from '../visit-records/node-path.ts';
import { takeBudgetAnswer } from '../visit-records/budget.ts';
import { recordAt, setStep } from '../visit-records/step-record.ts';
import { holdTimer, watchTimer } from '../live-run/timers.ts';
import { visitAt, type VisitPart } from '../visit-records/visit-part.ts';
import { goOnFromWait } from './leave-at-wait.ts';
import { doubtWait, waitIdOf, type MessageBody } from './wait.ts';
import { seatOf } from '../validate/whose-answer.ts';
import type { DoubtedEffect } from '../visit-records/settle-record.ts';

const encoder = new TextEncoder();

/** Whether a wait is closed in the time of a fork that cannot act (X7). What failed is tried again in real time, for those who need it. */
function isVirtual({ root }: RunCore, { kind }: Pick<WaitRecord, 'kind'>): boolean {
  return root.noEffects !== undefined && kind !== 'retry';
}

/** Opens a wait of an activation or of one of its steps, and returns its id. If it is open already, the activation only waits for it. */
export function openWait(
  core: RunCore,
  activation: Activation,
  stepKey: string | undefined,
  wait: WaitRecord,
  known?: string,
): string {
  const waitId =
    known ??
    openDoubtOf(core, wait, stepKey) ??
    waitIdOf(core.runId, [...activation.keyParts, placeOf(activation, stepKey)], nameInId(wait));
  core.agenda.waiters.set(waitId, activation, wait.kind === 'doubt');
  showWait(core, activation, waitId, stepKey === undefined ? wait : { ...wait, step: stepKey });
  armDueTime(core, waitId);
  return waitId;
}

/** Writes a wait that is not open yet, and reports it as a live event. */
export function showWait(core: RunCore, activation: Activation, waitId: string, wait: WaitRecord): void {
  if (!Object.hasOwn(core.root.waits, waitId)) {
    if (Object.keys(core.root.waits).length >= core.env.bounds.openWaits) {
      throw new CairnError('RUN_LIMIT', { limit: 'openWaits', value: core.env.bounds.openWaits });
    }
    const opened: WaitRecord = { ...wait, openedAt: core.env.clock.now() };
    core.draft.openWait(waitId, opened);
    core.draft.note({ kind: 'wait', node: activation.path, wait: waitId });
    core.env.monitor?.waiting(core.rootFrame.graph.id);
    core.draft.mustCommit = true;
    core.draft.holdsEffect = true;
    // It must be durable before anybody sees it (W2).
    void core.loop.durable().then(() => core.loop.publishLive('waiting', activation, { waitId, wait: opened }));
  } else core.loop.publishLive('waiting', activation, { waitId, wait: core.root.waits[waitId] });
}

function placeOf(activation: Activation, stepKey: string | undefined): string {
  return stepKey === undefined ? '' : keyAcrossSaves(activation, stepKey);
}

/** The open question about the same effect in doubt, if there is one. In a fork it has the original's id. */
function openDoubtOf(core: RunCore, wait: WaitRecord, stepKey: string | undefined): string | undefined {
  return wait.kind === 'doubt' ? doubtAt(core, wait.node, stepKey) : undefined;
}

function doubtAt({ root }: RunCore, node: readonly string[], step: string | undefined): string | undefined {
  const place = node.join('\0');
  return Object.entries(root.waits).find(
    ([, open]) => open.kind === 'doubt' && open.step === step && open.node.join('\0') === place,
  )?.[0];
}

/** Closes the question whether an effect happened, if it is open, since the process that had begun it has told. */
export function closeDoubt(core: RunCore, node: readonly string[], step: string | undefined): void {
  const waitId = doubtAt(core, node, step);
  const wait = waitId === undefined ? undefined : core.root.waits[waitId];
  if (waitId === undefined || wait === undefined) return;
  core.draft.closeWait(waitId);
  if (step !== undefined) core.draft.delete([...recordPathOf(node), 'steps', step, 'wait']);
  core.draft.note(answerPart(wait, waitId, { by: 'owner' }, undefined, visitAt(core.root, node)));
  wake(core, waitId, wait);
}

/** Asks whether an effect below an activation happened. If that was asked already, only waits for the answer. */
export function openDoubt(core: RunCore, activation: Activation, effect: DoubtedEffect): void {
  const { step, intent } = effect;
  const wait = doubtWait(effect);
  const waitId = openDoubtOf(core, wait, step) ?? waitIdOf(core.runId, [intent.key], nameInId(wait));
  openWait(core, activation, step, wait, waitId);
}

/** Whether somebody is asked about an effect in the child run at this path. */
export function hasDoubtIn({ root }: RunCore, path: readonly string[]): boolean {
  return Object.values(root.waits).some(
    ({ kind, node }) => kind === 'doubt' && path.every((part, index) => node[index] === part),
  );
}

/** Whether a delayed activation's wait is open already, from before a crash. */
export function isRetryOpen(core: RunCore, { node, name }: WaitRecord): boolean {
  const place = node.join('\0');
  return Object.values(core.root.waits).some(
    (open) => open.kind === 'retry' && open.step === undefined && open.name === name && open.node.join('\0') === place,
  );
}

/**
 * Arms a due time, with a timer that fires if the run is still being advanced then. If the time is near, the run does not pause before it
 * (W4.1). The row in the index serves whoever comes later.
 */
export function armDueTime(core: RunCore, waitId: string): void {
  const wait = core.root.waits[waitId];
  const dueAt = wait && nextDueOf(wait);
  if (wait === undefined || dueAt === undefined || core.agenda.armedWaits.has(waitId) || isVirtual(core, wait)) return;
  const { clock } = core.env;
  const delayMs = dueAt - clock.now();
  core.agenda.armedWaits.set(waitId, clock.monotonic() + delayMs);
  watchTimer(core, delayMs, () => {
    core.agenda.armedWaits.delete(waitId);
    if (core.standing.isStopping || !Object.hasOwn(core.root.waits, waitId)) return;
    fireDueWait(core, waitId);
    core.loop.requestTurn();
  });
}

/** The distinguishing part of a wait's id. An effect may be in doubt several times, so the attempt's deadline tells the questions apart. */
function nameInId({ kind, name, metadata }: WaitRecord): string {
  if (kind !== 'doubt') return `${kind}:${name}`;
  return `${kind}:${name}:${String((metadata as { readonly deadlineAt?: number }).deadlineAt)}`;
}

/** Handles a due wait. A timer ends; a question is answered by its deadline. */
export function fireDueWait(core: RunCore, waitId: string): void {
  const wait = core.root.waits[waitId] as WaitRecord;
  if (isVirtual(core, wait)) return;
  if (wait.kind === 'timer' || wait.kind === 'retry') return closeWait(core, waitId, { by: 'timer' });
  if (wait.dueAt === undefined || wait.dueAt > core.env.clock.now()) return tellLate(core, waitId, wait);
  const answer =
    'defaultAnswer' in wait ? { value: wait.defaultAnswer, by: 'timeout' } : { isTimeout: true, by: 'timeout' };
  answerHere(core, waitId, answer);
}

/** Records that a question is reminded of, or for others too, and goes on waiting for what is next. */
function tellLate(core: RunCore, waitId: string, wait: WaitRecord): void {
  const now = core.env.clock.now();
  const { late = [], ...rest } = wait;
  const come = late.filter(({ at }) => at <= now);
  // A timer may fire a moment early by the clock.
  if (come.length === 0) return armDueTime(core, waitId);
  const upcoming = late.slice(come.length);
  const opened: WaitRecord = {
    ...rest,
    overdueAt: rest.overdueAt ?? now,
    ...(upcoming.length > 0 && { late: upcoming }),
  };
  for (const { to } of come) {
    const { node } = wait;
    core.draft.note({
      kind: to === undefined ? 'remind' : 'escalate',
      node,
      wait: waitId,
      ...(to && { detail: { to } }),
    });
    if (to !== undefined && opened.for !== undefined) opened.for = [...new Set([...opened.for, ...to])];
  }
  core.draft.openWait(waitId, opened);
  core.draft.mustCommit = true;
  armDueTime(core, waitId);
}

/**
 * Answers a question on the run's own behalf, unless somebody answers it first: the store takes one answer (O1). It takes the seat of all
 * who are no person: where somebody's answer counts on other eyes at this question (W8), no default stands for those.
 */
export function answerHere(core: RunCore, waitId: string, answer: Partial<MessageBody>): void {
  const { store, tenant, clock } = core.env;
  const body = encoder.encode(encodeValue(answer));
  const seats = answer.isTimeout === true ? {} : { seats: [seatOf(waitId)] };
  core.agenda.keepAliveCount += 1;
  postSealed(store, { tenant, runId: core.runId, kind: 'answer', name: waitId, body, at: clock.now(), ...seats })
    .then(async ({ status }) => {
      if (status === 'seated') return answerHere(core, waitId, { isTimeout: true, by: 'timeout' });
      await core.loop.readMessages();
      // The store does not know the wait yet: its commit is on the way or being sent again.
      if (status === 'closed') answerLater(core, waitId, answer);
    })
    .catch((error: unknown) => {
      // A store that is away for a while stops no run: commits are sent again too, and if the lease is lost meanwhile, that ends it.
      if (isStoreAway(error)) answerLater(core, waitId, answer);
      else core.loop.fail(error);
    })
    .finally(() => {
      core.agenda.keepAliveCount -= 1;
      core.loop.requestTurn();
    });
}

function answerLater(core: RunCore, waitId: string, answer: Partial<MessageBody>): void {
  holdTimer(core, core.env.bounds.messagePollMs, () => {
    if (!core.standing.isStopping && Object.hasOwn(core.root.waits, waitId)) answerHere(core, waitId, answer);
  });
}

/** The error for a question or signal that reached its deadline without a default. The call that waited fails with it. */
export function timeoutOf({ kind, node, dueAt = 0, openedAt = 0 }: WaitRecord): CairnError {
  const timeoutMs = dueAt - openedAt;
  const awaited = kind === 'signal' ? 'signal' : 'answer';
  const told =
    timeoutMs > 0
      ? { what: `had no ${awaited} within`, timeoutMs, hint: 'Resume the run: it waits again, with its full time.' }
      : {
          what: 'asked with a deadline that was past by',
          overdueMs: -timeoutMs,
          hint: 'Give a later deadlineAt, or timeoutMs, then resume the run.',
        };
  return new CairnError('NODE_TIMED_OUT', { node: node.join('/'), ...told });
}

/** The result of a wait, and who gave it. */
export interface Closing {
  readonly output?: unknown;
  /** The output as JSON text, if it is known already. */
  readonly outputJson?: string;
  readonly error?: unknown;
  readonly by: string;
  /** By which door, and as what. */
  readonly door?: string;
  readonly as?: 'owner' | 'program';
  readonly link?: string;
  /** Who sent the signal that ended it. */
  readonly sender?: MessageBody['sender'];
}

/**
 * Records the result of a wait and closes it. If the function stopped at the wait, it runs again from its top and finds the result. If it
 * is
 * still running, it goes on.
 */
export function closeWait(core: RunCore, waitId: string, closing: Closing): void {
  const wait = core.root.waits[waitId] as WaitRecord;
  if (wait.budget !== undefined) return closeBudgetWait(core, waitId, wait, closing);
  const record = recordAt(core, wait.node);
  if (record === undefined) throw new CairnError('INTERNAL', { reason: `wait ${waitId} belongs to no activation` });
  core.draft.closeWait(waitId);
  if (wait.kind === 'retry') {
    endDelay(core, wait, record);
    return wake(core, waitId, wait);
  }
  if (wait.kind === 'doubt') recordDecision(core, wait, record, closing);
  else {
    const key = wait.step as string;
    const step: StepRecord = {
      ...(record.steps?.[key] as StepRecord),
      status: closing.error === undefined ? 'done' : 'failed',
      ...(closing.output === undefined ? {} : { output: closing.output }),
      ...(closing.error === undefined ? {} : { error: closing.error }),
      by: closing.by,
      at: core.env.clock.now(),
      ...orderOfWait(record, key, core.agenda.waiters.get(waitId)),
    };
    delete step.wait;
    setStep(core, wait.node, key, step, closing.output === undefined ? undefined : closing.outputJson);
  }
  core.draft.note(answerPart(wait, waitId, closing, record.steps?.[wait.step ?? ''], visitAt(core.root, wait.node)));
  core.draft.mustCommit = true;
  // Until this commit is durable the store keeps the message with the answer, so the function may go on. What decides about an effect may
  // not.
  if (wait.kind === 'doubt') core.draft.holdsEffect = true;
  wake(core, waitId, wait);
}

/** Closes the wait for a budget, which was raised or not. Everything that stopped at the budget checks it again. */
function closeBudgetWait(core: RunCore, waitId: string, wait: WaitRecord, closing: Closing): void {
  core.draft.closeWait(waitId);
  takeBudgetAnswer(core.draft, wait, closing.output);
  if (isFailing(core.root)) core.standing.stop('failing');
  const { visit, outer } = wait.budget ?? {};
  const round = { ...(visit !== undefined && { visit }), ...(outer !== undefined && { outer }) };
  core.draft.note(answerPart(wait, waitId, closing, undefined, round));
  core.draft.mustCommit = true;
  core.draft.holdsEffect = true;
  core.ledger.change();
}

/**
 * Ends the wait for the next attempt. This or a later checkpoint records that the wait is over. The record keeps that an attempt is
 * planned, now due: an effect that reported its own failure is retried only because its policy says so (X3).
 */
function endDelay(core: RunCore, wait: WaitRecord, record: NodeRecord): void {
  const step = wait.step === undefined ? undefined : record.steps?.[wait.step];
  const retryAt = core.env.clock.now();
  if (wait.step !== undefined && step !== undefined) return setStep(core, wait.node, wait.step, { ...step, retryAt });
  core.draft.set([...recordPathOf(wait.node), 'retryAt'], retryAt);
}

function answerPart(
  wait: WaitRecord,
  waitId: string,
  closing: Closing,
  { hash, asked }: Pick<StepRecord, 'hash' | 'asked'> = {},
  visit: VisitPart,
): ChangePart {
  return {
    kind: 'answer',
    node: wait.node,
    wait: waitId,
    by: closing.by,
    ...(closing.door !== undefined && { door: closing.door }),
    ...(closing.as !== undefined && { as: closing.as }),
    ...(closing.link !== undefined && { link: closing.link }),
    ...(closing.sender && { sender: closing.sender }),
    ...(wait.fourEyes !== undefined && { fourEyes: true }),
    ...visit,
    ...(wait.step === undefined || wait.kind === 'doubt' ? {} : { step: wait.step }),
    ...(hash === undefined ? {} : { hash }),
    ...(asked === undefined ? {} : { asked }),
  };
}

/** Keeps a person's decision about an effect in doubt until the effect is judged again. */
function recordDecision(core: RunCore, wait: WaitRecord, record: NodeRecord, closing: Closing): void {
  const { output: decision, outputJson = encodeValue(decision) } = closing;
  const path = recordPathOf(wait.node);
  const doubtful = wait.step === undefined ? undefined : record.steps?.[wait.step];
  if (wait.step === undefined || doubtful === undefined) {
    return core.draft.set([...path, 'decision'], decision, outputJson);
  }
  const { wait: _, ...step } = doubtful;
  setStep(core, wait.node, wait.step, step);
  core.draft.set([...path, 'steps', wait.step, 'decision'], decision, outputJson);
}

function wake(core: RunCore, waitId: string, { kind, step }: WaitRecord): void {
  const activation = core.agenda.waiters.get(waitId);
  core.agenda.waiters.delete(waitId);
  if (activation === undefined) return;
  // An activation that waits for its next attempt need not be woken: that attempt will find the answer.
  if (activation.phase === 'waiting' || (activation.phase === 'retrying' && kind === 'retry'))
    core.agenda.wakeUps.push(activation);
  else if (step !== undefined) goOnFromWait(core, activation, step);
}

/** Closes the waits of an activation or child run that is over, and those of its child runs. */
export function dropWaitsOf(core: RunCore, path: readonly string[]): void {
  const { waits } = core.root;
  for (const waitId in waits) {
    const { node, budget } = waits[waitId] as WaitRecord;
    const owner = budget?.of ?? node;
    if (!path.every((part, index) => owner[index] === part)) continue;
    core.agenda.waiters.delete(waitId);
    core.draft.closeWait(waitId);
  }
}
