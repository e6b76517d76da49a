/** One loop of an agent, as it stands. */
import type { ModelUsage } from '../../graph/contracts/model-contract.ts';

/** A call of a tool, as it stands. */
export interface AgentCall {
  /** The provider's id of the call. */
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  /** `waiting`: for a person's answer; `started`: made, and nothing is known of its end; `due`: not made yet. */
  readonly status: 'done' | 'failed' | 'waiting' | 'started' | 'due';
  /** The step or child run that it is, by its name. */
  readonly step?: string;
  readonly output?: unknown;
  /** It took the result of an equal call. */
  readonly isCached?: true;
}

/** One loop: what the model said, and what it called. */
export interface AgentLoopState {
  readonly loop: number;
  /** The model that answered. */
  readonly model: string;
  /** What it said beside its calls. */
  readonly text: string;
  readonly usage: ModelUsage;
  readonly calls: readonly AgentCall[];
}
