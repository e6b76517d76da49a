/** The tool calls of one conversation. Each is made once, identified by its tool and arguments. Failures are reported to the model. */
import { resultAt } from '../../graph/runnable-graph.ts';
import type { ToolCallPart } from '../../graph/contracts/model-messages.ts';
import type { TraceSpan } from '../../graph/contracts/trace-span.ts';
import { toolCallKey } from '../../model-calls/model-access.ts';
import { CairnError, readableThrown, reasonOf } from '../../errors.ts';
import {
  type NodeContext,
  NodeFailure,
  type StepContext,
  type StepOptions,
} from '../../graph/contracts/node-contract.ts';
import { scopePast } from '../../graph/contracts/scoped-past.ts';
import { spendSeconds } from '../../graph/contracts/spend-counted.ts';
import { checkAgainst } from '../../schema/standard-schema.ts';
import {
  actsOutside,
  type ComposedTool,
  type FunctionTool,
  callContext,
  isComposed,
  type NamedTool,
  type ToolOffer,
  strengthOfTool,
} from './tool-box.ts';
import { allowedInside } from '../../graph/effect-strength.ts';
import {
  askApproval,
  isApprovalRequested,
  needsApproval,
  refusedText,
  fixedArguments,
  recordedDecision,
  type Decision,
} from './approval.ts';
import { composedObservation, lastOf, observation, shorten, storable, type Observation } from './observation.ts';
import { askForServer, questionsOf, type AnsweredQuestion } from '../mcp/server-questions.ts';
import { writtenIn } from '../files/file-tools.ts';
import { traceTool, type SpanSource } from '../../model-calls/gen-ai-spans.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { nthName, ToolRecords, type Begun } from './tool-records.ts';
import { unreadable } from '../modes/read-turn.ts';
import type { SavedTools, ResultNote } from '../turn-note.ts';

// Names of recorded tool calls: the call's key, with a number for equal calls (A4).

/** The name of a call that is the first of its kind. */
export function callName({ tool, input }: Pick<ToolCallPart, 'tool' | 'input'>): string {
  return toolCallKey(tool, input);
}

/** Whether a recorded call is this one, or one that a composed tool made in it. An equal call that came later is neither. */
function isPartOf(recorded: string, call: string): boolean {
  return (
    recorded === call || (recorded.startsWith(`${call} `) && !/^\d+(?: |$)/u.test(recorded.slice(call.length + 1)))
  );
}

// A node's context that prefixes all names of calls, so that several parts of one function do not clash.

const named = ['step', 'append', 'list'] as const;

/**
 * The same context with prefixed names of steps, questions, timers, lists, recorded events and child runs. Names of signals are not
 * prefixed, because signals are sent to the run. Calls that retire all records of the function are refused, because the other parts would
 * then repeat their calls.
 */
export function scopeContext(ctx: NodeContext, prefix: string): NodeContext {
  const under = (name: string): string => `${prefix} ${name}`;
  const own: Partial<NodeContext> = {
    past: scopePast(ctx.past, under('')),
    ask: (question) => ctx.ask({ ...question, name: under(question.name ?? 'question') }),
    sleepUntil: (time, name = 'sleep') => ctx.sleepUntil(time, under(name)),
    run: (graph, input, options = {}) => ctx.run(graph, input, { ...options, name: under(options.name ?? 'run') }),
    start: (graph, input, options = {}) => ctx.start(graph, input, { ...options, name: under(options.name ?? 'run') }),
    emit: (event, options = {}) =>
      ctx.emit(event, options.recorded === true ? { ...options, name: under(options.name ?? 'event') } : options),
    save: () => Promise.reject(refusal(ctx, 'save')),
    retire: () => Promise.reject(refusal(ctx, 'retire')),
  };
  return new Proxy(ctx, {
    get(target, key) {
      if (Object.hasOwn(own, key)) return own[key as keyof NodeContext];
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      const isNamed = (named as readonly PropertyKey[]).includes(key);
      return (first: unknown, ...rest: readonly unknown[]): unknown =>
        Reflect.apply(value, target, [isNamed ? under(String(first)) : first, ...rest]);
    },
  });
}

