/** Runs all arms on one item, and says of each what became of it against the original (or against fresh samples of the original). */
import { reasonOf } from '../errors.ts';
import type { Engine, RunResult } from '../engine/api.ts';
import { amountOf, type Amounts } from '../graph/amounts.ts';
import type { StateView } from '../graph/contracts/node-contract.ts';
import { isMadeByExperiment } from '../history/stored/run-ids.ts';
import { findPoint } from './find-point.ts';
import { runArm, type ArmPlan, type ArmRules } from './run-arm.ts';
import { judgeItem, type Pair, type Ran, type Row } from './judge-item.ts';
import type { Scorer } from './scorers.ts';

/** What is done with each item. */
export interface Comparing extends ArmRules {
  readonly engine: Engine;
  readonly baseline: ArmPlan;
  readonly arms: readonly ArmPlan[];
  readonly repeats: number;
  readonly scorers: readonly Scorer[];
  readonly at: string | number | undefined;
  /** The part of a state that is compared. */
  readonly output: (state: StateView) => unknown;
  /** What is expected of items that run anew, by the ids of their runs. */
  readonly expected: Readonly<Record<string, unknown>>;
}

/** Runs the arms on an item, and compares what they gave. */
export async function compareItem(comparing: Comparing, runId: string): Promise<Row> {
  const { engine, baseline, arms, at, output } = comparing;
  const isNew = isMadeByExperiment(runId);
  const original = await engine.inspect(runId).catch((error: unknown) => reasonOf(error));
  if (typeof original === 'string') return notRun(comparing, runId, original);
  const point = await findPoint(engine.history, runId, isNew ? undefined : at);
  if (point === undefined) return notRun(comparing, runId, `the run never came to ${at}`);
  const run = async (arm: ArmPlan, repeat: number): Promise<Ran> => {
    const { end, result } = await runArm(engine, { runId, point }, arm, comparing, repeat);
    return end.end === 'completed' ? { end, output: output((result as RunResult).state) } : { end };
  };
  const repeated = async (arm: ArmPlan): Promise<readonly Ran[]> => {
    const ran: Ran[] = [];
    for (let repeat = 0; repeat < comparing.repeats; repeat += 1) ran.push(await run(arm, repeat));
    return ran;
  };
  const base = await run(baseline, 0);
  const armsRan: (readonly [string, readonly Ran[]])[] = [];
  for (const arm of arms) armsRan.push([arm.name, await repeated(arm)]);
  const isFresh = armsRan.some(([, ran]) => ran.some(({ end }) => costsDiffer(end.spent, base.end.spent)));
  const control = isFresh ? await repeated({ ...baseline, name: 'control', resample: true }) : undefined;
  const row = await engine.ports.store.readRun({ tenant: engine.ports.tenant, runId });
  const code = row === undefined ? 'unknown' : row.graphHash === baseline.graph.hash ? 'same' : 'other';
  const recorded = isNew
    ? { expected: comparing.expected[runId] ?? base.output }
    : { recorded: output(original.state) };
  return judgeItem(comparing.scorers, { runId, code, ...recorded, base, control, arms: armsRan });
}

/** Whether a fork has asked models that the other one has not. */
function costsDiffer(spent: Amounts, before: Amounts): boolean {
  return Object.keys(spent).some((unit) => amountOf(spent, unit) !== amountOf(before, unit));
}

/** The row of an item that no arm is run on. */
export function notRun({ arms, repeats }: Pick<Comparing, 'arms' | 'repeats'>, item: string, reason: string): Row {
  const because = [reason];
  const pair: Pair = { fork: '', verdict: 'not run', because, spent: {} };
  const all = Array.from({ length: repeats }, () => pair);
  return {
    item,
    code: 'unknown',
    baseline: { fork: '', verdict: 'not run', because },
    arms: Object.fromEntries(arms.map(({ name }) => [name, all])),
  };
}
