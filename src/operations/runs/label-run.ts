/** The operation `label`: sets and removes labels of a run, by which lists find it. */
import { CairnError } from '../../errors.ts';
import { checkLabels } from '../../engine/validate/check-labels.ts';
import { newlyNamed, recordNamed } from '../../history/stored/named-blobs.ts';
import { metaOf, type RelabellingAct, type StoredMeta } from '../../history/stored/stored-meta.ts';
import type { Labels, Store } from '../../ports/store.ts';
import { doorOf } from '../contract/door.ts';
import { runField } from '../contract/fields.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';
import { labelValues, objectOf, text } from '../contract/output-shapes.ts';
import { findRunToChange } from './find-run.ts';

/** What becomes of labels: `set` gives some their values, `unset` names those that go. */
export interface LabelChange {
  readonly set?: Labels;
  readonly unset?: readonly string[];
}

export interface LabelRunInput extends LabelChange {
  readonly run: string;
  readonly by?: string;
}

export interface LabelRunOutput {
  readonly runId: string;
  /** All that it has now. */
  readonly labels: Labels;
}

export const labelRun: RoutedOperation<LabelRunInput, LabelRunOutput, WorkContext> = {
  name: 'label_run',
  command: 'label',
  summary: 'set and remove labels of a run, by which ls finds it',
  details:
    'At any time, whether it is advanced, waits or has ended. Runs that are forked from it later have the new ones. Runs that the system itself started keep theirs.',
  input: {
    run: runField(),
    set: { type: 'answers', description: 'a label and its value: tier=gold' },
    unset: { type: 'texts', description: 'the name of a label that goes' },
    by: { type: 'text', description: 'who changes them, for the record', isActor: true },
  },
  output: 'the run and all its labels',
  outputSchema: objectOf({ runId: text, labels: labelValues }),
  isReadOnly: false,
  scope: 'run',
  route: 'POST /runs/{run}/labels',
  /** @throws RUN_NOT_FOUND; USAGE_INVALID, ID_INVALID; STORE_UNSUPPORTED */
  async run(context, { run, by, ...change }) {
    checkChange(change);
    const { runId } = await findRunToChange(context, run);
    const who = { ...doorOf(context), ...(by !== undefined && { by }) };
    return { runId, labels: await changeLabels(context, runId, change, who) };
  },
};

/** @throws USAGE_INVALID nothing is to be changed, or one label is set and removed; and as {@link checkLabels} */
export function checkChange({ set = {}, unset = [] }: LabelChange): void {
  checkLabels(set);
  const refuse = (reason: string): never => {
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Say what is set (tier=gold), and the names of what goes.' });
  };
  if (Object.keys(set).length + unset.length === 0) refuse('no label is set or removed');
  const both = unset.find((name) => Object.hasOwn(set, name));
  if (both !== undefined) refuse(`label ${both} is set and removed`);
}

/** The labels of a run after a change. */
function labelsAfter({ labels = {} }: StoredMeta, { set = {}, unset = [] }: LabelChange): Labels {
  return { ...Object.fromEntries(Object.entries(labels).filter(([name]) => !unset.includes(name))), ...set };
}

/** Whether a change would leave the labels as they are. */
export function isLabelled(meta: StoredMeta, { set = {}, unset = [] }: LabelChange): boolean {
  const labels = meta.labels ?? {};
  const has = (name: string): boolean => Object.hasOwn(labels, name);
  return (
    Object.entries(set).every(([name, value]) => has(name) && labels[name] === value) &&
    !unset.some((name) => has(name))
  );
}

type Who = Pick<RelabellingAct, 'by' | 'door' | 'as'>;

/** How often others may change the labels of a run meanwhile. */
const triesMax = 20;
/** The newest changes that are recorded with a run. */
const actsMax = 8;

/**
 * Changes labels of a run, and records who did it. Nothing is written where the run has them so.
 * @returns all its labels @throws RUN_NOT_FOUND; USAGE_INVALID, ID_INVALID; STORE_UNSUPPORTED the store cannot change labels
 */
export async function changeLabels(
  { store, tenant, now }: Pick<WorkContext, 'store' | 'tenant' | 'now'>,
  runId: string,
  change: LabelChange,
  who: Who,
): Promise<Labels> {
  for (let tries = 1; ; tries += 1) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId });
    const meta = metaOf(run);
    if (isLabelled(meta, change)) return meta.labels ?? {};
    refuseFixed(runId, meta, change);
    const labels = labelsAfter(meta, change);
    checkLabels(labels);
    const act = { at: now(), ...who, ...change };
    const relabelled = [...(meta.relabelled ?? []), act].slice(-actsMax);
    const after = Buffer.from(JSON.stringify({ ...meta, labels, relabelled } satisfies StoredMeta));
    await recordNamed(store, run, [newlyNamed(run.meta, after)]);
    if (await requireLabelling(store)({ tenant, runId, labels, meta: after, oldMeta: run.meta })) return labels;
    if (tries === triesMax) throw new CairnError('STORE_BUSY', { store: store.name });
  }
}

/** @throws STORE_UNSUPPORTED */
function requireLabelling(store: Store): NonNullable<Store['labelRun']> {
  if (store.labelRun === undefined)
    throw new CairnError('STORE_UNSUPPORTED', { store: store.name, operation: 'change labels' });
  return (change) => store.labelRun?.(change) ?? Promise.resolve(false);
}

/** What a schedule finds its runs by. */
const ofSchedules = 'schedule';

/** The system finds its own runs, and whose they are, by their labels. @throws USAGE_INVALID */
function refuseFixed(
  runId: string,
  { origin, fixedLabels = [] }: StoredMeta,
  { set = {}, unset = [] }: LabelChange,
): void {
  const refuse = (reason: string): never => {
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Use other labels, or label a fork of it.' });
  };
  if (origin !== undefined && origin !== 'due')
    refuse(`run ${runId} was started by the system (${origin}), which finds it by its labels`);
  const names = [...Object.keys(set), ...unset];
  const fixed = names.find((name) => fixedLabels.includes(name) || (origin === 'due' && name === ofSchedules));
  if (fixed !== undefined) refuse(`run ${runId} is found by the label ${fixed}, which stays as it is`);
}
