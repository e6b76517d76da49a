/** The shape of a random graph, drawn from a seed: plain data, from which a graph is built for each process. */
import type { EffectClass } from '../../src/graph/contracts/node-contract.ts';
import type { CheckpointPolicy, NodeCheckpoint, OnFailure } from '../../src/graph/graph.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';

export interface RandomGraphOptions {
  /** Nodes of the graph, at most. Default 8. */
  readonly nodesMost?: number;
  /** Questions, timers and signals. Default true. */
  readonly hasWaits?: boolean;
  /** Child runs. Default true. */
  readonly hasChildren?: boolean;
  /** Failures that fail the run: what else was done then depends on the schedule. Default true, and rare. */
  readonly hasRunFailures?: boolean;
  /** Joins that cancel what is not needed any more: what that is depends on the schedule. Default: drawn, and rare. */
  readonly hasRaces?: boolean;
  /** What fails for want of attempts succeeds when the failed run is resumed often enough. Default false. */
  readonly recovers?: boolean;
  /** Whether a node that fails for good fails the run last, in all nodes: then there is one outcome, whatever the schedule. Default false. */
  readonly failsLast?: boolean;
}

/** How an effect may be recovered; the like for a step. */
export interface EffectPlan {
  readonly effect: EffectClass;
  readonly recovery: 'none' | 'idempotent' | 'reconcile';
  /** Attempts that fail before the effect, saying so (`applied: 'no'`). */
  readonly failures: number;
  /** Attempts allowed. */
  readonly attempts: number;
  /** One attempt more than those that fail succeeds, also where only a resume of the failed run makes it. */
  readonly recovers: boolean;
  /** Fails after the effect happened. */
  readonly failsAfter: boolean;
  /** A failure is not thrown: the attempt hangs until it times out. */
  readonly hangs: boolean;
  /** Time taken before and after the effect; undefined: the function returns at once, without a promise. */
  readonly latencyMs: readonly [number, number] | undefined;
}

export type PartPlan =
  | { readonly kind: 'step'; readonly name: string; readonly effect: EffectPlan }
  | { readonly kind: 'together'; readonly steps: readonly { readonly name: string; readonly effect: EffectPlan }[] }
  | { readonly kind: 'ask'; readonly name: string; readonly style: 'number' | 'choice' | 'late' }
  /** Two questions at once. */
  | { readonly kind: 'asks' }
  /** A child, a question and a step at once. */
  | { readonly kind: 'mixed'; readonly graph: RandomGraphPlan; readonly effect: EffectPlan }
  /** Keeps all it sees, and checks that it sees the same whenever it runs again (E9). */
  | { readonly kind: 'peek' }
  | { readonly kind: 'sleep'; readonly delayMs: number }
  | { readonly kind: 'signal' }
  | { readonly kind: 'save' }
  | { readonly kind: 'child'; readonly graph: RandomGraphPlan };

export interface NodePlan {
  readonly id: string;
  readonly kind: 'plain' | 'composed' | 'map';
  /** Of the node itself; a composed node has the class `pure`, `read` or `human`. */
  readonly effect: EffectPlan;
  readonly parts: readonly PartPlan[];
  /** Keys of a map's items. */
  readonly items: readonly string[];
  /** A number: so many of its edges must have fired; `race`: the first starts it, and cancels the other sources. */
  readonly join: 'some' | 'all' | 1 | 2 | 'race';
  readonly onFailure: OnFailure;
  readonly checkpoint: NodeCheckpoint | undefined;
  readonly hasWhen: boolean;
  readonly declaresReads: boolean;
  readonly hasGoto: boolean;
  /** The channel it writes besides its own. */
  readonly channel: string | undefined;
}

export interface EdgePlan {
  readonly from: string;
  readonly to: string;
  readonly on: 'completed' | 'failed' | 'any';
  readonly always: boolean;
  /** Fires when the source's output has this rest. */
  readonly condition: { readonly modulus: number; readonly rest: number } | undefined;
  /** A back edge fires while the source was visited less often than this. */
  readonly roundsMost: number | undefined;
}

export interface RandomGraphPlan {
  readonly id: string;
  readonly nodes: readonly NodePlan[];
  readonly edges: readonly EdgePlan[];
  readonly policies: {
    readonly routing: 'all' | 'first';
    readonly checkpoint: CheckpointPolicy;
    readonly concurrency: number;
    readonly maxVisits: number;
    readonly durability: 'barrier' | 'exit';
    /** How many units the run may spend before somebody is asked. */
    readonly budget: { readonly units: number } | undefined;
  };
  /** Whether the graph has one outcome, whatever the schedule. */
  readonly isScheduleFree: boolean;
  /** Whether a node follows a cancel, which tells the oracle that it ran. */
  readonly undoes?: true;
}

