/** How a pipeline hangs together: where it begins and ends, which stages are branches of a parallel one, and where jumps lead. */
import { edgesFrom, type Pipeline, type PipelineEdge, type Stage } from './pipeline.ts';

/** The branches of a parallel stage. */
export interface Branches {
  readonly parallel: string;
  /** Where each begins, in the order of the edges; two edges to one stage are one branch. */
  readonly entries: readonly string[];
  /** The stage at which all of them come together; it is not part of them. */
  readonly join: string;
  /** Stages of all branches. */
  readonly stages: ReadonlySet<string>;
}

export interface Layout {
  readonly start: Stage | undefined;
  readonly exit: Stage | undefined;
  readonly outgoing: ReadonlyMap<string, readonly PipelineEdge[]>;
  /** By parallel stage; one whose branches never come together has none. */
  readonly branches: ReadonlyMap<string, Branches>;
  /** Stages that the run itself may come to, branches left out. */
  readonly main: ReadonlySet<string>;
  /** Stages that anything may come to. */
  readonly reachable: ReadonlySet<string>;
}

/** Steps that finding the ends of branches may take; a file of thousands of parallel stages is refused. */
const stepsMax = 20_000_000;

/** Where a stage leads if it fails for good and no edge takes that, in the order in which they are tried. */
export function retryTargets({ attributes }: Pick<Stage, 'attributes'>): readonly string[] {
  const targets = [attributes.text('retry_target'), attributes.text('fallback_retry_target')];
  return targets.filter((target) => target !== '');
}

/** Where an unsatisfied goal gate leads back to: its own targets before those of the graph. */
export function gateTargets(pipeline: Pipeline, gate: Stage): readonly string[] {
  return [...new Set([...retryTargets(gate), ...retryTargets(pipeline)])];
}

export function gatesOf({ stages }: Pipeline): readonly Stage[] {
  return [...stages.values()].filter(({ attributes }) => attributes.flag('goal_gate'));
}

export function layOut(pipeline: Pipeline): Layout {
  const { stages } = pipeline;
  const outgoing = edgesFrom(pipeline);
  const all = [...stages.values()];
  const ofType = (type: string): Stage | undefined => all.find((stage) => stage.type === type);
  const exit = ofType('exit');
  const walk = new Walk(outgoing, stages);
  const branches = new Map<string, Branches>();
  for (const { id, type } of all) {
    const found = type === 'parallel' ? walk.branchesOf(id) : undefined;
    if (found !== undefined) branches.set(id, found);
  }
  const gateJumps = gatesOf(pipeline).flatMap((gate) => gateTargets(pipeline, gate));
  const jumpsOf = (id: string): readonly string[] => {
    const stage = stages.get(id);
    const targets = id === exit?.id ? gateJumps : stage === undefined ? [] : retryTargets(stage);
    return targets.filter((target) => stages.has(target));
  };
  const targetsOf = (id: string): readonly string[] => (outgoing.get(id) ?? []).map(({ to }) => to);
  const start = ofType('start');
  const begin = start === undefined ? [] : [start.id];
  return {
    start,
    exit,
    outgoing,
    branches,
    main: reach(begin, (id) => {
      const own = branches.get(id);
      return [...(own === undefined ? targetsOf(id) : [own.join]), ...jumpsOf(id)];
    }),
    reachable: reach(begin, (id) => [...targetsOf(id), ...jumpsOf(id)]),
  };
}

/** What can be come to from some stages, these included. */
export function reach(begin: readonly string[], next: (id: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set(begin);
  const open = [...begin];
  for (let id = open.pop(); id !== undefined; id = open.pop())
    for (const to of next(id))
      if (!found.has(to)) {
        found.add(to);
        open.push(to);
      }
  return found;
}

class Walk {
  readonly #outgoing: Layout['outgoing'];
  readonly #stages: Pipeline['stages'];
  #steps = 0;

  constructor(outgoing: Layout['outgoing'], stages: Pipeline['stages']) {
    this.#outgoing = outgoing;
    this.#stages = stages;
  }

  branchesOf(parallel: string): Branches | undefined {
    const entries = [...new Set((this.#outgoing.get(parallel) ?? []).map(({ to }) => to))];
    const join = this.#joinOf(entries);
    if (join === undefined) return undefined;
    const begin = entries.filter((entry) => entry !== join);
    const stages = reach(begin, (id) => this.#next(id).filter((to) => to !== join));
    this.#steps += stages.size;
    return { parallel, entries, join, stages };
  }

  /** The nearest stage that every branch leads to: a fan-in stage if there is one. */
  #joinOf(entries: readonly string[]): string | undefined {
    if (entries.length === 0) return undefined;
    const counts = new Map<string, { count: number; distance: number }>();
    for (const entry of entries) {
      for (const [id, distance] of this.#distances(entry)) {
        const known = counts.get(id) ?? { count: 0, distance: 0 };
        counts.set(id, { count: known.count + 1, distance: Math.max(known.distance, distance) });
      }
    }
    let best: { readonly id: string; readonly distance: number; readonly isFanIn: boolean } | undefined;
    for (const [id, { count, distance }] of counts) {
      if (count < entries.length || (entries.length === 1 && distance === 0)) continue;
      const isFanIn = this.#stages.get(id)?.type === 'parallel.fan_in';
      if (best === undefined || (isFanIn && !best.isFanIn) || (isFanIn === best.isFanIn && distance < best.distance))
        best = { id, distance, isFanIn };
    }
    return best?.id;
  }

  #distances(entry: string): ReadonlyMap<string, number> {
    const found = new Map([[entry, 0]]);
    if (this.#steps > stepsMax) return found;
    for (const [id, distance] of found) {
      for (const to of this.#next(id)) {
        this.#steps += 1;
        if (!found.has(to)) found.set(to, distance + 1);
      }
    }
    return found;
  }

  #next(id: string): readonly string[] {
    return (this.#outgoing.get(id) ?? []).map(({ to }) => to);
  }
}
