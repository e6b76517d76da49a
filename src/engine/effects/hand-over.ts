/**
 * A process that has lost a run tells whoever has it now what it knows of the effects that it announced: how they ended, or that they
 * have not begun. It needs no claim for that: what it tells is a message (O2.8).
 */
import { CairnError, isStoreAway } from '../../errors.ts';
import { postSealed } from '../../history/stored/messages.ts';
import type { MessageRow } from '../../ports/store.ts';
import { decodeJson } from '../../state/values/revive.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { Intent, NodeRecord, SavedOutcome, StepRecord, ToldEnd } from '../../state/tree.ts';
import type { EffectEnd } from '../live-run/own-effects.ts';
import { appliedOf, endedIntent, type RunCore } from '../live-run/run-core.ts';
import { admitError } from '../validate/admit-error.ts';
import { admitOutcome } from '../validate/admit-outcome.ts';
import { offloadForm } from '../validate/offload.ts';
import { admitStep } from '../visit-records/finish-step.ts';
import { announce, type Announced, type Effort, type EffortFields, isSameIntent } from '../visit-records/intent.ts';
import { visitAt } from '../visit-records/visit-part.ts';
import { recordPathOf } from '../visit-records/node-path.ts';
import { savedOutcome } from '../visit-records/settle-record.ts';
import { recordAt } from '../visit-records/step-record.ts';
import { closeDoubt } from '../waits/open-wait.ts';

/** For how long it is tried to tell, at least: a failover of a database takes a minute. */
const tellForMs = 5 * 60_000;

/** What is told of an effect. */
type Told =
  /** It has not begun: the run stands as it did before the effect was announced. */
  | { readonly end: 'not begun'; readonly before?: EffortFields }
  /** It was told to stop, and has: nobody need wait for it, and it may have happened. */
  | { readonly end: 'stopped' }
  | ToldEnd;

/** The body of a message. */
interface HandOver {
  readonly node: readonly string[];
  readonly step?: string;
  /** The announcement that it is about. */
  readonly intent: Intent;
  readonly told: Told;
}

/** Announces an effect that this process is about to begin. */
export function announceHere(core: RunCore, effort: Effort, attempt: number): Announced {
  const announced = announce(core, effort, attempt);
  const { intent, before } = announced;
  core.own.announced({
    key: intent.key,
    isRecorded: () => !isSameIntent(effort.intent, intent),
    tell: async (end) => tell(core, effort, announced, toldOf(core, effort, before, end)),
  });
  return announced;
}

function toldOf(core: RunCore, effort: Effort, before: EffortFields | undefined, end: EffectEnd): Told {
  if (end === 'not begun') return before === undefined ? { end } : { end, before };
  const cost = end.spent === undefined ? {} : { spent: end.spent };
  let error: unknown;
  if ('thrown' in end) error = end.thrown;
  else {
    try {
      return { end: 'completed', outcome: outcomeOf(core, effort, end.returned), ...cost };
    } catch (fault) {
      // A result that cannot be stored is no result, as where an attempt ends with the run (X3).
      error = fault;
    }
  }
  const applied = appliedOf(error);
  if (end.isLate === true && applied === undefined) return { end: 'stopped' };
  const { value } = admitError(core, error, effort.activation.path);
  return { end: 'failed', error: value, ...(applied !== undefined && { applied }), ...cost };
}

function outcomeOf(core: RunCore, { activation, stepKey }: Effort, returned: unknown): SavedOutcome {
  if (stepKey === undefined) return savedOutcome(admitOutcome(core, activation, returned));
  return { output: admitStep(core, activation, stepKey, returned).value };
}

/** Whether the store may take what is told later: rights come back, and a standby becomes the server that is written. */
const mayReturn = (error: unknown): boolean =>
  isStoreAway(error) || CairnError.is(error, 'STORE_DENIED', 'STORE_READ_ONLY', 'STORE_FULL');

