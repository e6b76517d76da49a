/** A node's context whose calls are named under a prefix, so that several parts of one function cannot meet under a name. */
import type { NodeContext } from '../graph/node-contract.ts';

const named = ['step', 'append', 'list'] as const;

/** The same context; steps, questions, timers, lists and child runs are those of `prefix`. Signals are the run's, whoever waits for them. */
export function scopeContext(ctx: NodeContext, prefix: string): NodeContext {
  const under = (name: string): string => `${prefix} ${name}`;
  const own: Partial<NodeContext> = {
    ask: (question) => ctx.ask({ ...question, name: under(question.name ?? 'question') }),
    sleepUntil: (time, name = 'sleep') => ctx.sleepUntil(time, under(name)),
    run: (graph, input, options = {}) => ctx.run(graph, input, { ...options, name: under(options.name ?? 'run') }),
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
