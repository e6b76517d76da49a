/** A person's word before a tool acts: let it, with other arguments, or not. */
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { isPlainObject } from '../state/values/plain.ts';
import type { NamedTool } from './tool-box.ts';

/** What was decided about a call. */
export type Decision =
  | { readonly kind: 'approved'; readonly args: unknown }
  | { readonly kind: 'refused'; readonly reason: string | undefined };

const answerSchema = {
  anyOf: [
    { enum: ['approve', 'refuse'] },
    {
      type: 'object',
      required: ['decision'],
      additionalProperties: false,
      properties: {
        decision: { enum: ['approve', 'edit', 'refuse'] },
        args: { type: 'object' },
        reason: { type: 'string' },
      },
    },
  ],
} as const;

/** Whether a person is asked before this call. Tools that act on the world ask, unless the agent's `allow` names them. */
export async function needsApproval(
  { name, definition }: NamedTool,
  args: unknown,
  allow: readonly string[] | true,
): Promise<boolean> {
  const { approval } = definition;
  if (typeof approval === 'function') return approval(args);
  if (approval !== undefined) return approval === 'always';
  const effect = 'run' in definition && definition.isComposed !== true ? (definition.effect ?? 'external') : 'pure';
  return (effect === 'write' || effect === 'external') && allow !== true && !allow.includes(name);
}

/** Asks, or finds what was answered. @param key - the call's, so that the question is the same one after a restart */
export async function askApproval(
  ctx: NodeContext,
  { name }: NamedTool,
  key: string,
  args: unknown,
): Promise<Decision> {
  const answer = await ctx.ask({
    name: `approve ${key}`,
    prompt: `May the agent call ${name}?\n${JSON.stringify(args, undefined, 2)}`,
    choices: [
      { value: 'approve', label: 'approve' },
      { value: 'refuse', label: 'refuse' },
    ],
    matching: 'open',
    schema: answerSchema,
    metadata: { tool: name, args },
  });
  const said = isPlainObject(answer) ? answer : { decision: answer };
  if (said['decision'] === 'refuse') {
    const reason = said['reason'];
    return { kind: 'refused', reason: typeof reason === 'string' ? reason : undefined };
  }
  return { kind: 'approved', args: said['decision'] === 'edit' ? (said['args'] ?? args) : args };
}
