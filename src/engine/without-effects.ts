/** How a fork is made that cannot act, and what stands in for what it refuses (X7). */
import type { StateView } from '../graph/contracts/node-contract.ts';

/** The rules of a fork that cannot act. */
export interface WithoutEffects {
  /**
   * `refuse`: the fork cannot act, nor can what is forked from it (X7). Effects and reads are taken from the record where their input is
   * equal, models are asked, and anything else that would act or read is a wait of kind `refused`. Time passes as it is recorded. No worker
   * takes the fork up: resume it. Keys of `answers` then name the questions that it will ask, and it starts at the named checkpoint.
   */
  readonly effects?: 'refuse';
  /** Of a fork that cannot act: `live` makes reads that the record does not have. Default: they are refused. */
  readonly reads?: 'live';
  /** Of a fork that cannot act: `run` runs functions without a declared effect class. Default: they are refused. */
  readonly undeclared?: 'run';
  /** Of a fork that cannot act: ask models anew where an answer is on record. Default false. */
  readonly resample?: boolean;
  /**
   * Of a fork that cannot act: the language model that nodes ask in place of their own, by the id of the node or its path joined with `/`.
   * What these nodes asked models is asked anew.
   */
  readonly nodeModels?: Readonly<Record<string, string>>;
  /** Of a fork that cannot act: the nodes, by path joined with `/`, whose pure work runs again whatever is on record. */
  readonly rerun?: readonly string[];
  /**
   * Of a fork that cannot act: what the record has up to this place, a seq and the index of a part of its change, is taken from there
   * whatever is to run again.
   */
  readonly upTo?: readonly [seq: number, index: number];
}

/** What a stand-in is called for. */
export interface StandInCall {
  /** Path of the node that would act or read. */
  readonly node: readonly string[];
  /** The name of the step that would, if it is one. */
  readonly step?: string;
  /** The step's input. */
  readonly input?: unknown;
  readonly state: StateView;
}

/** Functions that give what a refused effect or read would have given. Their names are those of nodes, steps and tools. */
export type StandIns = Readonly<Record<string, (call: StandInCall) => unknown>>;
