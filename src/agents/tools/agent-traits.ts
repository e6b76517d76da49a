/** What agents declare to other agents that use them as tools. Found by the implementation of the agent's node. */
import type { NodeImplementation } from '../../graph/contracts/node-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';

export interface AgentTraits {
  readonly description: string;
  readonly input: JsonSchema;
  readonly callsMax?: number;
}

export const agentTraits: WeakMap<NodeImplementation, AgentTraits> = new WeakMap<NodeImplementation, AgentTraits>();
