/** Asks a person before a tool acts. The person may approve the call, change its arguments, or refuse it. */
import { isDeepStrictEqual } from 'node:util';
import type { EffectClass, NodeContext, Question } from '../../graph/contracts/node-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { approvalSchema, readApproval } from '../../schema/approval-answer.ts';
import { schemaDefect } from '../../schema/json-schema.ts';
import { checkAgainst } from '../../schema/standard-schema.ts';
import { mapLeaves } from '../../nodes/draft/computed.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { toJson } from '../../state/values/to-json.ts';
import { asksByDefault, type AgentTool, type ApprovalPolicy, type NamedTool } from './tool-box.ts';

/** The tool that a person is asked about. */
export interface ToolToApprove extends Pick<NamedTool, 'name' | 'inputSchema'> {
  readonly definition: Pick<AgentTool, 'input'>;
  /** What agents in it are allowed to do. */
  readonly inside?: { readonly allowedInside?: EffectClass };
  /** Whom to ask. Default `staff`. */
  readonly audience?: Question['audience'];
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
  // References in a schema are resolved from its root, so definitions are moved there.
  const schema = { ...approvalSchema(own, false), ...($defs !== undefined && { $defs }) };
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
 * answer, with the arguments that a person set, and a call that was made without one is not asked about.
 * @param key - key of the call
 * @param decide - whether a person must be asked, for a call of which nothing is on record
 */
export async function isApprovalRequested(
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
 * Whether a person must be asked before this call. By default that is so for tools that act on the world without asking by themselves,
 * unless the agent's `allow` names them.
 */
export async function needsApproval(tool: NamedTool, args: unknown, allow: readonly string[] | true): Promise<boolean> {
  const { approval } = tool.definition;
  return approval === undefined ? asksByDefault(tool, allow) : asksBefore(approval, args);
}

/**
 * Whether this `approval` asks before a call. Anything that is not clearly a no asks: a function that forgets to return lets nothing pass.
 */
export async function asksBefore<Args>(approval: ApprovalPolicy<Args>, args: Args): Promise<boolean> {
  if (typeof approval !== 'function') return approval !== 'never';
  return ((await approval(args)) as unknown) !== false;
}

/** A call that is asked about. */
export interface CallToApprove {
  /** Identifies the call, so that after a restart the question is recognised as the same. */
  readonly key: string;
  /** The arguments as the model gave them. */
  readonly input: unknown;
  /** The arguments as the tool's schema made them: with its defaults and conversions. */
  readonly args: unknown;
}

/**
 * Asks, or returns the recorded answer. What is shown is what runs: the checked arguments, not the model's words for them. Arguments that a
 * person gives are checked too, and where the schema makes others of them, or finds them wrong, it asks again. The question is known by the
 * tool and these arguments, whatever the schema says of them.
 */
export async function askApproval(
  ctx: NodeContext,
  { name, definition, inputSchema, audience, inside }: ToolToApprove,
  call: CallToApprove,
): Promise<Decision> {
  const question = questionName(call.key);
  const identityOf = (args: unknown): unknown => ({ tool: name, args });
  let { proposed, remark } = await argumentsToShow(ctx, definition, call, identityOf);
  for (;;) {
    const answer = await ctx.ask({
      name: question,
      prompt: `${remark}May the agent call ${name}?\n${JSON.stringify(toJson(proposed), undefined, 2)}`,
      choices: [
        { value: 'approve', label: 'approve' },
        { value: 'refuse', label: 'refuse' },
      ],
      matching: 'open',
      schema: answerSchema(inputSchema),
      metadata: { tool: name, args: proposed, ...inside },
      identity: identityOf(proposed),
      isApproval: true,
      ...(audience !== undefined && { audience }),
    });
    const { approved, feedback, data } = readApproval(answer);
    if (!approved) return { kind: 'refused', reason: feedback };
    if (data === undefined || isDeepStrictEqual(data, proposed)) return { kind: 'approved', args: proposed };
    const checked = await checkAgainst(definition.input, data, 'args');
    if (checked.fault !== undefined) {
      remark = `${checked.fault}\n`;
      continue;
    }
    const edited = isDeepStrictEqual(checked.value, data)
      ? data
      : await asRecorded(ctx, editedName(question), data, checked.value);
    if (isDeepStrictEqual(edited, data)) return { kind: 'approved', args: edited };
    proposed = edited;
    remark = 'These are the arguments as the tool takes them.\n';
  }
}

const shownName = (question: string, nth: number): string => `${question} arguments${nth === 1 ? '' : ` ${nth}`}`;
const editedName = (question: string): string => `${question} edited arguments`;

/** How often the arguments of a question are on record: once, and once more each time that a changed tool made others of them. */
function timesShown({ past }: NodeContext, question: string): number {
  let count = 0;
  while (past.kindOf(shownName(question, count + 1)) !== undefined) count += 1;
  return count;
}

/**
 * The arguments to ask about. Those of the question on record stand, though a schema may make others each time; where the tool has changed
 * since and makes others of what the model gave, these are asked about, and the question says what differs.
 */
async function argumentsToShow(
  ctx: NodeContext,
  definition: Pick<AgentTool, 'input'>,
  { key, input, args }: CallToApprove,
  identityOf: (args: unknown) => unknown,
): Promise<{ readonly proposed: unknown; readonly remark: string }> {
  const question = questionName(key);
  const isAsked = ctx.past.kindOf(question) !== undefined;
  const count = timesShown(ctx, question);
  if (count === 0 && isDeepStrictEqual(args, input)) return { proposed: args, remark: '' };
  if (count === 0 && !isAsked)
    return { proposed: await asRecorded(ctx, shownName(question, 1), input, args), remark: '' };
  // An older version did not record which arguments it showed.
  if (count === 0 && !ctx.past.isAsked(question, identityOf(input))) return { proposed: args, remark: '' };
  const current = await shownArguments(ctx, question, count, input);
  // Under the same code, what differs from the record is what the schema makes anew each time.
  const mayHaveChanged = count === 0 || !isAsked || ctx.past.isOfOtherCode(question);
  const hasChanged = mayHaveChanged && !isDeepStrictEqual(current, args);
  const again = hasChanged ? await checkAgainst(definition.input, input, 'arguments') : undefined;
  if (again?.fault === undefined && again !== undefined && differs(current, args, again.value)) {
    const proposed = await asRecorded(ctx, shownName(question, count + 1), input, args);
    return { proposed, remark: isAsked ? changedWords(current, proposed) : '' };
  }
  return { proposed: current, remark: '' };
}

/** The arguments that the question on record shows. */
async function shownArguments(ctx: NodeContext, question: string, count: number, input: unknown): Promise<unknown> {
  if (count === 0) return input;
  ctx.past.pass(Array.from({ length: count - 1 }, (_, index) => shownName(question, index + 1)));
  return asRecorded(ctx, shownName(question, count), input, undefined);
}

/** Whether a record is another than two runs of a schema agree on. Where they do not agree, it makes a new value each time. */
function differs(recorded: unknown, first: unknown, second: unknown): boolean {
  const values = [recorded, first, second];
  if (values.every(isPlainObject)) {
    const keys = new Set(values.flatMap((value) => Object.keys(value)));
    return [...keys].some((key) => differs(...(values.map((value) => value[key]) as [unknown, unknown, unknown])));
  }
  return isDeepStrictEqual(first, second) && !isDeepStrictEqual(first, recorded);
}

function changedWords(before: unknown, now: unknown): string {
  const own = (value: unknown): Readonly<Record<string, unknown>> =>
    isPlainObject(value) ? value : { arguments: value };
  const [old, made] = [own(before), own(now)];
  const words = (value: unknown): string => (value === undefined ? 'absent' : JSON.stringify(toJson(value)));
  const changes = [...new Set([...Object.keys(old), ...Object.keys(made)])].flatMap((key) =>
    isDeepStrictEqual(old[key], made[key]) ? [] : [`${key} was ${words(old[key])}, and is ${words(made[key])}`],
  );
  return `The tool has changed since this was asked: ${changes.join('; ')}.\n`;
}

/** What a person decided about a call that has begun since: it runs with the arguments that were approved, whatever the tool takes now. */
export function recordedDecision({ past }: NodeContext, { key, input, args }: CallToApprove): Decision {
  const question = questionName(key);
  const answered = past.answerTo(question);
  if (answered === undefined) return { kind: 'approved', args };
  const { approved, feedback, data } = readApproval(answered.value);
  if (!approved) return { kind: 'refused', reason: feedback };
  if (data !== undefined) return { kind: 'approved', args: thawed(data) };
  const names = [editedName(question), `${question} arguments`];
  const call = past.steps().findLast(({ name }) => names.some((one) => name === one || name.startsWith(`${one} `)));
  if (call !== undefined) return { kind: 'approved', args: thawed(call.output) };
  // An older version did not record what it showed.
  return { kind: 'approved', args: past.isOfOtherCode(question) ? input : args };
}

/**
 * The arguments of a call whose function is repeated, which has to get the same each time: what a schema makes anew, as a new id is, is on
 * record.
 */
export async function fixedArguments(
  ctx: NodeContext,
  definition: Pick<AgentTool, 'input'>,
  { key, input, args }: CallToApprove,
): Promise<unknown> {
  const name = `arguments of ${key}`;
  if (ctx.past.kindOf(name) === 'step') return asRecorded(ctx, name, input, args);
  if (isDeepStrictEqual(args, input)) return args;
  const again = await checkAgainst(definition.input, input, 'arguments');
  const isNew = again.fault === undefined && !isDeepStrictEqual(again.value, args);
  return isNew ? asRecorded(ctx, name, input, args) : args;
}

/** Records the arguments that a person is shown: a schema may make others each time, as a default that is a new id does. */
async function asRecorded(ctx: NodeContext, name: string, input: unknown, args: unknown): Promise<unknown> {
  const recorded = await ctx.step(name, { effect: 'pure', input: input }, () => args);
  return thawed(recorded);
}

/** What is recorded is frozen, and tools get arguments of their own. */
function thawed(recorded: unknown): unknown {
  return mapLeaves(recorded, (leaf) => leaf);
}

/** What the model gets in place of a result. */
export function refusedText(name: string, reason: string | undefined): string {
  return reason === undefined
    ? `a person refused this call of ${name}`
    : `a person refused this call of ${name}: ${reason}`;
}
