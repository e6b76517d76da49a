/** A fork that cannot act: what it refuses, what stands in for that, and the wait at which it is left (X7). */
import { CairnError } from '../../errors.ts';
import type { NodeRecord, WaitRecord } from '../../state/tree.ts';
import { admitValue } from '../../state/values/admit.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { StandInCall } from '../api.ts';
import type { Activation } from '../live-run/loop.ts';
import { isEffect, type RunCore } from '../live-run/run-core.ts';
import { settleFailed } from '../settle/settle.ts';
import { settleOutcome } from '../settle/settle-outcome.ts';
import { admitOutcome } from '../validate/admit-outcome.ts';
import { nameOfStepKey } from '../visit-records/call-keys.ts';
import { NodeEffort, StepEffort, type Effort } from '../visit-records/intent.ts';
import { openRecord } from '../visit-records/node-record.ts';
import { notifyWaiting } from '../waits/leave-at-wait.ts';
import { openWait } from '../waits/open-wait.ts';

/** Whether an effort that is about to begin may not. Calls of models may: they change nothing outside. */
export function isRefused(core: RunCore, effort: Effort): boolean {
  const rules = core.root.noEffects;
  if (rules === undefined) return false;
  if (isEffect(effort)) return !effort.isModelCall;
  if (effort.effect === 'read') return rules.reads !== 'live' && !worksInCalls(core, effort);
  return isUndeclared(effort) && rules.undeclared !== 'run';
}

/** Whether nobody has said what a node's function does. What its steps do they say themselves. */
function isUndeclared({ stepKey, activation: { node } }: Effort): boolean {
  return stepKey === undefined && node.isDeclared === false;
}

/** Whether a node's function does its work in calls, each of which is judged by itself: as its type says, or as it did before. */
function worksInCalls({ replay }: RunCore, { stepKey, activation }: Effort): boolean {
  if (stepKey !== undefined) return false;
  const { node, path, frameRun } = activation;
  if (node.subgraph !== undefined || node.implementation.isComposed === true) return true;
  return frameRun.openRecordOf(node)?.steps !== undefined || replay?.madeCalls(path) === true;
}

/** What would happen, in words. */
export function refusalOf(effort: Effort): string {
  const { name, about } = effort;
  const what = name.replaceAll('\0', ' ');
  if (isEffect(effort)) return `would act: ${what}${about === undefined ? '' : ` (${about})`}`;
  if (effort.effect === 'read') return `would read: ${what}`;
  return `would run ${what}, of which nobody has declared what it does`;
}

/** The wait at which a fork is left that would act. Nothing closes it. */
export function refusedWait(core: RunCore, effort: Effort): WaitRecord {
  const { activation, stepKey, effect, about } = effort;
  const step = stepKey === undefined ? undefined : nameOfStepKey(stepKey);
  const wait: WaitRecord = {
    kind: 'refused',
    node: activation.path,
    name: step === undefined ? 'refused' : `refused: ${step}`,
    prompt: refusalOf(effort),
    metadata: {
      effect: isUndeclared(effort) && effect === 'pure' ? 'undeclared' : effect,
      ...(step !== undefined && { step }),
      ...(about !== undefined && { about }),
    },
  };
  const { bounds } = core.env;
  const place = [...activation.path, wait.name];
  const admit = (one: WaitRecord): WaitRecord =>
    admitValue(one, place, bounds, core.secrets.intake).value as WaitRecord;
  const input = inputOf(effort);
  if (input === undefined) return admit(wait);
  try {
    return admit({ ...wait, metadata: { ...(wait.metadata as object), input } });
  } catch (error) {
    if (!CairnError.is(error, 'VALUE_UNSTORABLE', 'VALUE_TOO_LARGE')) throw error;
    return admit(wait);
  }
}

const inputOf = (effort: Effort): unknown => (effort instanceof StepEffort ? effort.options.input : undefined);

/** What stands in for a refused effort, if whoever resumed the run gave something for it. */
export async function standInFor(
  { standIns = {} }: RunCore,
  effort: Effort,
): Promise<{ readonly output: unknown } | undefined> {
  const { activation, stepKey } = effort;
  const { path, node, view } = activation;
  const step = stepKey === undefined ? undefined : nameOfStepKey(stepKey);
  const names = step === undefined ? [path.join('/'), node.id] : [step, toolOf(step), `${path.join('/')}/${step}`];
  const name = names.find((one) => one !== undefined && Object.hasOwn(standIns, one));
  const standIn = name === undefined ? undefined : standIns[name];
  if (standIn === undefined) return undefined;
  const call: StandInCall = {
    node: path,
    state: view.state,
    ...(step !== undefined && { step, input: inputOf(effort) }),
  };
  return { output: await standIn(call) };
}

/** The tool of a step that an agent made of its call: `tool NAME HASH`, behind the name of the agent's mode if it has one. */
function toolOf(step: string): string | undefined {
  return /(?:^| )tool (\S+) \S+/.exec(step)?.[1];
}

/** Closes the wait of what was refused before, now that something stands in for it. */
export function closeRefused({ draft, root }: RunCore, { activation: { path }, stepKey }: Effort): void {
  const place = path.join('\0');
  for (const [waitId, { kind, node, step }] of Object.entries(root.waits))
    if (kind === 'refused' && step === stepKey && node.join('\0') === place) draft.closeWait(waitId);
}

/** Stands in for a node that would act, or leaves it waiting. */
export function refuseNode(core: RunCore, activation: Activation): void {
  const effort = new NodeEffort(activation);
  standInFor(core, effort)
    .then(async (found) => {
      if (activation.isOver || activation.phase !== 'prepared') return;
      if (core.standing.isStopping) return core.agenda.forget(activation);
      if (found === undefined) return leaveRefused(core, activation, effort);
      closeRefused(core, effort);
      await settleOutcome(core, activation, admitOutcome(core, activation, found.output), { by: 'stand-in' });
    })
    .catch((error: unknown) => {
      if (activation.phase === 'prepared') settleFailed(core, activation, error);
    })
    .finally(() => core.loop.requestTurn());
}

function leaveRefused(core: RunCore, activation: Activation, effort: Effort): void {
  const { node, frameRun } = activation;
  const known = frameRun.openRecordOf(node);
  const record: NodeRecord = { ...known, ...openRecord(activation), status: 'waiting' };
  if (known?.status !== 'waiting') frameRun.frame.setNode(node.id, record, encodeValue(record));
  openWait(core, activation, undefined, refusedWait(core, effort));
  activation.phase = 'waiting';
  core.agenda.setBusy(activation, false);
  notifyWaiting(core, frameRun);
}