/** Channels with a reducer for which the order of updates does not matter, once lists are sorted. */
const sharedChannels = ['total', 'seen', 'top', 'low', 'mean', 'word', 'bag', 'ring'] as const;

/** Draws a graph: the same for the same seed and options. */
export function planRandomGraph(seed: number, options: RandomGraphOptions = {}): RandomGraphPlan {
  return drawGraph(createSeededRandom(seed), `random-${seed}`, options);
}

function drawGraph(random: SeededRandom, id: string, options: RandomGraphOptions): RandomGraphPlan {
  const { nodesMost = 8, hasRunFailures = true, recovers = false, hasRaces = random.chance(0.08) } = options;
  const count = 1 + random.integer(nodesMost);
  const { failsLast = false } = options;
  const canFailRun = failsLast || (hasRunFailures && !hasRaces && random.chance(recovers ? 0.5 : 0.12));
  const drawn = { ...options, hasRaces };
  const nodes = Array.from({ length: count }, (_, index) => drawNode(random.fork(), index, canFailRun, drawn));
  return {
    id,
    nodes,
    edges: drawEdges(random.fork(), nodes),
    policies: {
      routing: random.chance(0.25) ? 'first' : 'all',
      checkpoint: random.chance(0.3) ? random.pick(['explicit', 'none']) : 'every_node',
      concurrency: random.pick([64, 64, 2, 1]),
      // Some loops have no way out but this.
      maxVisits: 5,
      durability: random.chance(0.2) ? 'exit' : 'barrier',
      // Nobody is there to ask where nobody answers.
      budget: options.hasWaits !== false && random.chance(0.3) ? { units: 1 + random.integer(12) } : undefined,
    },
    isScheduleFree: (failsLast || !canFailRun) && !hasRaces,
  };
}

function drawEffect(random: SeededRandom, effect: EffectClass, { recovers = false }: RandomGraphOptions): EffectPlan {
  const isEffect = effect === 'write' || effect === 'external';
  const failures = random.chance(0.2) ? 1 + random.integer(2) : 0;
  const failsAfter = isEffect && random.chance(0.06);
  return {
    effect,
    recovery: isEffect && !failsAfter ? random.pick(['none', 'idempotent', 'reconcile'] as const) : 'none',
    failures,
    attempts: failures > 0 ? failures + (random.chance(recovers ? 0.4 : 0.7) ? 1 : 0) : 1,
    recovers,
    failsAfter,
    hangs: (failsAfter || (failures > 0 && !isEffect)) && random.chance(0.4),
    latencyMs: random.chance(0.5) ? undefined : [random.integer(4) * 5, random.integer(3) * 5],
  };
}

const effectClasses: readonly EffectClass[] = ['pure', 'pure', 'read', 'write', 'write', 'external'];

function drawNode(random: SeededRandom, index: number, canFailRun: boolean, options: RandomGraphOptions): NodePlan {
  const kind = random.pick(['plain', 'plain', 'plain', 'composed', 'composed', 'map'] as const);
  const effectClass = kind === 'plain' ? random.pick(effectClasses) : random.pick(['pure', 'read'] as const);
  const parts = kind === 'composed' ? drawParts(random.fork(), options) : [];
  const isHuman = parts.some((part) => part.kind === 'ask') && random.chance(0.5);
  return {
    id: `n${index}`,
    kind,
    effect: drawEffect(random.fork(), isHuman ? 'human' : effectClass, options),
    parts,
    items: kind === 'map' ? Array.from({ length: 1 + random.integer(4) }, (_, item) => `item-${item}`) : [],
    join:
      options.hasRaces === true && random.chance(0.5)
        ? 'race'
        : random.pick(['some', 'some', 'some', 'all', 1, 2] as const),
    onFailure: canFailRun
      ? random.pick(options.failsLast === true ? (['fail-last'] as const) : (['fail-run', 'fail-last'] as const))
      : random.pick(['continue', 'skip-dependents'] as const),
    checkpoint: random.chance(0.2) ? random.pick(['before', 'after', 'both', 'none'] as const) : undefined,
    hasWhen: random.chance(0.1),
    declaresReads: random.chance(0.3),
    hasGoto: random.chance(0.1),
    channel: random.chance(0.6) ? random.pick(sharedChannels) : undefined,
  };
}

