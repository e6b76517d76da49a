/** One loop of an agent, for views of the agent's state. */
import type { ModelUsage } from '../../graph/contracts/model-contract.ts';

/** A tool call and its status. */
export interface AgentCall {
  /** The provider's id of the call. */
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  /** `waiting`: for a person's answer. `started`: begun, and its end is not recorded. `due`: not begun yet. */
  readonly status: 'done' | 'failed' | 'waiting' | 'started' | 'due';
  /** Name of the step or child run that the call was recorded as. */
  readonly step?: string;
  readonly output?: unknown;
  /** Whether it got the result of an earlier equal call. */
  readonly isCached?: true;
}

/** One loop: an answer of the model and the calls it made. */
export interface AgentLoopState {
  readonly loop: number;
  /** Name of the model that answered. */
  readonly model: string;
  /** The text of the answer. */
  readonly text: string;
  readonly usage: ModelUsage;
  /** Whether the answer ended at the limit of its tokens. */
  readonly isCutOff?: true;
  readonly calls: readonly AgentCall[];
}
