/** Asks a person before a tool acts. The person may approve the call, change its arguments, or refuse it. */
import { isDeepStrictEqual } from 'node:util';
import type { NodeContext, Question } from '../../graph/contracts/node-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { approvalSchema, readApproval } from '../../schema/approval-answer.ts';
import { schemaDefect } from '../../schema/json-schema.ts';
import { checkAgainst } from '../../schema/standard-schema.ts';
import { mapLeaves } from '../../nodes/draft/node-parts.ts';
import { toJson } from '../../state/values/to-json.ts';
import { asksByDefault, type AgentTool, type Approval, type NamedTool } from './tool-box.ts';
import type { FileAccess, ToolResultPart } from '../../graph/contracts/contracts.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { copyValue } from '../../state/values/admit.ts';

/** The tool that a person is asked about. */
export interface ToolToApprove extends Pick<NamedTool, 'name' | 'inputSchema'> {
  readonly definition: Pick<AgentTool, 'input'>;
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
export async function asksBefore<Args>(approval: Approval<Args>, args: Args): Promise<boolean> {
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
 * person gives are checked too, and where the schema makes others of them, or finds them wrong, it asks again.
 */
export async function askApproval(
  ctx: NodeContext,
  { name, definition, inputSchema, audience }: ToolToApprove,
  { key, input, args }: CallToApprove,
): Promise<Decision> {
  const question = questionName(key);
  const { past } = ctx;
  // A question of an older run has no such record.
  const isRecorded = past.kindOf(question) === undefined || past.kindOf(`${question} arguments`) !== undefined;
  let proposed = isRecorded ? await asRecorded(ctx, `${question} arguments`, input, args) : args;
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
    const edited = await asRecorded(ctx, `${question} edited arguments`, data, checked.value);
    if (isDeepStrictEqual(edited, data)) return { kind: 'approved', args: edited };
    proposed = edited;
    remark = 'These are the arguments as the tool takes them.\n';
  }
}

/** Records the arguments that a person is shown: a schema may make others each time, as a default that is a new id does. */
async function asRecorded(ctx: NodeContext, name: string, input: unknown, args: unknown): Promise<unknown> {
  if (isDeepStrictEqual(args, input)) return args;
  const recorded = await ctx.step(name, { effect: 'pure', input: input }, () => args);
  // What is recorded is frozen, and tools get arguments of their own.
  return mapLeaves(recorded, (leaf) => leaf);
}

/** What the model gets in place of a result. */
export function refusedText(name: string, reason: string | undefined): string {
  return reason === undefined
    ? `a person refused this call of ${name}`
    : `a person refused this call of ${name}: ${reason}`;
}

// What the model is shown of a tool's result: all of it if it is short, otherwise its two ends and where the whole is.

/** The longest result that a model is shown whole, in bytes. */
const resultBytesMax = 64 * 1024;
/** Bytes shown of each end of a result that is too long to show whole. */
const endBytes = 8 * 1024;
/** The deepest nesting of a result that has no record of its own, and becomes part of that of the next model call. */
const composedDepthMax = 100;

/** What a model gets as the result of a call. */
export interface Observation {
  readonly output: unknown;
  /** The result with images, for a model that accepts them. */
  readonly parts?: NonNullable<ToolResultPart['parts']>;
  readonly isError?: true;
  /** Name of the step, question or child run that the call was recorded as. */
  readonly from?: string;
  /** If that is a child run: id of the node whose output is the result, or null if its artifacts are. */
  readonly node?: string | null;
  /** Whether that record holds the result. */
  readonly isRecorded?: boolean;
  /** A result that no record holds, if it is too long to show whole. */
  readonly whole?: FileRef;
  /** Whether equal calls get this result. */
  readonly isKept?: boolean;
  /** Whether it is the result of an earlier equal call. */
  readonly isCached?: true;
}

/** The last value of a function that yields several. The earlier ones are reported as they come. */
export async function lastOf(result: unknown, onPart: (value: unknown) => void): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: { readonly value: unknown } | undefined;
  for await (const value of result as AsyncIterable<unknown>) {
    if (last !== undefined) onPart(last.value);
    last = { value };
  }
  return last?.value;
}

/** A result in the form in which it is stored: bytes become a file. */
export async function storable(result: unknown, files: FileAccess, name: string): Promise<unknown> {
  if (!(result instanceof Uint8Array)) return result ?? null;
  return files.put(result, { name: `${name}.bin` });
}

/**
 * A stored result as the model is shown it. @param from - name of the record that holds it. @param showsImages - else an image is described
 */
export function observation(result: unknown, from: string, showsImages = false): Observation {
  const text = textOf(result);
  const output = shorten(text, `is on record as ${from}`) ?? legible(result);
  if (!showsImages || !(result instanceof FileRef) || !result.type.startsWith('image/')) return { output };
  const image = { type: 'image', data: result, mediaType: result.type, name: result.name } as const;
  return { output, parts: [{ type: 'text', text }, image] };
}

/**
 * The result of a composed tool, which has no record of its own, as the model is shown it. If it is too long for that, it is stored as a
 * file.
 * @throws VALUE_UNSTORABLE
 */
export async function composedObservation(
  result: unknown,
  files: FileAccess,
  name: string,
  showsImages = false,
): Promise<Observation> {
  const limits = { valueBytes: Infinity, valueDepth: composedDepthMax };
  const value = copyValue(await storable(result, files, name), [name], limits);
  const text = textOf(value);
  if (!isLong(text)) return observation(value, name, showsImages);
  const whole = await files.put(Buffer.from(text), { name: `${name}.txt`, type: 'text/plain' });
  return { output: shorten(text, `is ${describeFile(whole)}`), whole };
}

/** The two ends of a text that is too long to show whole; undefined if it is not. @param place - says where the whole is */
export function shorten(text: string, place: string): string | undefined {
  if (!isLong(text)) return undefined;
  // Cut between characters, never inside of one.
  const head = Buffer.from(text.slice(0, endBytes)).subarray(0, endBytes);
  const first = new TextDecoder().decode(head, { stream: true });
  const tail = Buffer.from(text.slice(-endBytes)).subarray(-endBytes);
  const last = tail.subarray(tail.findIndex((byte) => (byte & 0xc0) !== 0x80)).toString();
  const omitted = Buffer.byteLength(text) - Buffer.byteLength(first) - Buffer.byteLength(last);
  return `${first}\n[… ${omitted} bytes are left out here; the whole ${place} …]\n${last}`;
}

function isLong(text: string): boolean {
  // One UTF-16 unit takes at most three bytes.
  return text.length * 3 > resultBytesMax && Buffer.byteLength(text) > resultBytesMax;
}

/** The result as text, whole. */
function textOf(result: unknown): string {
  const readable = legible(result);
  return typeof readable === 'string' ? readable : JSON.stringify(readable);
}

/** A stored value as a model can read it: as plain JSON, with files and bytes described. Providers refuse a text with half a character. */
function legible(result: unknown): unknown {
  return mapLeaves(result, (leaf) => {
    if (typeof leaf === 'string') return leaf.toWellFormed();
    if (leaf instanceof FileRef) return describeFile(leaf);
    return leaf instanceof Uint8Array ? `[${leaf.byteLength} bytes]` : toJson(leaf);
  });
}

function describeFile({ name, type, sizeBytes, hash }: FileRef): string {
  return `[file ${name}, ${type}, ${sizeBytes} bytes, ${hash.slice(0, 12)}]`;
}
