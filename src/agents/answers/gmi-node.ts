/** A node that thinks: an agent or a single answer, written with the option names of unified orchestration graphs. */
import { CairnError } from '../../errors.ts';
import type { MemoryConsistency } from '../../graph/contracts/memory-consistency.ts';
import type { StateView } from '../../graph/contracts/node-contract.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import type { NodeDraft, NodeOptions } from '../../nodes/draft/node-draft.ts';
import type { OfState } from '../../nodes/draft/typed-context.ts';
import { agent } from '../agent.ts';
import type { Opening } from '../prompt.ts';
import type { ToolEntry } from '../tools/tool-box.ts';
import { llmNode } from './llm-node.ts';

export interface GmiNodeConfig<S extends StateView = StateView> extends Opening<S> {
  /** Name of the model. Default `default`, a name of the configuration. */
  readonly model?: string;
  /** `react_bounded` (default) works with tools until it answers, as `agent` does; `single_turn` answers once, as `llmNode` does. */
  readonly executionMode?: 'react_bounded' | 'single_turn';
  /** The most model calls. Default 10. */
  readonly maxInternalIterations?: number;
  readonly tools?: Readonly<Record<string, ToolEntry & OfState<S>>>;
  readonly temperature?: number;
  /** The most tokens of an answer. */
  readonly maxTokens?: number;
}

export interface GmiPolicies extends Omit<NodeOptions, 'memoryConsistency'> {
  readonly memory?: { readonly consistency?: MemoryConsistency };
}

const configKeys = [
  'model',
  'instructions',
  'prompt',
  'executionMode',
  'maxInternalIterations',
  'tools',
  'temperature',
  'maxTokens',
] as const satisfies readonly (keyof GmiNodeConfig)[];

/** Makes the node. Its output is the answer, a text. @throws CONFIG_INVALID */
export function gmiNode<S extends StateView = StateView>(
  config: GmiNodeConfig<S>,
  { memory = {}, ...options }: GmiPolicies = {},
): NodeDraft<S, string> {
  refuseUnknownKeys('gmiNode', config, configKeys);
  refuseUnknownKeys('gmiNode: memory', memory, ['consistency']);
  const { model = 'default', executionMode = 'react_bounded', instructions, prompt, temperature, maxTokens } = config;
  const opening = { ...(instructions !== undefined && { instructions }), ...(prompt !== undefined && { prompt }) };
  const settings = {
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { tokensMax: maxTokens }),
  };
  const { consistency } = memory;
  const policies = { ...options, ...(consistency !== undefined && { memoryConsistency: consistency }) };
  const { tools, maxInternalIterations = 10 } = config;
  if (executionMode === 'react_bounded')
    return agent<S>(
      { model, ...opening, settings, maxLoops: maxInternalIterations, ...(tools !== undefined && { tools }) },
      policies,
    );
  if (executionMode !== 'single_turn') refuse('executionMode must be react_bounded or single_turn');
  if (tools !== undefined)
    refuse('a single turn calls no tools: leave tools out, or let executionMode be react_bounded');
  return llmNode<S>({ model, ...opening, settings }, policies);
}

function refuse(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { reason: `gmiNode: ${reason}` });
}
