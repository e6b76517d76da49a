/** The tool calls of one conversation. Each is made once, identified by its tool and arguments. Failures are reported to the model. */
import { readableThrown, reasonOf } from '../../errors.ts';
import type { ToolCallPart } from '../../graph/contracts/model-contract.ts';
import {
  NodeFailure,
  type NodeContext,
  type StepContext,
  type StepOptions,
} from '../../graph/contracts/node-contract.ts';
import { spendSeconds } from '../../graph/contracts/spend-counted.ts';
import { checkAgainst } from '../../schema/standard-schema.ts';
import { actsOutside, type ComposedTool, type FunctionTool } from './agent-tool.ts';
import { askApproval, isAskedAbout, needsApproval, refusedText } from './approval.ts';
import { callName, isPartOf, nthName } from './call-name.ts';
import { writtenIn } from '../files/written-files.ts';
import { callContext } from './call-context.ts';
import { composedObservation, lastOf, observation, shorten, storable, type Observation } from './observation.ts';
import type { TraceSpan } from '../../graph/contracts/trace-contract.ts';
import { traceTool, type SpanSource } from '../../model-calls/gen-ai-spans.ts';
import { encodeValue } from '../../state/values/codec.ts';
import { scopeContext } from './scoped-context.ts';
import { unreadable } from '../modes/read-turn.ts';
import type { NamedTool, ToolOffer } from './tool-box.ts';
import { isOfTool } from './tool-failure.ts';
import type { KeptTools, ResultNote } from '../turn-note.ts';

/** A call that the model may make: its tool, and the arguments as validated by the schema, with its defaults. */
export interface SoundCall {
  readonly tool: NamedTool;
  readonly args: unknown;
  readonly fault?: undefined;
}

/** A call that was checked, or what the model is told about it. */
export type CheckedCall = SoundCall | { readonly fault: Observation };

type StepDoubt = Parameters<NonNullable<StepOptions['reconcile']>>[0];

export class ToolCalls {
  readonly #ctx: NodeContext;
  readonly #box: ToolOffer;
  readonly #allow: readonly string[] | true;
  /** Number of calls of each tool; and (`#nths`) of equal calls, since the conversation began or was last summarized. */
  readonly #counts: Map<string, number>;
  #nths = new Map<string, number>();
  readonly #cache: Map<string, Promise<Observation>>;
  /** Results of cacheable tools, by call name. Kept so that an equal call later in the conversation gets the same result. */
  readonly #cached: Map<string, unknown>;

  /** Units that are spent whether or not a budget names them: function tools spend seconds. */
  readonly #counted: readonly string[] | undefined;
  readonly #spans: SpanSource;

  constructor(
    ctx: NodeContext,
    {
      box,
      allow,
      counted,
      span,
      kept,
    }: {
      readonly box: ToolOffer;
      readonly allow: readonly string[] | true;
      readonly counted: readonly string[] | undefined;
      readonly span?: TraceSpan | undefined;
      readonly kept: KeptTools | undefined;
    },
  ) {
    this.#ctx = ctx;
    this.#box = box;
    this.#allow = allow;
    this.#counted = counted;
    this.#spans = span ?? ctx;
    this.#counts = new Map(Object.entries(kept?.counts ?? {}));
    this.#cached = new Map(Object.entries(kept?.cache ?? {}));
    this.#cache = new Map(Array.from(this.#cached, ([key, output]) => [key, Promise.resolve({ output })]));
  }

