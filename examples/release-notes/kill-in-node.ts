/**
 * The same graph with a trap in it: the environment variable KILL_IN names a node in which this process kills itself as `kill -9`
 * would, at the worst moment: its work is done, and nothing says so yet. Without the variable it is the graph as it is.
 */
import type { NodeContext, StepContext } from '../../src/graph/contracts/node-contract.ts';
import type { Graph } from '../../src/index.ts';
import { graph as compiled } from './graph.ts';

type GraphNode = Graph['nodes'][number];

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('killed');
}

/** The context of a node in the trap: a step has had its effect, or a question has just been asked, when the process is killed. */
function trapContext(ctx: NodeContext): NodeContext {
  const trapped: Partial<NodeContext> = {
    step: (name, options, fn) =>
      ctx.step(name, options, async (step: StepContext) => {
        await fn(step);
        return die();
      }),
    ask: (question) => {
      void ctx.ask(question);
      return die();
    },
  };
  return new Proxy(ctx, {
    get(target, name) {
      const value: unknown = Reflect.get(trapped, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function setTrap(node: GraphNode): GraphNode {
  const { implementation } = node;
  const run = async (ctx: NodeContext): Promise<never> => {
    await implementation.run(trapContext(ctx));
    return die();
  };
  return { ...node, implementation: { ...implementation, run } };
}

const { KILL_IN: trap } = process.env;
const { graph: real } = compiled;

/** The graph to run; its hash is that of the real one. */
export const graph: Graph =
  trap === undefined ? real : { ...real, nodes: real.nodes.map((node) => (node.id === trap ? setTrap(node) : node)) };
