/** How references see a block's stored output: also under field names of older files, and with fields that only its text tells. */
import {
  NodeFailure,
  outcome,
  stepsOutput,
  type EffectClass,
  type NodeContext,
  type NodeImplementation,
  type StepOptions,
} from '../../../graph/contracts/node-contract.ts';
import { isMapping, describeValue } from '../file/shape.ts';
import { isTooDeep, reasonOf } from '../../../errors.ts';
import { runParts } from '../../../graph/run-parts.ts';
import type { Inputs, NodeType } from '../../../graph/contracts/node-type.ts';
import { ItemContext, StepItemContext } from '../../block-context.ts';
import { withoutSecrets } from './block-approval.ts';
import { limitOfCalls, orEmpty } from './block-node.ts';
import { resolveFileOutputs, scopeOf, type BlockParts, callWorkflow } from './callable-workflow.ts';
import type { BlockScope, OutputShape, BlockShape } from './block-scope.ts';
import { evaluateBefore } from './input-templates.ts';
import { isCall, type BlockFile } from '../file/workflow-file.ts';
import type { Template } from '../expression/template.ts';

// The items of a for_each, with the keys that identify them.

export interface Item {
  readonly key: string;
  readonly value: unknown;
}

/** Most items of one collection. */
const itemsMax = 100_000;

/** Items of a list, keyed by position, or of a mapping, by key and in its order. @throws NodeFailure INPUT_INVALID */
function readItems(collection: unknown): readonly Item[] {
  const fault = itemsFault(collection);
  if (fault !== undefined) throw new NodeFailure(fault, { code: 'INPUT_INVALID', applied: 'no' });
  if (Array.isArray(collection)) return collection.map((value: unknown, index) => ({ key: String(index), value }));
  return Object.entries(collection as object).map(([key, value]) => ({ key, value: value as unknown }));
}

/** Why a for_each cannot run over this value. Undefined means that it can. */
export function itemsFault(collection: unknown): string | undefined {
  if (!Array.isArray(collection) && !isMapping(collection))
    return `for_each gives ${describeValue(collection)}, not a list or a mapping`;
  const keys = Array.isArray(collection) ? [] : Object.keys(collection);
  const count = Array.isArray(collection) ? collection.length : keys.length;
  if (count > itemsMax) return `for_each has ${count} items, over the limit of ${itemsMax}`;
  for (const key of keys) {
    // oxlint-disable-next-line no-control-regex -- they are what is looked for.
    if (key === '' || key.length > 254 || Buffer.byteLength(key) > 400 || /[\u0000-\u001f\u007f]/.test(key))
      return `for_each has the key ${describeValue(key)}: a key has 1 to 254 characters, and no control characters`;
  }
  return undefined;
}

// The node of a block that runs once for each item. Each item has its own record, so a resume runs only those that are missing or failed.