  /** What later calls need to know about the calls so far, whose records are about to be retired. */
  keep(): KeptTools {
    this.#nths = new Map();
    for (const [key, output] of this.#cached) this.#cache.set(key, Promise.resolve({ output }));
    return {
      counts: Object.fromEntries(this.#counts),
      cache: Object.fromEntries(this.#cached),
      files: writtenIn(this.#ctx),
    };
  }

  /** Checks whether the model may make this call. */
  async check(call: ToolCallPart): Promise<CheckedCall> {
    if (call.fault !== undefined) return { fault: refusal(unreadable(call.fault)) };
    const tool = this.#box.find(call.tool);
    if (tool === undefined) {
      const names = this.#box.names.join(', ') || 'none';
      return { fault: refusal(`there is no tool ${JSON.stringify(call.tool)}; there are: ${names}`) };
    }
    const checked = await checkAgainst(tool.definition.input, call.input, 'arguments');
    if (checked.fault === undefined) return { tool, args: checked.value };
    return { fault: refusal(`the arguments of ${call.tool} do not fit: ${checked.fault}`) };
  }

  /**
   * Makes a call that was checked. For several calls, call this in order and without awaiting in between, because equal calls are numbered
   * in this order.
   * @param told - the recorded result of the call, if any. A failure that the model was told about is not retried.
   */
  make(call: ToolCallPart, { tool, args }: SoundCall, told?: ResultNote): Promise<Observation> {
    const { cacheable = false, callsMax } = tool.definition;
    const key = callName(call);
    const known = cacheable ? this.#cache.get(key) : undefined;
    if (known !== undefined) {
      this.#ctx.emit({ type: 'tool-cached', call: call.id, tool: tool.name });
      return known.then((observation) => ({ ...observation, isCached: true }));
    }
    if (callsMax !== undefined && count(this.#counts, tool.name) > callsMax)
      return Promise.resolve(refusal(`${tool.name} may be called ${callsMax} times, and was: go on without it`));
    const from = nthName(key, count(this.#nths, key));
    const made = this.#make({ tool, args }, from, call, told).then((observation) => ({ ...observation, from }));
    return cacheable ? this.#remember(key, made) : made;
  }

  /** Caches a result. Failures are not kept, because an equal call may succeed. */
  #remember(key: string, made: Promise<Observation>): Promise<Observation> {
    const remembered = made.then((observation) => {
      if (observation.isError === true) this.#cache.delete(key);
      else this.#cached.set(key, observation.output);
      return { ...observation, isKept: observation.isError !== true };
    });
    this.#cache.set(key, remembered);
    return remembered;
  }

  async #make(
    { tool, args: checked }: SoundCall,
    key: string,
    call: ToolCallPart,
    told: ResultNote | undefined,
  ): Promise<Observation> {
    const { definition, name } = tool;
    let args = checked;
    const mustAsk = (): boolean | Promise<boolean> => told === undefined && needsApproval(tool, args, this.#allow);
    if (await isAskedAbout(this.#ctx, key, mustAsk)) {
      const decision = await askApproval(this.#ctx, tool, { key, given: call.input, args });
      if (decision.kind === 'refused') return refusal(refusedText(name, decision.reason));
      args = decision.args;
    }
    if (told?.isError === true) {
      this.#ctx.past.passOver((one) => isPartOf(one, key));
      return { output: told.output, isError: true };
    }
    try {
      const result = await this.#perform(tool, key, args, call, told);
      // The result of a composed tool is not recorded by itself.
      return isComposed(tool)
        ? await composedObservation(result, this.#ctx.files, name, definition.showsImages)
        : { ...observation(result, key, definition.showsImages), isHeld: true, ...placeOf(tool) };
    } catch (thrown) {
      const error = readableThrown(thrown);
      if (definition.onFailure === 'fail' || !isOfTool(error, this.#ctx)) throw error;
      const text = failureText(tool, error);
      return refusal(shorten(text, `is the failure of ${key}`) ?? text);
    }
  }

  async #perform(
    tool: NamedTool,
    key: string,
    args: unknown,
    { id }: ToolCallPart,
    told: ResultNote | undefined,
  ): Promise<unknown> {
    const { definition, graph, name } = tool;
    const ctx = this.#ctx;
    const traced = { name, call: id, args };
    // A recorded call is only read again and takes no time in this attempt, so it gets no span.
    const tell = <T>(run: () => Promise<T> | T): Promise<T> | T =>
      told === undefined ? traceTool(this.#spans, traced, run) : run();
    if (graph !== undefined) return tell(() => runAsChild(ctx, tool, key, args));
    const own = definition as FunctionTool | ComposedTool;
    const tellProgress =
      (as: string) =>
      (value: unknown): void =>
        ctx.emit({ type: 'tool-progress', call: as, tool: name, value });
    if (own.composed === true)
      return tell(async () => lastOf(await own.run(args, scopeContext(ctx, key)), tellProgress(key)));
    const { reconcile, effect = 'external', retry, timeoutMs, idempotent = false } = own;
    const options = {
      effect,
      idempotent,
      input: args,
      about: `${tool.name} ${encodeValue(args)}`,
      ...(retry === undefined ? {} : { retry }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(reconcile === undefined
        ? {}
        : { reconcile: ({ idempotencyKey }: StepDoubt) => reconcile.call(own, { idempotencyKey, args }) }),
    };
    const run = async (step: StepContext): Promise<unknown> => {
      const given = await own.run(args, callContext(ctx, step));
      return storable(await lastOf(given, tellProgress(step.idempotencyKey)), ctx.files, name);
    };
    return ctx.step(key, options, (step) =>
      traceTool(this.#spans, traced, () => spendSeconds(ctx, step, () => run(step), this.#counted)),
    );
  }
}

function count(counts: Map<string, number>, key: string): number {
  const counted = (counts.get(key) ?? 0) + 1;
  counts.set(key, counted);
  return counted;
}

/** Where in a child run the result is, if the tool's name does not tell. */
function placeOf({ graph, nodeId, name }: NamedTool): Pick<Observation, 'node'> {
  return graph === undefined || nodeId === name ? {} : { node: nodeId ?? null };
}

function isComposed({ definition }: NamedTool): boolean {
  return 'composed' in definition && (definition.composed ?? false);
}

async function runAsChild(
  ctx: NodeContext,
  { graph, nodeId }: NamedTool,
  key: string,
  args: unknown,
): Promise<unknown> {
  const { status, state, error } = await ctx.run(graph as object, args, { name: key });
  if (status === 'completed') return nodeId === undefined ? state.artifacts : state.outputs[nodeId];
  throw new NodeFailure(error?.message ?? `it was ${status}`, { code: 'CHILD_FAILED', cause: error });
}

const refusal = (output: string): Observation => ({ output, isError: true });

/**
 * What the model is told about a failure. If an effect may have happened, the text says so, so that the model does not assume it was
 * undone.
 */
function failureText({ name, definition }: NamedTool, error: unknown): string {
  const { applied } = (error ?? {}) as Partial<NodeFailure>;
  const isOpen = actsOutside(definition) && applied !== 'no';
  return `${name} failed: ${reasonOf(error)}${isOpen ? '. It is not known whether it took effect.' : ''}`;
}