function refusal({ nodePath }: NodeContext, call: string): CairnError {
  const reason = 'the tools of an agent share one node';
  return new CairnError('NODE_CALL_REFUSED', { call, node: nodePath.join('/'), reason });
}

// Distinguishes failures of a tool, which the model gets as its result, from those that end the attempt.

/** Error codes of the engine that are a tool's own failure. All other errors of the engine end the attempt. */
const ownFailures: ReadonlySet<string> = new Set(['NODE_TIMED_OUT', 'VALUE_UNSTORABLE', 'VALUE_TOO_LARGE']);

/** Failures that a person can fix and a model cannot. They make the node fail; once they are fixed, the run can be resumed. */
const notForModels: ReadonlySet<string> = new Set(['MCP_UNAVAILABLE', 'MCP_CHANGED']);

/** Whether a failure is the tool's own, so that the conversation can go on. */
export function isOfTool(error: unknown, { signal }: Pick<NodeContext, 'signal'>): boolean {
  if (signal.aborted) return false;
  if (CairnError.is(error)) return ownFailures.has(error.code);
  return !(error instanceof NodeFailure && notForModels.has(error.code));
}

/** A call that the model may make: its tool, and the arguments as validated by the schema, with its defaults. */
export interface ValidCall {
  readonly tool: NamedTool;
  readonly args: unknown;
  readonly fault?: undefined;
}

/** A call that was checked, or its result for the model if it was refused. */
export type CheckedCall = ValidCall | { readonly fault: Observation };