async function tell(core: RunCore, effort: Effort, { intent }: Announced, told: Told): Promise<void> {
  const { store, clock, tenant, bounds } = core.env;
  const { activation, stepKey: step } = effort;
  const handOver: HandOver = { node: activation.path, ...(step !== undefined && { step }), intent, told };
  const name = [intent.key, intent.attempt, intent.deadlineAt, intent.by].join(' ');
  const body = new TextEncoder().encode(encodeValue(handOver));
  const until = Math.max(clock.now() + tellForMs, intent.deadlineAt + bounds.cancelGraceMs);
  for (;;) {
    try {
      const run = await store.readRun(core.run);
      // Nobody judges anything of a run that has ended.
      if (run === undefined || run.status === 'completed' || run.status === 'cancelled') return;
      await postSealed(store, { tenant, runId: core.runId, kind: 'effect', name, body, at: clock.now() });
      return;
    } catch (error) {
      if (!mayReturn(error) || clock.now() >= until) return;
    }
    await new Promise<void>((resolve) => clock.setTimer(bounds.messagePollMs, resolve));
  }
}

// The other side: what was told becomes a part of the run, in the commit that takes the message.

/** Decodes what was told. */
export function readHandOver({ body }: MessageRow): HandOver {
  return decodeJson(new TextDecoder().decode(body)) as HandOver;
}

/** What was told, with its large values in the blob store. */
export async function storedHandOver(core: RunCore, handOver: HandOver): Promise<HandOver> {
  const { told } = handOver;
  if (told.end !== 'completed') return handOver;
  const { output, updates } = told.outcome;
  const stored = async (values: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> => {
    const forms = Object.entries(values).map(async ([key, value]) => [key, await offloadForm(core, value)] as const);
    return Object.fromEntries(await Promise.all(forms));
  };
  const partitions = Object.entries(updates ?? {}).map(async ([name, values]) => [name, await stored(values)] as const);
  const outcome: SavedOutcome = {
    ...told.outcome,
    ...(output !== undefined && { output: await offloadForm(core, output) }),
    ...(updates !== undefined && { updates: Object.fromEntries(await Promise.all(partitions)) }),
  };
  return { ...handOver, told: { ...told, outcome } };
}

/**
 * Takes what was told into the run's tree, if the effect that it is about is still open there: it may have been decided meanwhile.
 *
 * @param stored - the same with its large values in the blob store
 */
export function takeHandOver(core: RunCore, { node, step, intent, told }: HandOver, stored: HandOver): void {
  const record = openRecordAt(core, node, step);
  if (!isSameIntent(record?.intent, intent)) return;
  const path = [...recordPathOf(node), ...(step === undefined ? [] : ['steps', step])];
  const { draft } = core;
  if (told.end === 'stopped') draft.set([...path, 'intent'], endedIntent(intent));
  else {
    // Who was asked whether it happened need not say so any more.
    closeDoubt(core, node, step);
    if (told.end === 'not begun') restore(core, path, openRecordAt(core, node, step), told.before);
    else draft.set([...path, 'told'], told, encodeValue(stored.told));
  }
  const place = { node, ...(step !== undefined && { step }), ...visitAt(core.root, node) };
  const by = intent.by === undefined ? {} : { by: intent.by };
  draft.note({ kind: 'told', ...place, attempt: intent.attempt, status: told.end, ...by });
  // An earlier attempt may have happened: that is in doubt again.
  const earlier = openRecordAt(core, node, step)?.intent;
  if (told.end === 'not begun' && earlier !== undefined)
    draft.note({ kind: 'intent', ...place, attempt: earlier.attempt });
  draft.mustCommit = true;
  draft.holdsEffect = true;
  core.whenTold.get(intent.key)?.();
}

function openRecordAt(
  core: RunCore,
  node: readonly string[],
  step: string | undefined,
): NodeRecord | StepRecord | undefined {
  const visit = recordAt(core, node);
  if (visit === undefined || visit.fired !== undefined) return undefined;
  if (step === undefined) return visit;
  return visit.steps !== undefined && Object.hasOwn(visit.steps, step) ? visit.steps[step] : undefined;
}

/** Withdraws an announcement of another process: the record is what it was before. */
function restore(
  { draft }: RunCore,
  path: readonly string[],
  record: NodeRecord | StepRecord | undefined,
  before: EffortFields | undefined,
): void {
  if (record === undefined) return;
  if ('kind' in record && before === undefined) return draft.delete(path);
  const { intent: _, applied: __, decision: ___, told: ____, ...rest } = record;
  const { attempt, ...fields } = before ?? {};
  const restored = {
    ...rest,
    ...('kind' in record && attempt !== undefined && { attempt }),
    ...fields,
    status: 'started',
  };
  draft.set(path, restored, encodeValue(restored));
}
