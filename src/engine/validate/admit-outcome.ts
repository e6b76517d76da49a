/** Validates a node's outcome: it is checked, copied, frozen and encoded once (C2). */
import { faultOfIssue, type SchemaFault } from '../../schema/standard-schema.ts';
import { CairnError, readableThrown, reasonOf } from '../../errors.ts';
import {
  Outcome,
  partitions,
  stepsOutput,
  type OutcomeParts,
  type Partition,
} from '../../graph/contracts/node-contract.ts';
import type { Graph, StandardSchema } from '../../graph/graph.ts';
import { describeValue } from '../../state/values/values.ts';
import { admitValue, maskedText, type Admitted, BlobRef, encodeValue, fileHashesIn } from '../../state/values/codec.ts';
import type { StepOrder } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { checkWritten, type SizedPart } from './checkpoint-size.ts';
import type { RunCore, EngineEnvironment } from '../live-run/run-core.ts';
import type { RunKey } from '../../ports/store.ts';

// Checks ids and names from outside: text that is not empty, not too long, and well-formed.

const encoder = new TextEncoder();

/** Whether a text has more bytes. A UTF-16 unit takes three at most, so that most texts need not be encoded to know. */
function isLonger(text: string, limitBytes: number): boolean {
  return text.length * 3 > limitBytes && encoder.encode(text).byteLength > limitBytes;
}

/** @throws ID_INVALID */
export function checkId(kind: string, id: string, limitBytes: number): void {
  const fault =
    typeof id !== 'string'
      ? 'it is no text'
      : id === ''
        ? 'it is empty'
        : isLonger(id, limitBytes)
          ? `it is longer than ${limitBytes} bytes`
          : id.isWellFormed()
            ? undefined
            : 'it is not well-formed Unicode';
  if (fault !== undefined)
    throw new CairnError('ID_INVALID', {
      kind,
      id: typeof id === 'string' && id.length > 60 ? `${id.slice(0, 60)}…` : id,
      reason: fault,
    });
}

/** Updates by partition and key. */
export type AdmittedUpdates = Record<string, Record<string, Admitted>>;

/** An outcome in the form that the engine uses from here on. */
export interface AdmittedOutcome {
  /** Absent if the output is undefined, which is not stored. */
  readonly output?: Admitted;
  /** Set if the output is that of the node's steps. */
  readonly outputOfSteps?: StepOrder;
  readonly updates?: AdmittedUpdates;
  readonly goto?: readonly string[];
  readonly verdict?: string;
}

/**
 * Validates what a node returned. @throws VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE, STATE_INVALID, STATE_UNKNOWN_CHANNEL,
 * NODE_OUTPUT_INVALID
 */
export function admitOutcome(core: RunCore, activation: Activation, returned: unknown): AdmittedOutcome {
  const outcome = takeIn(core, activation, returned);
  checkWritten(core, activation, () => partsOf(activation, outcome));
  return outcome;
}

function partsOf({ node }: Activation, { output, updates = {} }: AdmittedOutcome): readonly SizedPart[] {
  const written = Object.entries(updates).flatMap(([partition, values]) =>
    Object.entries(values).map(([key, admitted]) => ({ path: [partition, key], ...admitted })),
  );
  return output === undefined ? written : [{ path: ['outputs', node.id], ...output }, ...written];
}

function takeIn(core: RunCore, activation: Activation, returned: unknown): AdmittedOutcome {
  const { node, frameRun } = activation;
  if (!(returned instanceof Outcome)) {
    return returned === undefined
      ? {}
      : { output: admitValue(returned, ['outputs', node.id], core.env.limits, core.secrets.intake) };
  }
  const { parts } = returned;
  checkParts(node.id, parts);
  const updates = admitUpdates(core, parts, frameRun.graph);
  return {
    ...(parts.output === undefined || parts.output === stepsOutput
      ? {}
      : { output: admitValue(parts.output, ['outputs', node.id], core.env.limits, core.secrets.intake) }),
    ...(parts.output === stepsOutput ? { outputOfSteps: activation.stepOrder } : {}),
    ...(updates === undefined ? {} : { updates }),
    ...(parts.goto === undefined ? {} : { goto: typeof parts.goto === 'string' ? [parts.goto] : parts.goto }),
    ...(parts.verdict === undefined ? {} : { verdict: parts.verdict }),
  };
}

const knownParts: readonly string[] = ['output', 'goto', 'verdict', ...partitions];

const verdictPattern = /^[a-z_]{1,40}$/;

/**
 * Checks that the parts of an outcome, and the updates of each partition, are objects: code that is not type-checked may give a text, or a
 * promise, in their place. @throws NODE_OUTPUT_INVALID
 */
