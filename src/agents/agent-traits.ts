/** What an agent tells those that use it as a tool, by the code of its node. */
import type { NodeImplementation } from '../graph/contracts/node-contract.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';

export interface AgentTraits {
  readonly description: string;
  readonly input: JsonSchema;
  readonly callsMax?: number;
}

export const agentTraits: WeakMap<NodeImplementation, AgentTraits> = new WeakMap<NodeImplementation, AgentTraits>();
