/** Validates a node's outcome: it is checked, copied, frozen and encoded once (C2). */
import { faultOfIssue, type SchemaFault } from '../../schema/standard-schema.ts';
import { CairnError } from '../../errors.ts';
import {
  Outcome,
  partitions,
  stepsOutput,
  type OutcomeParts,
  type Partition,
} from '../../graph/contracts/node-contract.ts';
import type { Graph, StandardSchema } from '../../graph/graph.ts';
import { describeValue } from '../../state/values/plain-object.ts';
import { admitValue, maskedText, type Admitted } from '../../state/values/admit.ts';
import type { StepOrder } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { checkWritten, type SizedPart } from './checkpoint-size.ts';
import type { RunCore } from '../live-run/run-core.ts';

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
      : { output: admitValue(returned, ['outputs', node.id], core.env.bounds, core.secrets.intake) };
  }
  const { parts } = returned;
  checkParts(node.id, parts);
  const updates = admitUpdates(core, parts, frameRun.graph);
  return {
    ...(parts.output === undefined || parts.output === stepsOutput
      ? {}
      : { output: admitValue(parts.output, ['outputs', node.id], core.env.bounds, core.secrets.intake) }),
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
      admitted.push([key, admitValue(storable, [partition, key], core.env.bounds, core.secrets.intake)]);
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
function schemaIssue(schema: StandardSchema, value: unknown): SchemaFault | undefined {
  const result = schema['~standard'].validate(value);
  if (result instanceof Promise)
    throw new CairnError('CONFIG_INVALID', { reason: 'a schema of the state must answer at once' });
  const issue = result.issues?.[0];
  return issue && faultOfIssue(issue);
}
