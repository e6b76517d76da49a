/** Wraps the functions of a graph: calls that may have an effect become crash points and are remembered. */
import { CairnError } from '../../errors.ts';
import type { Graph, GraphNode } from '../../graph/graph.ts';
import { graphOf, type GraphOrRunnable } from '../../graph/runnable-graph.ts';
import {
  NodeFailure,
  Outcome,
  type ChildHandle,
  type EffectClass,
  type NodeContext,
  type ReceiveOptions,
  type StepContext,
} from '../../graph/contracts/node-contract.ts';
import { ProcessKilled, type EffectEntry, type EffectOracle } from './find-effect-faults.ts';
import { never, type Life, type WorkUnderWay } from './process-life.ts';

/** What a process's functions are watched with. */
export interface GraphWatch {
  readonly life: Life;
  readonly work: WorkUnderWay;
  /** Effects that the functions report themselves. */
  readonly oracle: EffectOracle;
  /** Where calls are recorded, with what they returned. */
  readonly calls: EffectOracle;
}

/** One call of a function. */
interface WatchedCall {
  readonly key: string;
  readonly place: string;
  readonly effect: EffectClass;
  readonly isRepeatable: boolean;
}

/** The same graph with all functions wrapped, those of child graphs included. @throws CONFIG_INVALID it is no graph */
export function watchGraph(source: GraphOrRunnable, watch: GraphWatch): Graph {
  return new GraphWatcher(watch).of(source);
}

class GraphWatcher {
  readonly #watch: GraphWatch;
  readonly #graphs = new WeakMap<Graph, Graph>();

  constructor(watch: GraphWatch) {
    this.#watch = watch;
  }

  of(source: GraphOrRunnable): Graph {
    const graph = graphOf(source);
    if (graph === undefined)
      throw new CairnError('CONFIG_INVALID', { path: 'graph', reason: 'it gives no graph, compiled or not' });
    return this.graph(graph);
  }

  graph(graph: Graph): Graph {
    const known = this.#graphs.get(graph);
    if (known !== undefined) return known;
    const watched: Graph = { ...graph, nodes: graph.nodes.map((node) => this.#node(node)) };
    this.#graphs.set(graph, watched);
    this.#graphs.set(watched, watched);
    return watched;
  }

  #node(node: GraphNode): GraphNode {
    const { implementation, subgraph, effect, idempotent } = node;
    const run = (ctx: NodeContext): unknown => {
      const place = `${ctx.nodePath.join('/')}#${ctx.visit}`;
      return this.#call({ key: ctx.idempotencyKey, place, effect, isRepeatable: idempotent }, () =>
        implementation.run(this.#context(ctx, place)),
      );
    };
    return {
      ...node,
      implementation: { ...implementation, run },
      subgraph: subgraph === undefined ? undefined : this.graph(subgraph),
    };
  }

  /** A context that notes when the function waits, and wraps its steps and child graphs. */
  #context(ctx: NodeContext, place: string): NodeContext {
    const { work } = this.#watch;
    const step: NodeContext['step'] = (name, options, fn) => {
      const { effect = 'pure', idempotent = false } = options;
      const watched = (step: StepContext): unknown =>
        this.#call({ key: step.idempotencyKey, place: `${place} ${name}`, effect, isRepeatable: idempotent }, () =>
          fn(step),
        );
      return work.wait(() => ctx.step(name, options, watched as typeof fn));
    };
    const replaced: Partial<NodeContext> = {
      step,
      ask: (question) => work.wait(() => ctx.ask(question)),
      sleepUntil: (...args) => work.wait(() => ctx.sleepUntil(...args)),
      receive: <Value>(signal: string, options?: ReceiveOptions<Value>) =>
        work.wait(() => ctx.receive(signal, options) as Promise<Value>),
      save: (state) => work.wait(() => ctx.save(state)),
      retire: (...args) => work.wait(() => ctx.retire(...args)),
      append: (...args) => work.wait(() => ctx.append(...args)),
      run: (graph, ...args) => work.wait(() => ctx.run(this.of(graph as GraphOrRunnable), ...args)),
      start: async (graph, ...args) =>
        this.#handle(await work.wait(() => ctx.start(this.of(graph as GraphOrRunnable), ...args))),
      ...(ctx.part && {
        part: (...args) => this.#context((ctx.part as NonNullable<NodeContext['part']>)(...args), place),
      }),
    };
    return new Proxy(ctx, {
      get: (target, name) => {
        if (Object.hasOwn(replaced, name)) return replaced[name as keyof NodeContext];
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  }

  /** A child run's handle that notes when the function waits. */
  #handle(child: ChildHandle): ChildHandle {
    const { work } = this.#watch;
    return {
      name: child.name,
      result: () => work.wait(() => child.result()),
      signal: (...args) => work.wait(() => child.signal(...args)),
      cancel: (...args) => work.wait(() => child.cancel(...args)),
      state: () => work.wait(() => child.state()),
      stateIn: (...args) => work.wait(() => child.stateIn(...args)),
      isInDoubt: () => work.wait(() => child.isInDoubt()),
    };
  }

  #call(call: WatchedCall, work: () => unknown): unknown {
    const { life, work: underWay } = this.#watch;
    if (call.effect !== 'write' && call.effect !== 'external') return underWay.attempt(work);
    if (life.isDead) return never();
    const fate = life.enter('call');
    if (fate === 'dead') return never();
    const number = life.counts.call;
    this.#watch.calls.apply({ ...entryOf(call), output: null, isBegun: true });
    return this.#end(() => underWay.attempt(work), call, { number, diesAfter: fate === 'die after' });
  }

  #end(
    run: () => unknown,
    call: WatchedCall,
    point: { readonly number: number; readonly diesAfter: boolean },
  ): unknown {
    const { life } = this.#watch;
    const returned = (output: unknown): unknown => {
      this.#remember(call, point.number, { output: output instanceof Outcome ? output.parts.output : output });
      if (point.diesAfter) life.kill();
      return life.isDead ? never() : output;
    };
    const threw = (error: unknown): Promise<never> => {
      const isUnknown = !(error instanceof ProcessKilled) && !(error instanceof NodeFailure && error.applied === 'no');
      if (isUnknown) this.#remember(call, point.number, { output: null, fails: true });
      if (point.diesAfter) life.kill();
      return life.isDead ? never() : Promise.reject(error);
    };
    try {
      const value = run();
      return value instanceof Promise ? value.then(returned, threw) : returned(value);
    } catch (error) {
      return threw(error);
    }
  }

  /** Records the end of a call. If its effect was reported to the oracle, the oracle has it already. */
  #remember(call: WatchedCall, number: number, end: { output: unknown; fails?: boolean }): void {
    const { life, oracle, calls } = this.#watch;
    if (oracle.find(call.key) !== undefined) life.callsToOracle.add(number);
    else calls.apply({ ...entryOf(call), ...end });
  }
}

function entryOf({ key, place, isRepeatable }: WatchedCall): Pick<EffectEntry, 'key' | 'place' | 'promise'> {
  return { key, place, promise: isRepeatable ? 'repeatable' : 'once' };
}
