/** Questions of a workflow that another one runs say which workflow asks. */
import type { NodeContext } from '../graph/contracts/node-contract.ts';

/** The question, with the name of the workflow before it. */
export function askedBy<Asked extends { readonly prompt: string }>(name: string, question: Asked): Asked {
  return { ...question, prompt: `[Child workflow '${name}'] ${question.prompt}` };
}

/** The same context, whose questions say that this workflow asks. */
export function askingAs(name: string, ctx: NodeContext): NodeContext {
  const ask: NodeContext['ask'] = (question) => ctx.ask(askedBy(name, question));
  return new Proxy(ctx, {
    get(target, key) {
      if (key === 'ask') return ask;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