function checkParts(node: string, parts: OutcomeParts): void {
  if (!isKeyed(parts))
    throw new CairnError('NODE_OUTPUT_INVALID', {
      node,
      reason: `it is ${describeValue(parts)}, and has to be { ${knownParts.join(', ')} }, or some of them`,
    });
  const verdict: unknown = parts.verdict;
  if (verdict !== undefined && !(typeof verdict === 'string' && verdictPattern.test(verdict)))
    throw new CairnError('NODE_OUTPUT_INVALID', {
      node,
      path: 'verdict',
      reason: `it is ${describeValue(verdict)}, and has to be a word of small letters and _, at most 40`,
    });
  for (const partition of partitions) {
    const updates: unknown = parts[partition];
    if (updates === undefined || isKeyed(updates)) continue;
    throw new CairnError('NODE_OUTPUT_INVALID', {
      node,
      path: partition,
      reason: `it is ${describeValue(updates)}, and has to be an object of updates`,
    });
  }
}

/** Whether a value is an object of named values. What has no names of its own, as a promise or a date, would be taken as empty. */
function isKeyed(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Object.keys(value).length > 0 || prototype === null || Object.getPrototypeOf(prototype) === null;
}

function admitUpdates(core: RunCore, parts: OutcomeParts, graph: Graph): AdmittedUpdates | undefined {
  for (const part of Object.keys(parts)) {
    if (!knownParts.includes(part)) throw new CairnError('STATE_UNKNOWN_CHANNEL', { channel: part, known: knownParts });
  }
  let updates: AdmittedUpdates | undefined;
  for (const partition of partitions) {
    const values = parts[partition];
    if (values === undefined) continue;
    const admitted: [string, Admitted][] = [];
    for (const [key, value] of Object.entries(values)) {
      checkUpdate(graph, partition, key, value);
      const storable = core.env.intake?.keepsOut?.(key, () => [partition]) === true ? maskedText : value;
      admitted.push([key, admitValue(storable, [partition, key], core.env.limits, core.secrets.intake)]);
    }
    if (admitted.length > 0) (updates ??= {})[partition] = Object.fromEntries(admitted);
  }
  return updates;
}

type ObjectSchema = StandardSchema & { readonly shape?: Readonly<Record<string, StandardSchema>> };

/** Checks an update against its channel's schema, if the partition's schema has schemas for its keys. */
function checkUpdate(graph: Graph, partition: Partition, key: string, value: unknown): void {
  const schemas: Readonly<Partial<Record<Partition, ObjectSchema>>> = graph.schemas;
  const shape = schemas[partition]?.shape;
  if (shape === undefined) return;
  if (!Object.hasOwn(shape, key)) {
    throw new CairnError('STATE_UNKNOWN_CHANNEL', { channel: `${partition}.${key}`, known: Object.keys(shape) });
  }
  const reducer = graph.reducers[`${partition}.${key}`];
  const fault = updateFault(shape[key] as ObjectSchema, value, typeof reducer === 'object' ? 'custom' : reducer);
  if (fault !== undefined)
    throw new CairnError('STATE_INVALID', { path: [partition, key, ...fault.path], reason: fault.message });
}

/** The fault of an update. What it must fit depends on the reducer: an item of a list, a part of an object, or the whole value. */
function updateFault(
  schema: ObjectSchema,
  value: unknown,
  reducer: string | undefined,
): ReturnType<typeof schemaIssue> {
  if (reducer === 'custom') return undefined;
  if (reducer === 'append' && !Array.isArray(value)) return schemaIssue(schema, value) && schemaIssue(schema, [value]);
  if (reducer !== 'merge') return schemaIssue(schema, value);
  const { shape } = schema;
  if (shape === undefined || typeof value !== 'object' || value === null)
    return shape === undefined ? undefined : schemaIssue(schema, value);
  for (const [key, part] of Object.entries(value)) {
    const fault = Object.hasOwn(shape, key)
      ? (updateFault(shape[key] as ObjectSchema, part, 'merge') ?? leafFault(shape[key] as ObjectSchema, part))
      : undefined;
    if (fault !== undefined) return { path: [key, ...fault.path], message: fault.message };
  }
  return undefined;
}

/** Below a merged object, a value that is not an object must fit as a whole. */
function leafFault(schema: ObjectSchema, value: unknown): ReturnType<typeof schemaIssue> {
  return schema.shape === undefined ? schemaIssue(schema, value) : undefined;
}

/** The first fault of a value. Asynchronous schemas are supported for the input only. */
export function schemaIssue(schema: StandardSchema, value: unknown): SchemaFault | undefined {
  const result = schema['~standard'].validate(value);
  if (result instanceof Promise)
    throw new CairnError('CONFIG_INVALID', { reason: 'a schema of the state must answer at once' });
  const issue = result.issues?.[0];
  return issue && faultOfIssue(issue);
}

