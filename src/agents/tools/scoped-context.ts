/** A node's context that prefixes all names of calls, so that several parts of one function do not clash. */
import { CairnError } from '../../errors.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { scopePast } from '../../graph/contracts/scoped-past.ts';

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
