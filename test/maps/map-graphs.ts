/** Random maps as graphs, for one process: what their items do outside goes to the world, which outlives it. */
import { readWorkflow } from '../../src/dialects/yaml/index.ts';
import { NodeFailure, type NodeContext } from '../../src/graph/contracts/node-contract.ts';
import type { NodeType, TypedNodeContext } from '../../src/graph/contracts/node-type.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { mapNode } from '../../src/nodes/builders.ts';
import { edges, graphOf, node } from '../engine-kit.ts';
import { textsOf } from '../yaml-kit.ts';
import { failingCall, isYaml, type MapItemPlan, type MapPlan } from './map-plan.ts';

/** One process: what it does after its death does not happen. */
export interface Life {
  isDead: boolean;
}

/** What was done outside, by `item:call`. */
export type World = Set<string>;

/** What the items of a map do, in one process. */
class Doings {
  readonly plan: MapPlan;
  readonly #life: Life;
  readonly #world: World;

  constructor(plan: MapPlan, life: Life, world: World) {
    this.plan = plan;
    this.#life = life;
    this.#world = world;
  }

  /** A call that is no question. */
  async make(index: number, at: number): Promise<string> {
    const item = this.plan.items[index] as MapItemPlan;
    if (item.calls[at] === 'act' && !this.#life.isDead) this.#world.add(`${index}:${at}`);
    for (let turn = 0; turn < item.turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    this.endOf(index, at);
    return `i${index}`;
  }

  endOf(index: number, at: number): void {
    const item = this.plan.items[index] as MapItemPlan;
    if (item.fails && at === failingCall(this.plan, item))
      throw new NodeFailure(`i${index} fails`, { code: 'MADE_UP' });
  }

  /** All calls of an item, by a function that has calls of its own. */
  async play(ctx: NodeContext, index: number): Promise<string> {
    for (const [at, call] of (this.plan.items[index] as MapItemPlan).calls.entries()) {
      if (call === 'ask') {
        await ctx.ask({ prompt: `i${index}`, name: `op${at}` });
        this.endOf(index, at);
      } else {
        const effect = call === 'act' ? 'external' : 'pure';
        await ctx.step(`op${at}`, { effect }, () => this.make(index, at));
      }
    }
    return `i${index}`;
  }
}

const field = { schema: {}, description: 'any' };

const indexOf = (given: unknown): number => Number(given);

export function graphOfMap(plan: MapPlan, life: Life, world: World): Graph {
  const doings = new Doings(plan, life, world);
  return isYaml(plan.form) ? workflowOf(doings) : mapOf(doings);
}

function mapOf(doings: Doings): Graph {
  const { plan } = doings;
  const shared = {
    over: () => plan.items.map((_, index) => index),
    key: ({ index }: { readonly index: number }) => `i${index}`,
    concurrency: plan.places,
    continueOnError: plan.gathers,
  };
  const draft =
    plan.form === 'steps'
      ? mapNode({ ...shared, effectClass: 'external', each: ({ index }) => doings.make(index, 0) })
      : mapNode({ ...shared, each: itemGraph(doings) as never });
  return graphOf('m', [{ id: 'map', ...draft }], edges('> map', 'map >'));
}

/** The graph of one item, whose input is its index. */
function itemGraph(doings: Doings): Graph {
  const { form, items } = doings.plan;
  if (form === 'graphs')
    return graphOf('item', [node('x', 'human', (ctx) => doings.play(ctx, indexOf(ctx.input)))], edges('> x', 'x >'));
  const callsOf = (ctx: NodeContext): readonly string[] => items[indexOf(ctx.input)]?.calls ?? [];
  const ask = node('ask', 'human', (ctx) =>
    callsOf(ctx).includes('ask') ? ctx.ask({ prompt: `i${indexOf(ctx.input)}` }) : 'nobody asked',
  );
  const act = node('act', 'external', (ctx) => doings.make(indexOf(ctx.input), callsOf(ctx).indexOf('act')));
  const links = form === 'beside' ? edges('> ask', '> act', 'ask >', 'act >') : edges('> ask', 'ask > act', 'act >');
  return graphOf('item', [ask, act], links);
}

function workflowOf(doings: Doings): Graph {
  const { form, places, isSequential, gathers, items } = doings.plan;
  const index = (ctx: TypedNodeContext): number => indexOf(ctx.inputs['index']);
  const shared = { description: 'An item.', inputs: { index: field }, outputs: { value: field } };
  const act: NodeType = {
    ...shared,
    name: 'Act',
    effect: 'external',
    run: async (ctx) => ({ value: await doings.make(index(ctx), 0) }),
  };
  const play: NodeType = {
    ...shared,
    name: 'Play',
    effect: 'human',
    run: async (ctx) => ({ value: await doings.play(ctx, index(ctx)) }),
  };
  const how = isSequential ? 'for_each_mode: sequential' : `for_each_mode: parallel, max_parallel: ${places}`;
  const over = items.map((_, at) => `i${at}: ${at}`).join(', ');
  const work =
    form === 'workflows'
      ? 'type: Workflow, inputs: { workflow: one, inputs: { index: "${each.value}" } }'
      : `type: ${form === 'blocks' ? 'Act' : 'Play'}, inputs: { index: "\${each.value}" }`;
  const text = `name: m
blocks: [{ id: map, for_each: { ${over} }, ${how}, continue_on_error: ${gathers}, ${work} }]
`;
  const one = `name: one
inputs: { index: { type: num } }
blocks: [{ id: x, type: Play, inputs: { index: "\${inputs.index}" } }]
`;
  return readWorkflow(text, { nodeTypes: [act, play], source: 'm.yaml', workflows: textsOf({ one }) }).graph;
}
