/** Orders that wait for people, and five ways in which their code may change meanwhile. */
import { AgentGraph, END, humanNode, START, type NodeContext } from '../../src/index.ts';

interface Change {
  /** The words in which a payment is approved. */
  readonly prompt?: string;
  /** What the node is called that makes the price, and under which name runs have it on record. */
  readonly price?: string;
  /** Whether there is a node that scores the customer. */
  readonly scores?: boolean;
  /** The name of the step that charges the card. */
  readonly charge?: string;
  /** Whether the customer is told in the end. */
  readonly tells?: boolean;
}

function orders({ prompt = 'Pay it?', price = 'price', scores = true, charge = 'charge', tells = false }: Change = {}) {
  const sell = async ({ step, ask }: Pick<NodeContext, 'step' | 'ask'>): Promise<unknown> => {
    await step(charge, { effect: 'external' }, () => 'charged');
    return ask({ prompt: 'Is it packed?', choices: ['yes', 'no'] });
  };
  const works: Readonly<Record<string, unknown>> = {
    [price]: () => 40,
    ...(scores && { score: () => 7 }),
    approve: humanNode({ prompt, choices: ['yes', 'no'] }),
    sell: (ctx: NodeContext) => sell({ step: ctx.step.bind(ctx), ask: ctx.ask.bind(ctx) }),
    ...(tells && { tell: () => 'told' }),
  };
  const ids = Object.keys(works);
  const graph = new AgentGraph({}, { id: 'orders' }) as unknown as {
    addNode(id: string, work: unknown): void;
    addEdge(from: string, to: string): void;
  };
  for (const id of ids) graph.addNode(id, works[id]);
  for (const [index, id] of [START, ...ids].entries()) graph.addEdge(id, ids[index] ?? END);
  return graph as unknown as AgentGraph;
}

/** The code under which the runs were started. */
export const monday: AgentGraph = orders();

/** The question in other words. */
export const words: AgentGraph = orders({ prompt: 'Shall we pay this back?' });
/** A node under another name. */
export const renamed: { readonly graph: unknown } = orders({ price: 'quote' }).compile({
  renamed: { quote: 'price' },
});
/** A node less, whose output nobody reads any more. */
export const removed: AgentGraph = orders({ scores: false });
/** A node more, after the end. */
export const added: AgentGraph = orders({ tells: true });
/** A step with an effect under another name. */
export const step: AgentGraph = orders({ charge: 'charge card' });
