/**
 * Repeats a node's function against what is on record of its visit, in a preview: recorded calls return what is recorded, and the first call
 * that would do something stops it. Nothing is begun and nothing is written (X5.4).
 */
import { CairnError } from '../../errors.ts';
import type { EffectClass, NodeContext, StepOptions } from '../../graph/contracts/node-contract.ts';
import { Context } from '../calls/context.ts';
import { isEffect, type RunCore } from '../live-run/run-core.ts';
import type { Activation } from '../live-run/loop.ts';
import { callKey, nameOfStepKey } from '../visit-records/call-keys.ts';
import type { FrameTree } from '../../state/tree.ts';
import type { Graph } from '../../graph/graph.ts';
import { graphOf } from '../../graph/runnable-graph.ts';
import { hasEffectNodes } from '../calls/changed-code.ts';
import { removedNodeFault } from '../calls/child-frame.ts';

/** How far a function came. */
export type RepeatEnd =
  /** It waits for what it asked or slept for. */
  | { readonly kind: 'waits' }
  | { readonly kind: 'returns' }
  /** It failed, as it would in the run. */
  | { readonly kind: 'fails'; readonly code: string; readonly message: string }
  /** It would do something that is not on record. */
  | { readonly kind: 'begins'; readonly what: string; readonly effect: EffectClass };

/** The longest that a function may take for what is on record. */
const repeatMsMax = 10_000;

/** @param onTurn - is given a function to call whenever the visit may have come to rest */
export async function repeatRecorded(
  core: RunCore,
  activation: Activation,
  onTurn: (look: () => void) => void,
): Promise<RepeatEnd> {
  const { promise, resolve } = Promise.withResolvers<RepeatEnd>();
  activation.renew();
  activation.phase = 'running';
  activation.startedAt = core.env.clock.now();
  const cancelTimer = core.env.clock.setTimer(repeatMsMax, () =>
    resolve({ kind: 'begins', what: `more than ${repeatMsMax / 1000} s of its own`, effect: 'read' }),
  );
  onTurn(() => {
    if (activation.phase === 'waiting') resolve({ kind: 'waits' });
  });
  const ctx = guarded(core, activation, resolve);
  new Promise((returned) => returned(activation.node.implementation.run(ctx))).then(
    () => resolve(activation.failure === undefined ? { kind: 'returns' } : failed(activation.failure.error)),
    (error: unknown) => resolve(failed(error)),
  );
  try {
    return await promise;
  } finally {
    cancelTimer();
    activation.abort(
      new CairnError('NODE_CALL_REFUSED', {
        call: 'step',
        node: activation.path.join('/'),
        reason: 'it was only repeated',
      }),
    );
  }
}

function failed(error: unknown): RepeatEnd {
  const { code = 'FUNCTION_FAILED', message = String(error) } = (error ?? {}) as {
    readonly code?: string;
    readonly message?: string;
  };
  return { kind: 'fails', code, message };
}

/** The context of a function that may look at its record, and do nothing. */
function guarded(core: RunCore, activation: Activation, stop: (end: RepeatEnd) => void): NodeContext {
  const own = new Context(core, activation);
  const never = (what: string, effect: EffectClass): Promise<never> => {
    stop({ kind: 'begins', what, effect });
    return new Promise(() => {});
  };
  const refused = (what: string) => new Proxy({}, { get: () => () => never(what, 'read') });
  const stepOf =
    (ctx: NodeContext): NodeContext['step'] =>
    (name, options: StepOptions, fn) => {
      const { effect = 'pure' } = options ?? {};
      const recorded = ctx.past.steps().some((step) => step.name === name && step.status !== 'started');
      if (recorded && ctx.past.kindOf(name) === 'step') return ctx.step(name, options, fn);
      const uncalled = uncalledSteps(activation, ctx);
      if (!isEffect({ effect }) || options.followsRecord === true || uncalled.length === 0)
        return never(`step ${name}`, effect);
      stop(
        failed(new CairnError('STEPS_CHANGED', { node: activation.path.join('/'), step: name, recorded: uncalled })),
      );
      return new Promise(() => {});
    };
  const childOf =
    (ctx: NodeContext) =>
    (given: object, _input: unknown, options: { readonly name?: string } = {}): Promise<never> => {
      const { name: inCode = 'run' } = options;
      // What a part of a function calls has other names.
      if (ctx !== own) return never('a child run', 'read');
      const name = activation.node.inCode?.steps.get(inCode) ?? inCode;
      const graph = graphOf(given);
      const { children = {} } = activation.frameRun.openRecordOf(activation.node) ?? {};
      const fault = graph === undefined ? undefined : childFault(activation, ctx, { graph, name, children });
      if (fault !== undefined) stop(failed(fault));
      return never(`child run ${name}`, 'read');
    };
  const overlay = (ctx: NodeContext): NodeContext => {
    const made: Readonly<Record<string, unknown>> = {
      step: stepOf(ctx),
      run: childOf(ctx),
      start: childOf(ctx),
      save: () => never('a save', 'pure'),
      models: refused('a call of a model'),
      blobs: refused('a blob'),
      files: refused('a file'),
      secrets: refused('a secret'),
      part: (...args: Parameters<NonNullable<NodeContext['part']>>) => overlay(ctx.part?.(...args) ?? ctx),
    };
    return new Proxy(ctx, {
      get(target, key) {
        if (typeof key === 'string' && Object.hasOwn(made, key)) return made[key];
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  };
  return overlay(own);
}

interface CalledChild {
  readonly graph: Graph;
  readonly name: string;
  readonly children: Readonly<Record<string, FrameTree>>;
}

/** Why a child run would be refused: it stands at a node that is gone, or is a new one before others that are on record. */
function childFault(
  activation: Activation,
  ctx: NodeContext,
  { graph, name, children }: CalledChild,
): CairnError | undefined {
  const node = activation.path.join('/');
  const key = callKey(name, 1);
  const known = Object.hasOwn(children, key) ? children[key] : undefined;
  if (known !== undefined) {
    const reason = known.graph === graph.id ? removedNodeFault(known, graph, key) : undefined;
    return reason === undefined ? undefined : new CairnError('NODE_CALL_REFUSED', { call: 'run', node, reason });
  }
  const others = Object.entries(children).flatMap(([one, { left }]) => (left === true ? [] : [nameOfStepKey(one)]));
  const recorded = [...uncalledSteps(activation, ctx), ...others];
  return recorded.length > 0 && hasEffectNodes(graph)
    ? new CairnError('STEPS_CHANGED', { node, step: name, recorded })
    : undefined;
}

/**
 * Recorded effects that the function has not called so far. Whether its code is known to have changed does not matter here: a name may be
 * made of a value that it captures.
 */
function uncalledSteps({ calls = [] }: Activation, { past }: NodeContext): readonly string[] {
  const called = new Set(calls.map(nameOfStepKey));
  const isActing = (effect: string | undefined): boolean => effect === 'write' || effect === 'external';
  return past
    .steps()
    .filter(({ name, effect, isLeft }) => isActing(effect) && isLeft !== true && !called.has(name))
    .map(({ name }) => name);
}
