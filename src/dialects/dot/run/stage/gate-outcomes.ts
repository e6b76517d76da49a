/** How the goal gates of a run ended, those in the branches of its parallel stages included. */
import type { StateView } from '../../../../graph/contracts/node-contract.ts';
import type { StageFailure, StageOutput, StageStatus } from './stage-outcome.ts';

export type GateOutcomes = Readonly<Record<string, StageStatus>>;

/** Context key under which parallel stages keep how the gates in their branches ended, at this visit or at an earlier one. */
export const branchGatesKey = 'internal.gates';

/** What a parallel stage that failed the run tells of its branches, in the data of its failure. */
export interface ToldOfBranches {
  readonly gates?: GateOutcomes;
  readonly failures?: readonly StageFailure[];
  /** Of a pipeline that restarts: it is all its runs that failed, and no stage. */
  readonly isOfRun?: boolean;
}

/** The last outcome of each gate that was visited. */
export function gateOutcomes(state: StateView, gates: readonly string[]): GateOutcomes {
  const found: Record<string, StageStatus> = { ...branchGates(state) };
  for (const stage of Object.keys(state.failures)) Object.assign(found, toldByFailure(state, stage).gates);
  for (const id of gates) {
    const own = (state.outputs[id] as StageOutput | undefined)?.outcome;
    if (own !== undefined) found[id] = own;
    else if (Object.hasOwn(state.failures, id)) found[id] = 'fail';
  }
  return found;
}

/** How the gates in branches ended, as the parallel stages of this run kept it. */
export function branchGates({ scratch }: StateView): GateOutcomes {
  return (scratch[branchGatesKey] as GateOutcomes | undefined) ?? {};
}

/** What a stage that failed the run told of its branches. */
export function toldByFailure({ failures }: StateView, stage: string): ToldOfBranches {
  return (failures[stage] as { readonly data?: ToldOfBranches } | undefined)?.data ?? {};
}
