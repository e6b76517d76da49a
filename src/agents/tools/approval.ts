/** Asks a person before a tool acts. The person may approve the call, change its arguments, or refuse it. */
import { isDeepStrictEqual } from 'node:util';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { schemaDefect } from '../../schema/json-schema.ts';
import { checkAgainst } from '../../schema/standard-schema.ts';
import { mapLeaves } from '../../nodes/draft/map-leaves.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import { toJson } from '../../state/values/to-json.ts';
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

/**
 * JSON Schema of the answer. An answer with arguments changes the call, whichever word is used for it: they must fit the tool's schema, as
 * the model's must; else the answer is refused.
 */
function answerSchema(args: JsonSchema): JsonSchema {
  const { $defs, ...own } = args;
  const form = (decisions: readonly string[], more: Readonly<Record<string, unknown>> = {}): JsonSchema => ({
    type: 'object',
    required: ['decision', ...Object.keys(more)],
    additionalProperties: false,
    properties: { decision: { enum: decisions }, reason: { type: 'string' }, ...more },
  });
  const schema = {
    anyOf: [{ enum: ['approve', 'refuse'] }, form(['approve', 'refuse']), form(['edit', 'approve'], { args: own })],
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

/** A call that is asked about. */
export interface AskedCall {
  /** Identifies the call, so that after a restart the question is recognised as the same. */
  readonly key: string;
  /** The arguments as the model gave them. */
  readonly given: unknown;
  /** The arguments as the tool's schema made them: with its defaults and conversions. */
  readonly args: unknown;
}

/**
 * Asks, or returns the recorded answer. What is shown is what runs: the checked arguments, not the model's words for them. Arguments that a
 * person gives are checked too, and where the schema makes others of them, or finds them wrong, it asks again.
 */
export async function askApproval(
  ctx: NodeContext,
  { name, definition, inputSchema }: AskedTool,
  { key, given, args }: AskedCall,
): Promise<Decision> {
  const question = questionName(key);
  const { past } = ctx;
  // A question of an older run has no such record.
  const isRecorded = past.kindOf(question) === undefined || past.kindOf(`${question} arguments`) !== undefined;
  let proposed = isRecorded ? await asRecorded(ctx, `${question} arguments`, given, args) : args;
  for (let remark = ''; ;) {
    const answer = await ctx.ask({
      name: question,
      prompt: `${remark}May the agent call ${name}?\n${JSON.stringify(toJson(proposed), undefined, 2)}`,
      choices: [
        { value: 'approve', label: 'approve' },
        { value: 'refuse', label: 'refuse' },
      ],
      matching: 'open',
      schema: answerSchema(inputSchema),
      metadata: { tool: name, args: proposed },
      isApproval: true,
    });
    const said = isPlainObject(answer) ? answer : { decision: answer };
    if (said['decision'] === 'refuse') {
      const reason = said['reason'];
      return { kind: 'refused', reason: typeof reason === 'string' ? reason : undefined };
    }
    const isEdit = said['decision'] === 'edit' || 'args' in said;
    if (!isEdit || isDeepStrictEqual(said['args'], proposed)) return { kind: 'approved', args: proposed };
    const checked = await checkAgainst(definition.input, said['args'], 'args');
    if (checked.fault !== undefined) {
      remark = `${checked.fault}\n`;
      continue;
    }
    const edited = await asRecorded(ctx, `${question} edited arguments`, said['args'], checked.value);
    if (isDeepStrictEqual(edited, said['args'])) return { kind: 'approved', args: edited };
    proposed = edited;
    remark = 'These are the arguments as the tool takes them.\n';
  }
}

/** Records the arguments that a person is shown: a schema may make others each time, as a default that is a new id does. */
async function asRecorded(ctx: NodeContext, name: string, given: unknown, args: unknown): Promise<unknown> {
  if (isDeepStrictEqual(args, given)) return args;
  const recorded = await ctx.step(name, { input: given }, () => args);
  // What is recorded is frozen, and tools get arguments of their own.
  return mapLeaves(recorded, (leaf) => leaf);
}

/** What the model is told in place of a result. */
export function refusedText(name: string, reason: string | undefined): string {
  return reason === undefined
    ? `a person refused this call of ${name}`
    : `a person refused this call of ${name}: ${reason}`;
}
