/** Asks a person before a tool acts. The person may approve the call, change its arguments, or refuse it. */
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { schemaDefect } from '../../schema/json-schema.ts';
import { checkAgainst } from '../../schema/standard-schema.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import { actsOutside, type AgentTool, type Approval } from './agent-tool.ts';
import type { NamedTool } from './tool-box.ts';

/** The tool that a person is asked about. */
export interface AskedTool extends Pick<NamedTool, 'name' | 'inputSchema'> {
  readonly definition: Pick<AgentTool, 'input'>;
}

/** The person's decision about a call. */
export type Decision =
  | { readonly kind: 'approved'; readonly args: unknown }
  | { readonly kind: 'refused'; readonly reason: string | undefined };

/** JSON Schema of the answer. Arguments given by a person must fit the tool's schema, like the model's; else the answer is refused. */
function answerSchema(args: JsonSchema): JsonSchema {
  const { $defs, ...own } = args;
  const schema = {
    anyOf: [
      { enum: ['approve', 'refuse'] },
      {
        type: 'object',
        required: ['decision'],
        additionalProperties: false,
        properties: { decision: { enum: ['approve', 'edit', 'refuse'] }, args: own, reason: { type: 'string' } },
      },
    ],
    // References in a schema are resolved from its root, so definitions are moved there.
    ...($defs !== undefined && { $defs }),
  };
  const isWhole = schemaDefect(args) === undefined && schemaDefect(schema) === undefined && !refersToRoot(args);
  return isWhole ? schema : answerSchema({ type: 'object' });
}

/** Whether a schema contains references that would break when it becomes part of another schema. */
function refersToRoot(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  return Object.entries(schema).some(
    ([key, value]) =>
      (key === '$ref' && typeof value === 'string' && !value.startsWith('#/$defs/')) || refersToRoot(value),
  );
}

/**
 * Whether a call is asked about. What is on record stands, whatever the agent and its tools say now: a question that was asked keeps its
 * answer, with the arguments that a person gave, and a call that was made without one is not asked about.
 * @param key - key of the call
 * @param decide - whether a person must be asked, for a call of which nothing is on record
 */
export async function isAskedAbout(
  { past }: Pick<NodeContext, 'past'>,
  key: string,
  decide: () => boolean | Promise<boolean>,
): Promise<boolean> {
  if (past.kindOf(questionName(key)) !== undefined) return true;
  return past.kindOf(key) === undefined && decide();
}

/** Name of the question about a call. */
export const questionName = (key: string): string => `approve ${key}`;

/**
 * Whether a person must be asked before this call. By default that is so for tools that act on the world, unless the agent's `allow` names
 * them.
 */
export async function needsApproval(
  { name, definition }: NamedTool,
  args: unknown,
  allow: readonly string[] | true,
): Promise<boolean> {
  const { approval } = definition;
  if (approval !== undefined) return asksBefore(approval, args);
  return actsOutside(definition) && allow !== true && !allow.includes(name);
}

/** Whether this `approval` asks before a call. Anything that is not clearly a no asks: a function that forgets to return lets nothing pass. */
export async function asksBefore<Args>(approval: Approval<Args>, args: Args): Promise<boolean> {
  if (typeof approval !== 'function') return approval !== 'never';
  return ((await approval(args)) as unknown) !== false;
}

/**
 * Asks, or returns the recorded answer. If only the tool's own check finds the person's arguments wrong, it asks again and gives the
 * reason.
 * @param key - key of the call, so that after a restart the question is recognised as the same
 */
export async function askApproval(
  ctx: NodeContext,
  { name, definition, inputSchema }: AskedTool,
  key: string,
  args: unknown,
): Promise<Decision> {
  for (let fault: string | undefined; ;) {
    const answer = await ctx.ask({
      name: questionName(key),
      prompt: `${fault === undefined ? '' : `${fault}\n`}May the agent call ${name}?\n${JSON.stringify(args, undefined, 2)}`,
      choices: [
        { value: 'approve', label: 'approve' },
        { value: 'refuse', label: 'refuse' },
      ],
      matching: 'open',
      schema: answerSchema(inputSchema),
      metadata: { tool: name, args },
    });
    const said = isPlainObject(answer) ? answer : { decision: answer };
    if (said['decision'] === 'refuse') {
      const reason = said['reason'];
      return { kind: 'refused', reason: typeof reason === 'string' ? reason : undefined };
    }
    if (said['decision'] !== 'edit') return { kind: 'approved', args };
    const edited = said['args'] ?? args;
    ({ fault } = await checkAgainst(definition.input, edited, 'args'));
    if (fault === undefined) return { kind: 'approved', args: edited };
  }
}

/** What the model is told in place of a result. */
export function refusedText(name: string, reason: string | undefined): string {
  return reason === undefined
    ? `a person refused this call of ${name}`
    : `a person refused this call of ${name}: ${reason}`;
}