// Moves large values to the blob store, before the commit that refers to them (C5).

type Environment = Pick<EngineEnvironment, 'blobs' | 'limits'>;

/** The form in which a value is written: itself, or a reference to a blob if it is large. */
export async function storedForm(
  env: Environment,
  run: RunKey,
  value: unknown,
  json: string = encodeValue(value),
): Promise<unknown> {
  return json.length <= env.limits.inlineBytes ? value : putJson(env, run, json);
}

async function putJson({ blobs }: Environment, run: RunKey, json: string): Promise<BlobRef> {
  const bytes = encoder.encode(json);
  return new BlobRef(await blobs.put(run, bytes), bytes.byteLength, fileHashesIn(json));
}

/** The stored form of each value in an object. */
export async function storedForms(
  env: Environment,
  run: RunKey,
  values: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const forms = Object.entries(values).map(async ([key, value]) => [key, await storedForm(env, run, value)] as const);
  return Object.fromEntries(await Promise.all(forms));
}

/** Like {@link storedForm}, for a run that is being advanced. */
export async function offloadForm(core: RunCore, value: unknown): Promise<unknown> {
  const form = await storedForm(core.env, core.run, value);
  if (form !== value) core.draft.hasBlobs = true;
  return form;
}

/** If a value is large, puts it into the blob store and returns it with the reference as its JSON text. */
export async function offloadValue(core: RunCore, value: Admitted): Promise<Admitted> {
  if (value.json.length <= core.env.limits.inlineBytes) return value;
  core.draft.hasBlobs = true;
  return { value: value.value, json: (await putJson(core.env, core.run, value.json)).json, hasTags: true };
}

/** Whether a value of the outcome is so large that it must be in the blob store before the commit. */
export function hasLargeValues(outcome: AdmittedOutcome, inlineBytes: number): boolean {
  if (outcome.output !== undefined && outcome.output.json.length > inlineBytes) return true;
  if (outcome.updates === undefined) return false;
  return Object.values(outcome.updates).some((updates) =>
    Object.values(updates).some((value) => value.json.length > inlineBytes),
  );
}

/** The outcome with its large values in the blob store. */
export async function offloadOutcome(core: RunCore, outcome: AdmittedOutcome): Promise<AdmittedOutcome> {
  const updates: AdmittedUpdates = {};
  for (const [partition, values] of Object.entries(outcome.updates ?? {})) {
    const moved = await Promise.all(
      Object.entries(values).map(async ([key, value]) => [key, await offloadValue(core, value)] as const),
    );
    updates[partition] = Object.fromEntries(moved);
  }
  return {
    ...outcome,
    ...(outcome.output === undefined ? {} : { output: await offloadValue(core, outcome.output) }),
    ...(outcome.updates === undefined ? {} : { updates }),
  };
}

// Stores errors as values: with name, message, code, data and cause, never with a stack. An error that cannot be stored completely does not
// make its outcome be lost.

/** Whatever was thrown, as an Error. An object that is none is its `data`. */
export function asError(raw: unknown): Error {
  const thrown = readableThrown(raw);
  if (thrown instanceof Error) return thrown;
  const error = new Error(reasonOf(thrown));
  if (typeof thrown !== 'object' || thrown === null) return error;
  return Object.assign(error, codeOf(thrown), { data: thrown });
}

/** Whatever was thrown, validated and redacted for storing. Parts that cannot be stored are omitted. */
export function admitError(core: RunCore, error: unknown, path: readonly string[]): Admitted {
  const thrown = asError(error);
  const admit = (value: Error): Admitted => admitValue(value, path, core.env.limits, core.secrets.intake);
  try {
    return admit(thrown);
  } catch {
    const { name } = thrown;
    const plain = Object.assign(new Error(reasonOf(thrown).slice(0, 10_000)), codeOf(thrown));
    if (typeof name === 'string') plain.name = name;
    try {
      return admit(Object.assign(plain, { data: (thrown as { readonly data?: unknown }).data }));
    } catch {
      delete (plain as { data?: unknown }).data;
      return admit(plain);
    }
  }
}

function codeOf(thrown: object): { readonly code?: string } {
  const { code } = thrown as { readonly code?: unknown };
  return typeof code === 'string' ? { code } : {};
}

/** Code and message of a failure, for a checkpoint's change. */
export function errorSummary(
  { secrets }: RunCore,
  error: unknown,
): { readonly code: string; readonly message: string } {
  const thrown = asError(error);
  const shown = (text: string): string => secrets.mask?.text(text) ?? text;
  return {
    code: shown(codeOf(thrown).code ?? 'NODE_FAILED'),
    message: shown(reasonOf(thrown)).slice(0, 500),
  };
}