/** How often a server may ask in one call. */
const roundsMax = 5;

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
  readonly #records: ToolRecords;
  /** Composed tools whose code is another than when the conversation's last answer was given. */
  readonly #changed: ReadonlySet<string>;

  constructor(
    ctx: NodeContext,
    {
      box,
      allow,
      counted,
      span,
      saved,
      changed = new Set(),
    }: {
      readonly box: ToolOffer;
      readonly allow: readonly string[] | true;
      readonly counted: readonly string[] | undefined;
      readonly span?: TraceSpan | undefined;
      readonly saved: SavedTools | undefined;
      readonly changed?: ReadonlySet<string> | undefined;
    },
  ) {
    this.#ctx = ctx;
    this.#box = box;
    this.#allow = allow;
    this.#counted = counted;
    this.#spans = span ?? ctx;
    this.#records = new ToolRecords(ctx);
    this.#changed = changed;
    this.#counts = new Map(Object.entries(saved?.counts ?? {}));
    this.#cached = new Map(Object.entries(saved?.cache ?? {}));
    this.#cache = new Map(Array.from(this.#cached, ([key, output]) => [key, Promise.resolve({ output })]));
  }

  /** What later calls need to know about the calls so far, whose records are about to be retired. */
  keep(): SavedTools {
    this.#nths = new Map();
    this.#records.forget();
    for (const [key, output] of this.#cached) this.#cache.set(key, Promise.resolve({ output }));
    return {
      counts: Object.fromEntries(this.#counts),
      cache: Object.fromEntries(this.#cached),
      files: writtenIn(this.#ctx),
    };
  }

  /** Checks whether the model may make this call. */
  async check(call: ToolCallPart): Promise<CheckedCall> {
    if (call.fault !== undefined) return { fault: refusedCall(unreadable(call.fault)) };
    const tool = this.#box.find(call.tool);
    if (tool === undefined) {
      const names = this.#box.names.join(', ') || 'none';
      return { fault: refusedCall(`there is no tool ${JSON.stringify(call.tool)}; there are: ${names}`) };
    }
    const checked = await checkAgainst(tool.definition.input, call.input, 'arguments');
    if (checked.fault === undefined) return { tool, args: checked.value };
    return { fault: refusedCall(`the arguments of ${call.tool} do not fit: ${checked.fault}`) };
  }

  /**
   * Makes a call that was checked, or gives its fault. What is on record of it stands, whatever the tool has become. For several calls, call
   * this in order and without awaiting in between, because equal calls are numbered in this order.
   * @param recorded - what the model was told of the call, if that is on record
   */
  make(call: ToolCallPart, checked: CheckedCall, recorded?: ResultNote): Promise<Observation> {
    const recordedAnswer = recorded && this.#toldBefore(call, checked, recorded);
    if (recordedAnswer !== undefined) return recordedAnswer;
    const from = nthName(callName(call), (this.#nths.get(callName(call)) ?? 0) + 1);
    const begun = this.#records.beganAs(from);
    if (begun !== undefined && (checked.fault !== undefined || !this.#records.fits(from, begun, checked.tool))) {
      this.#countMade(call, from);
      return this.#endWithout(call, checked, from, begun);
    }
    if (checked.fault === undefined) return this.#makeValid(call, checked, begun, recorded);
    this.#records.closeApproval(from);
    return Promise.resolve(checked.fault);
  }

  /**
   * What the model was told of a call, if that is to be told again without its tool. A composed tool is repeated while it is the same: what
   * it draws is counted with what the others do.
   */
  #toldBefore(call: ToolCallPart, checked: CheckedCall, recorded: ResultNote): Promise<Observation> | undefined {
    const tool = this.#box.find(call.tool);
    const isComposedNow = tool !== undefined && isComposed(tool.definition) && !this.#changed.has(tool.name);
    if (isComposedNow && checked.fault === undefined) return undefined;
    const observation = this.#records.told(recorded);
    const { from, isCached, isKept } = recorded;
    if (observation === undefined || from === undefined) return observation && Promise.resolve(observation);
    this.#records.pass(from);
    if (isCached === true) return Promise.resolve(observation);
    this.#countMade(call, from);
    const isCacheable = isKept === true || tool?.definition.cacheable === true;
    return isCacheable ? this.#remember(callName(call), Promise.resolve(observation)) : Promise.resolve(observation);
  }

  /** Counts a call that is on record under this name: equal ones by their numbers there. */
  #countMade(call: ToolCallPart, from: string): void {
    const key = callName(call);
    const nth = from === key ? 1 : Number(from.slice(key.length + 1));
    this.#nths.set(key, Math.max(this.#nths.get(key) ?? 0, nth));
    if (this.#box.find(call.tool)?.definition.callsMax !== undefined) count(this.#counts, call.tool);
  }

  /**
   * Ends a call that began with a tool which is gone or another now: as it ended on record, else as far as anybody knows. It is not made
   * again.
   */
  async #endWithout(call: ToolCallPart, checked: CheckedCall, from: string, begun: Begun): Promise<Observation> {
    const { tool: name, input } = call;
    const judge = (step: string): Promise<Observation> =>
      this.#telling(name, step, () => this.#records.endOfStep(step, name, input));
    if (begun === 'step') {
      this.#records.passApproval(from);
      return judge(from);
    }
    const result = begun === 'child' ? this.#records.resultOf(from) : undefined;
    const inner = this.#records.innerEffects(from);
    for (const { name: step, status } of inner) if (status === 'started') await judge(step);
    this.#records.abandon(from);
    if (result !== undefined) {
      this.#records.passApproval(from);
      return { ...observation(result.value, from), from, isRecorded: true };
    }
    if (begun === 'parts' && inner.length === 0) {
      if (checked.fault === undefined)
        return { ...(await this.#make(checked, from, call, undefined, undefined)), from };
      this.#records.closeApproval(from);
      return checked.fault;
    }
    this.#records.passApproval(from);
    const unknown = `${name} failed: it had begun, and the tool has changed since. It is not known whether it took effect.`;
    return { ...refusedCall(unknown), from };
  }

  /** The result of a step, or its failure in words. */
  async #telling(name: string, from: string, get: () => Promise<unknown>): Promise<Observation> {
    try {
      return { ...observation(await get(), from), isRecorded: true, from };
    } catch (thrown) {
      const error = readableThrown(thrown);
      if (!isOfTool(error, this.#ctx)) throw error;
      return { ...refusedCall(failureText({ name, isOpen: true }, error)), from };
    }
  }

  #makeValid(
    call: ToolCallPart,
    { tool, args }: ValidCall,
    begun: Begun | undefined,
    recorded: ResultNote | undefined,
  ): Promise<Observation> {
    const { cacheable = false, callsMax } = tool.definition;
    const key = callName(call);
    const known = cacheable ? this.#cache.get(key) : undefined;
    if (known !== undefined) {
      this.#ctx.emit({ type: 'tool-cached', call: call.id, tool: tool.name });
      return known.then((observation) => ({ ...observation, isCached: true }));
    }
    if (callsMax !== undefined && count(this.#counts, tool.name) > callsMax && begun === undefined)
      return Promise.resolve(refusedCall(`${tool.name} may be called ${callsMax} times, and was: go on without it`));
    const from = nthName(key, count(this.#nths, key));
    const made = this.#make({ tool, args }, from, call, begun, recorded).then((observation) => ({
      ...observation,
      from,
    }));
    return cacheable ? this.#remember(key, made) : made;
  }

  /** Caches a result. Failures are not cached, because an equal call may succeed. */
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
    { tool, args: checked }: ValidCall,
    key: string,
    call: ToolCallPart,
    begun: Begun | undefined,
    recorded: ResultNote | undefined,
  ): Promise<Observation> {
    const { definition, name } = tool;
    const decision = await this.#decide(
      { tool, args: checked },
      key,
      call,
      begun !== undefined || recorded !== undefined,
    );
    if (decision.kind === 'refused' && recorded === undefined) return refusedCall(refusedText(name, decision.reason));
    const args = decision.kind === 'refused' ? checked : decision.args;
    if (recorded?.isError === true) {
      this.#ctx.past.passOver((one) => isPartOf(one, key));
      return { output: recorded.output, isError: true };
    }
    try {
      const result = await this.#perform(tool, key, args, call, recorded);
      // The result of a composed tool is not recorded by itself.
      return isComposed(definition)
        ? await composedObservation(result, this.#ctx.files, name, definition.showsImages)
        : { ...observation(result, key, definition.showsImages), isRecorded: true, ...placeOf(tool) };
    } catch (thrown) {
      const error = readableThrown(thrown);
      if (definition.onFailure === 'fail' || !isOfTool(error, this.#ctx)) throw error;
      const text = failureText({ name, isOpen: actsOutside(definition) }, error);
      return refusedCall(shorten(text, `is the failure of ${key}`) ?? text);
    }
  }

  /** The arguments to make a call with, and whether a person lets it pass. Of one that has begun the record tells. */
  async #decide(call: ValidCall, key: string, { input }: ToolCallPart, hasBegun: boolean): Promise<Decision> {
    const ctx = this.#ctx;
    const { tool } = call;
    const args = isComposed(tool.definition)
      ? await fixedArguments(ctx, tool.definition, { key, input, args: call.args })
      : call.args;
    if (hasBegun) {
      const decision = recordedDecision(ctx, { key, input, args });
      this.#records.passApproval(key);
      return decision;
    }
    if (await isApprovalRequested(ctx, key, () => needsApproval(tool, args, this.#allow))) {
      const { definition } = tool;
      const inside = allowedInside(strengthOfTool(definition));
      return askApproval(ctx, { ...tool, audience: definition.audience, inside }, { key, input, args });
    }
    return { kind: 'approved', args };
  }

  async #perform(
    tool: NamedTool,
    key: string,
    args: unknown,
    { id }: ToolCallPart,
    recorded: ResultNote | undefined,
  ): Promise<unknown> {
    const { definition, graph, name } = tool;
    const ctx = this.#ctx;
    const traced = { name, call: id, args };
    // A recorded call is only read again and takes no time in this attempt, so it gets no span.
    const tell = <T>(run: () => Promise<T> | T): Promise<T> | T =>
      recorded === undefined ? traceTool(this.#spans, traced, run) : run();
    if (graph !== undefined) return tell(() => runAsChild(ctx, tool, key, args));
    const own = definition as FunctionTool | ComposedTool;
    const tellProgress =
      (as: string) =>
      (value: unknown): void =>
        ctx.emit({ type: 'tool-progress', call: as, tool: name, value });
    if (own.composed === true)
      return tell(async () => lastOf(await own.run(args, scopeContext(ctx, key)), tellProgress(key)));
    const { reconcile, effect = 'external', retry, timeoutMs, limit, idempotent = false } = own;
    const options = {
      effect,
      idempotent,
      input: args,
      knownByName: true,
      about: `${tool.name} ${encodeValue(args)}`,
      ...(retry === undefined ? {} : { retry }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(limit === undefined ? {} : { limit }),
      ...(reconcile === undefined
        ? {}
        : { reconcile: ({ idempotencyKey }: StepDoubt) => reconcile.call(own, { idempotencyKey, args }) }),
    };
    const run = async (step: StepContext, answered: readonly AnsweredQuestion[]): Promise<unknown> => {
      const returned = await own.run(args, { ...callContext(ctx, step), ...(answered.length > 0 && { answered }) });
      return storable(await lastOf(returned, tellProgress(step.idempotencyKey)), ctx.files, name);
    };
    return this.#answering(tool, key, (as, answered) =>
      ctx.step(as, options, (step) =>
        traceTool(this.#spans, traced, () => spendSeconds(ctx, step, () => run(step, answered), this.#counted)),
      ),
    );
  }

  /** Makes a call. Where its server asks a person first, they are asked, and it is made again with what they answered. */
  async #answering(
    { name, definition }: NamedTool,
    key: string,
    make: (as: string, answered: readonly AnsweredQuestion[]) => Promise<unknown>,
  ): Promise<unknown> {
    const answered: AnsweredQuestion[] = [];
    for (let round = 0; ; round += 1) {
      try {
        return await make(round === 0 ? key : `${key} answered ${round}`, answered);
      } catch (error) {
        const asked = round < roundsMax ? questionsOf(error) : undefined;
        if (asked === undefined) throw error;
        const about = { tool: name, server: asked.server, audience: definition.audience };
        for (const [index, question] of asked.questions.entries())
          answered.push(
            await askForServer(this.#ctx, question, { ...about, name: `${key} asks ${round + 1}.${index + 1}` }),
          );
      }
    }
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

async function runAsChild(
  ctx: NodeContext,
  { graph, nodeId }: NamedTool,
  key: string,
  args: unknown,
): Promise<unknown> {
  const { status, state, error } = await ctx.run(graph as object, args, { name: key });
  if (status === 'completed') return resultAt(nodeId ?? null, state);
  throw new NodeFailure(error?.message ?? `it was ${status}`, { code: 'CHILD_FAILED', cause: error });
}

const refusedCall = (output: string): Observation => ({ output, isError: true });

/**
 * A failure as the model gets it. If an effect may have happened, the text says so, so that the model does not assume it was
 * undone.
 */
function failureText({ name, isOpen }: { readonly name: string; readonly isOpen: boolean }, error: unknown): string {
  const { applied } = (error ?? {}) as Partial<NodeFailure>;
  return `${name} failed: ${reasonOf(error)}${isOpen && applied !== 'no' ? '. It is not known whether it took effect.' : ''}`;
}
