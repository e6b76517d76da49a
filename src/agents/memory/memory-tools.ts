/** Tools with which a model recalls what is known about its user, and remembers more. */
import type { NodeContext, StateView } from '../../graph/contracts/node-contract.ts';
import type { FromState, OfState } from '../../nodes/draft/typed-context.ts';
import type { MemoryOwner } from '../../ports/memories.ts';
import { tool, type AgentTool } from '../tools/agent-tool.ts';
import type { MemorySource, SessionMemory } from './session-memory.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

export interface MemoryToolsOptions<S extends StateView = StateView> {
  /** Owner of the memory, determined by the run's state and never by the model. */
  readonly owner: FromState<MemoryOwner, S>;
}

/**
 * Makes the tools `recall` and `remember`. Both are always recorded, whatever the graph's mode, because what a model was told is part of
 * its conversation. They ask nobody, because only this user's session sees what is remembered.
 */
export function memoryTools<S extends StateView = StateView>(
  source: MemorySource,
  options: MemoryToolsOptions<S>,
): Readonly<Record<'recall' | 'remember', AgentTool & OfState<S>>> {
  refuseUnknownKeys('memoryTools', options, ['owner']);
  const { owner } = options as MemoryToolsOptions<never>;
  const open = (ctx: NodeContext): SessionMemory =>
    source.open(ctx, owner({ state: ctx.state as never }), { consistency: 'journaled' });
  return {
    recall: tool({
      description: 'Gives what is remembered of this user: the newest entries, or those that hold a text.',
      input: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
      composed: true,
      run: async (args, ctx) => {
        return (await open(ctx).recall(args as { readonly text?: string })).map(({ content }) => content);
      },
    }),
    remember: tool({
      description: 'Remembers something of this user for later sessions: one fact, in a sentence.',
      input: {
        type: 'object',
        required: ['content'],
        properties: { content: { type: 'string', minLength: 1 } },
        additionalProperties: false,
      },
      composed: true,
      run: async (args, ctx) => {
        await open(ctx).remember((args as { readonly content: string }).content);
        return 'remembered';
      },
    }),
  };
}