function drawParts(random: SeededRandom, options: RandomGraphOptions): readonly PartPlan[] {
  const { hasWaits = true, hasChildren = true } = options;
  const kinds = ['step', 'step', 'together', 'save', 'peek'];
  if (hasWaits) kinds.push('ask', 'ask', 'asks', 'sleep', 'signal');
  if (hasChildren) kinds.push('child');
  if (hasChildren && hasWaits) kinds.push('mixed');
  const parts = Array.from({ length: 1 + random.integer(3) }, () =>
    drawPart(random.fork(), random.pick(kinds), options),
  );
  // One child a node is enough, and one signal, since a second would be known by its order only.
  const isFirst =
    (...kinds: readonly string[]) =>
    (part: PartPlan, index: number): boolean =>
      !kinds.includes(part.kind) || parts.findIndex(({ kind }) => kinds.includes(kind)) === index;
  return parts.filter(isFirst('child', 'mixed')).filter(isFirst('signal'));
}

function drawPart(random: SeededRandom, kind: string, options: RandomGraphOptions): PartPlan {
  const drawStep = (name: string): { readonly name: string; readonly effect: EffectPlan } => {
    const effect = drawEffect(random.fork(), random.pick(effectClasses), options);
    // A step that fails fails its node; nodes fail often enough by themselves.
    return { name, effect: { ...effect, failsAfter: false, hangs: false, attempts: effect.failures + 1 } };
  };
  switch (kind) {
    case 'together':
      return { kind, steps: Array.from({ length: 2 + random.integer(2) }, (_, index) => drawStep(`side-${index}`)) };
    case 'ask':
      return {
        kind,
        name: random.pick(['first', 'second']),
        style: random.pick(['number', 'choice', 'late'] as const),
      };
    case 'sleep':
      return { kind, delayMs: 10 + random.integer(40) };
    case 'signal':
    case 'save':
      return { kind };
    case 'asks':
    case 'peek':
      return { kind };
    case 'mixed':
      return { kind, graph: drawChild(random.fork(), options), effect: drawStep('beside').effect };
    case 'child':
      return { kind, graph: drawChild(random.fork(), options) };
    default:
      // Steps may share a name: the n-th of a name is known by the order of the calls.
      return { kind: 'step', ...drawStep(random.pick(['work', 'work', 'other'])) };
  }
}

function drawChild(random: SeededRandom, options: RandomGraphOptions): RandomGraphPlan {
  return drawGraph(random, 'child', {
    ...options,
    nodesMost: 3,
    hasChildren: random.chance(0.2),
    hasRunFailures: false,
  });
}

function drawEdges(random: SeededRandom, nodes: readonly NodePlan[]): readonly EdgePlan[] {
  const edges: EdgePlan[] = [];
  for (const [index, node] of nodes.entries()) {
    const sources = new Set<string>();
    if (index === 0 || random.chance(0.12)) sources.add('');
    const wanted = index === 0 ? 0 : 1 + random.integer(3);
    for (let drawn = 0; drawn < wanted; drawn += 1) sources.add(nodes[random.integer(index)]?.id ?? '');
    for (const from of sources) edges.push(drawEdge(random, from, node.id));
  }
  const backEdges = random.chance(0.5) ? 1 + random.integer(2) : 0;
  for (let drawn = 0; drawn < backEdges; drawn += 1) {
    const from = random.integer(nodes.length);
    const to = random.integer(from + 1);
    const condition = random.chance(0.5) ? { modulus: 2, rest: random.integer(2) } : undefined;
    edges.push({
      from: `n${from}`,
      to: `n${to}`,
      on: 'completed',
      always: false,
      condition,
      roundsMost: 2 + random.integer(2),
    });
  }
  return edges;
}

function drawEdge(random: SeededRandom, from: string, to: string): EdgePlan {
  const plain: EdgePlan = { from, to, on: 'completed', always: false, condition: undefined, roundsMost: undefined };
  if (from === '') return plain;
  const style = random.next();
  if (style < 0.3) {
    const modulus = 2 + random.integer(2);
    return { ...plain, condition: { modulus, rest: random.integer(modulus) } };
  }
  if (style < 0.38) return { ...plain, always: true };
  if (style < 0.48) return { ...plain, on: 'failed' };
  if (style < 0.55) return { ...plain, on: 'any' };
  return plain;
}