/** How one item ended. */
export interface Iteration {
  readonly key: string;
  readonly status: 'completed' | 'failed' | 'skipped';
  readonly outputs?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The output of the block. */
export interface ForEachOutput {
  readonly iterations: readonly Iteration[];
  readonly count: number;
  readonly count_failed: number;
  readonly count_skipped: number;
}

/** Fields of {@link ForEachOutput}. */
export const forEachFields: readonly string[] = ['iterations', 'count', 'count_failed', 'count_skipped'];

/** If every item completed, the stored output is only the list of iterations, which refers to the outputs of the steps. */
const forEachShape: OutputShape = (stored) =>
  Array.isArray(stored)
    ? { ...summarise(stored as readonly Iteration[]) }
    : (stored as Readonly<Record<string, unknown>>);

/** The effect class of the node: the effects are those of its items, and each item has its own record of them. */
export function forEachEffect(effect: EffectClass): EffectClass {
  return effect === 'human' || effect === 'pure' ? effect : 'read';
}

/** @param effect - the effect class of one item */
export function forEachImplementation(
  parts: BlockParts,
  effect: EffectClass,
  timeoutMs: number | undefined,
): NodeImplementation {
  const { type, over } = parts;
  const work = chooseWork(parts, effect, timeoutMs);
  return {
    isComposed: true,
    run: async (ctx) => {
      const scope = scopeOf(parts.workflow, ctx);
      const items = readItems(evaluateBefore(over as Template, scope));
      const { iterations, areSteps } = await runItems(ctx, { parts, scope, items, work });
      // The steps hold the iterations, and are called in the order of the items: naming them keeps one copy.
      // With a field of its own beside them, the output is written out.
      const isTimed = parts.workflow.timed.has(parts.file.id);
      return areSteps && items.length > 0 && !isTimed ? outcome({ output: stepsOutput }) : summarise(iterations);
    },
    codeText: String(type.run),
  };
}

/** Most items at work at once in parallel mode if the file does not say. An item that waits for an answer does not count. */
const maxParallelDefault = 5;

/** How many items are looked at and skipped in one turn of the event loop. */
const skippedAtOnce = 1_000;

interface Done {
  readonly iteration: Iteration;
  /** Whether the iteration is exactly the output of a recorded step. */
  readonly isStep: boolean;
}

/** Does the work of one item. */
type Work = (ctx: NodeContext, scope: BlockScope, key: string, inputs: Inputs) => Promise<Done>;

const completed = (key: string, outputs: unknown): Iteration => ({ key, status: 'completed', outputs });

function chooseWork(parts: BlockParts, effect: EffectClass, timeoutMs: number | undefined): Work {
  const { file, type, workflow, fileOutputs } = parts;
  if (isCall(type)) {
    return async (ctx, _, key, inputs) => {
      const outputs = await callWorkflow(ctx, parts, inputs, key);
      return { iteration: completed(key, outputs), isStep: false };
    };
  }
  const partsOf = (ctx: NodeContext, scope: BlockScope, inputs: Inputs) => ({
    ctx,
    workflow,
    inputs,
    fileOutputs: resolveFileOutputs(fileOutputs, scope),
    ...limitOfCalls(parts),
  });
  if (effect === 'human' || type.isComposed === true) {
    return async (ctx, scope, key, inputs) => {
      const outputs = await orEmpty(type.run(new ItemContext(partsOf(ctx, scope, inputs), key)));
      return { iteration: completed(key, outputs), isStep: false };
    };
  }
  const { reconcile } = type;
  const fixed: StepOptions = {
    effect,
    ...(type.isModelCall === true && { isModelCall: true }),
    ...(file.retry !== undefined && { retry: file.retry }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(file.limit !== undefined && { limit: file.limit }),
    ...(file.atMost !== undefined && { atMost: file.atMost }),
    ...(isIdempotent(parts, effect) && { idempotent: true }),
  };
  return async (ctx, scope, key, inputs) => {
    const iteration: Iteration = await ctx.step(
      key,
      {
        ...fixed,
        input: parts.inputs.secrets.length > 0 ? withoutSecrets(inputs) : inputs,
        ...(reconcile !== undefined && {
          reconcile: async ({ idempotencyKey }: { readonly idempotencyKey: string }) => {
            const found = await reconcile({
              idempotencyKey,
              inputs,
              isGranted: (need) => workflow.withheld?.(need) === undefined,
            });
            return found.happened === true ? { ...found, output: completed(key, found.output) } : found;
          },
        }),
        readAnswer: (answer) => iterationOfAnswer(key, answer),
      },
      async (step) =>
        completed(key, await orEmpty(type.run(new StepItemContext(partsOf(ctx, scope, inputs), key, step)))),
    );
    return { iteration, isStep: true };
  };
}

/** The iteration of an item that a person says happened, who gives the block's output, nothing, or the iteration as it is stored. */
function iterationOfAnswer(key: string, answer: unknown): Iteration {
  if (answer === null) return { key, status: 'completed' };
  const { key: own, status } = answer as Partial<Iteration>;
  return own === key && status === 'completed' ? (answer as Iteration) : completed(key, answer);
}

/** Whether it is harmless to repeat the block's effect: as the file says, or else as the type says. */
export function isIdempotent({ file, type, inputs }: BlockParts, effect: EffectClass): boolean {
  if (effect !== 'write' && effect !== 'external') return false;
  const ofType = typeof type.idempotent === 'function' ? type.idempotent(inputs.literals) : type.idempotent;
  return file.idempotent ?? (file.onInDoubt === 'retry' || ofType === true);
}

interface Items {
  readonly parts: BlockParts;
  readonly scope: BlockScope;
  readonly items: readonly Item[];
  readonly work: Work;
}

/** Runs the items. Also tells whether all iterations are outputs of recorded steps. */
async function runItems(
  ctx: NodeContext,
  { parts: { file, inputs, condition }, scope, items, work }: Items,
): Promise<{ readonly iterations: readonly Iteration[]; readonly areSteps: boolean }> {
  const { isSequential = true, maxParallel = maxParallelDefault } = file.forEach ?? {};
  const iterations: Iteration[] = [];
  const failures = new Map<string, unknown>();
  let areSteps = true;
  let skippedCount = 0;
  const runOne = async (part: NodeContext, { key, value }: Item, index: number): Promise<Done> => {
    const own = scope.withEach({ key, value, index, count: items.length });
    if (condition !== undefined && !evaluateBefore(condition, own)) {
      skippedCount += 1;
      // What is skipped waits for nothing: others of this process have their turn now and then.
      if (skippedCount % skippedAtOnce === 0) await new Promise<void>((resolve) => void setImmediate(resolve));
      return { iteration: { key, status: 'skipped' }, isStep: false };
    }
    return work(part, own, key, inputs.resolve(own));
  };
  const order = {
    atOnce: isSequential ? 1 : maxParallel,
    keepsPlace: isSequential ? 'always' : file.continuesOnError ? 'never' : 'in doubt',
    begunBefore: () => {
      const keys = keysIn(ctx.past.names());
      return new Set(items.flatMap(({ key }, index) => (keys.has(key) ? [index] : [])));
    },
  } as const;
  await runParts(ctx, items, order, async (part, item, index) => {
    try {
      const { iteration, isStep } = await runOne(part, item, index);
      iterations[index] = iteration;
      areSteps &&= isStep;
    } catch (error) {
      if (isTooDeep(error)) throw error;
      iterations[index] = { key: item.key, status: 'failed', error: describe(error) };
      areSteps = false;
      failures.set(item.key, error);
    }
    return failures.size === 0 || file.continuesOnError;
  });
  if (failures.size > 0 && !file.continuesOnError) throw itemFailure(iterations, failures);
  return { iterations, areSteps };
}

/** Keys of the items that have made calls: a call has the item's key for a name, begins with it, or ends with it in brackets. */
function keysIn(names: ReadonlySet<string>): ReadonlySet<string> {
  const keys = new Set(names);
  for (const name of names) {
    for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) keys.add(name.slice(0, at));
    if (name.endsWith(']')) keys.add(name.slice(name.indexOf('[') + 1, -1));
  }
  return keys;
}

function summarise(iterations: readonly Iteration[]): ForEachOutput {
  const countOf = (wanted: Iteration['status']): number => iterations.filter(({ status }) => status === wanted).length;
  return {
    iterations,
    count: iterations.length,
    count_failed: countOf('failed'),
    count_skipped: countOf('skipped'),
  };
}

function describe(error: unknown): NonNullable<Iteration['error']> {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return { code: typeof code === 'string' ? code : 'FAILED', message: reasonOf(error) };
}

function itemFailure(iterations: readonly Iteration[], failures: ReadonlyMap<string, unknown>): NodeFailure {
  const failed = iterations.filter((iteration) => iteration?.status === 'failed').map(({ key }) => key);
  const [key = ''] = failed;
  const cause = failures.get(key);
  return new NodeFailure(`item '${key}' failed: ${describe(cause).message}`, {
    code: 'ITEM_FAILED',
    data: { failed: failed.slice(0, 100), count: failed.length },
    cause,
  });
}

/** The shape of a block. Undefined means that references see the output as it is stored. */
export function blockShape({ forEach }: BlockFile, type: NodeType | undefined): BlockShape | undefined {
  const named = namedShape(type);
  if (forEach === undefined) return named && { output: named };
  const output: OutputShape = (stored) => {
    const whole = forEachShape(stored);
    const { iterations } = whole;
    if (named === undefined || !Array.isArray(iterations)) return whole;
    return { ...whole, iterations: iterations.map((one: unknown) => withOutputs(one, named)) };
  };
  return { output, mode: forEach.isSequential ? 'sequential' : 'parallel' };
}

/** Adds the fields that older files know by another name. */
function namedShape(type: NodeType | undefined): OutputShape | undefined {
  const aliases = Object.entries(type?.outputs ?? {}).flatMap(([name, { aliasOf }]) =>
    aliasOf === undefined ? [] : [[name, aliasOf] as const],
  );
  if (aliases.length === 0) return undefined;
  return (stored) => {
    const fields = stored as Readonly<Record<string, unknown>>;
    return { ...fields, ...Object.fromEntries(aliases.map(([name, of]) => [name, fields[of]])) };
  };
}

function withOutputs(iteration: unknown, shape: OutputShape): unknown {
  if (!isMapping(iteration) || !isMapping(iteration['outputs'])) return iteration;
  return { ...iteration, outputs: shape(iteration['outputs']) };
}
