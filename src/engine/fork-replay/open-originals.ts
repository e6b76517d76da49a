/**
 * Effects that an original started after the fork point and whose end it has not recorded. They are in doubt in the fork too (X2.4, X3).
 */
import { decodeCheckpoint } from '../../history/stored/checkpoint.ts';
import { keySeedOf } from '../../history/stored/key-seed.ts';
import type { RunRow } from '../../ports/store.ts';
import type { Intent, NodeRecord, StepRecord } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { viewOf, wholeView } from '../visit-records/shown-state.ts';
import type { Due, Recorded, RunCore } from '../live-run/run-core.ts';
import type { RecordedOutcomes } from './recorded-outcomes.ts';
import { hasInputHash } from '../settle/settle.ts';
import { recordIn } from '../visit-records/step-record.ts';

/** The ancestor in which an effect was announced under its key. */
export function originOf({ ancestors }: RecordedOutcomes, due: Due, intent: Intent): RunRow | undefined {
  return ancestors.find((ancestor) => due.keyIn(keySeedOf(ancestor)) === intent.key);
}

/**
 * The original's record of an effect, if the effect is open there and had the same input.
 *
 * @param isPatched - see {@link isChanged}
 */
export async function openIn(
  core: RunCore,
  outcomes: RecordedOutcomes,
  due: Due,
  announced: Recorded,
  isPatched: boolean | undefined,
): Promise<NodeRecord | StepRecord | undefined> {
  const { activation, stepKey } = due;
  const record = recordIn(await outcomes.stateOf(announced.run), activation.path);
  if (stepKey !== undefined) {
    const step = record?.steps?.[stepKey];
    if (step?.status !== 'started' || step.intent === undefined || originOf(outcomes, due, step.intent) === undefined)
      return undefined;
    const { wait: _, ...open } = step;
    const isEqual =
      due.ownInputHash === undefined
        ? hasInputHash(activation, step.hash, outcomes.readsIn(activation, announced.run))
        : step.hash === due.ownInputHash;
    return isEqual ? open : undefined;
  }
  if (record?.intent === undefined || originOf(outcomes, due, record.intent) === undefined) return undefined;
  return (await hasOtherInput(core, outcomes, activation, announced.run, record, isPatched)) ? undefined : record;
}

/**
 * Whether an attempt without an end had other input. It has not recorded what it read. If the node does not declare its reads, everything
 * visible counts as input; that is compared only in a fork that changed something, because what settled in parallel is a matter of timing.
 */
async function hasOtherInput(
  core: RunCore,
  outcomes: RecordedOutcomes,
  { node, view, frameRun }: Activation,
  run: RunRow,
  record: NodeRecord,
  isPatched: boolean | undefined,
): Promise<boolean> {
  const names = node.reads ?? ((await isChanged(core, outcomes, run, isPatched)) ? wholeView : []);
  if (names.length === 0 || record.view === undefined) return false;
  const original = viewOf(await outcomes.stateOf(run, record.view), frameRun);
  return JSON.stringify(original.versions(names)) !== JSON.stringify(view.versions(names));
}

/**
 * Whether this run, or a fork between the original and this run, changed anything.
 *
 * @param isPatched - whether a previewed fork does. Undefined: the run's own first checkpoint tells
 */
async function isChanged(
  core: RunCore,
  { ancestors }: RecordedOutcomes,
  original: RunRow,
  isPatched: boolean | undefined,
): Promise<boolean> {
  if ((core.root.rerunPure ?? false) !== false || isPatched === true) return true;
  const between = ancestors.slice(0, ancestors.indexOf(original));
  const forks = isPatched === undefined ? [core.run, ...between] : between;
  for (const fork of forks) {
    const seq = (fork.parent?.seq ?? -1) + 1;
    const [row] = await core.env.store.readCheckpoints(fork, { from: seq, to: seq });
    if (row === undefined) return true;
    const { change } = decodeCheckpoint({ runKey: fork.key, seq }, undefined, row);
    if (change.some(({ kind, detail }) => kind === 'fork' && detail !== undefined)) return true;
  }
  return false;
}
