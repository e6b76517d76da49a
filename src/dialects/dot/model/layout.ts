/** The layout of a pipeline: its start and exit, the branches of parallel stages, and the stages that can be reached. */
import { parseCondition } from './edge-condition.ts';
import type { Pipeline, PipelineEdge, Stage } from './pipeline.ts';

/** The branches of a parallel stage. */
export interface Branches {
  readonly parallel: string;
  /** First stage of each branch, in the order of the edges. Two edges to one stage are one branch. */
  readonly entries: readonly string[];
  /** The stage at which all branches come together. It is not part of them. */
  readonly join: string;
  /** Stages of all branches. */
  readonly stages: ReadonlySet<string>;
}

export interface Layout {
  readonly start: Stage | undefined;
  readonly exit: Stage | undefined;
  /** Goal gates. */
  readonly gates: readonly Stage[];
  /** Edges by the stage that they leave, in the order of the file. */
  readonly outgoing: ReadonlyMap<string, readonly PipelineEdge[]>;
  /** Edges by the stage that they lead to. */
  readonly incoming: ReadonlyMap<string, readonly PipelineEdge[]>;
  /** By parallel stage. A parallel stage whose branches never come together has no entry. */
  readonly branches: ReadonlyMap<string, Branches>;
  /** Stages that the run itself may reach, without those of branches. */
  readonly main: ReadonlySet<string>;
  /** Stages that can be reached at all. */
  readonly reachable: ReadonlySet<string>;
  /** Ids of the stages that follow a cancel and the failure of the run. No edge leads to them, and they count as reached. */
  readonly beside: Readonly<Record<'onCancel' | 'onRunFailure', string | undefined>>;
}

/** Most steps for finding the ends of branches. A file that needs more, with thousands of parallel stages, is refused. */
const stepsMax = 3_000_000;
/** How deep parallel stages may nest in the search. */
const depthMax = 100;

/** Where the run jumps if the stage finally fails and no edge takes the failure, in the order in which they are tried. */
export function retryTargets({ attributes }: Pick<Stage, 'attributes'>): readonly string[] {
  const first = attributes.text('retry_target');
  const second = attributes.text('fallback_retry_target');
  if (second === '') return first === '' ? none : [first];
  return first === '' ? [second] : [first, second];
}

const none: readonly string[] = [];

/** How often each retry target may be jumped to. */
export function jumpsMaxOf({ attributes }: Pick<Pipeline, 'attributes'>): number {
  return attributes.integer('max_retry_jumps') ?? 10;
}

/** Where an unsatisfied goal gate leads back to: its own targets, then those of the graph. */
export function gateTargets(pipeline: Pipeline, gate: Stage): readonly string[] {
  return [...new Set([...retryTargets(gate), ...retryTargets(pipeline)])];
}

export function layOut(pipeline: Pipeline): Layout {
  const { stages, edges } = pipeline;
  const outgoing = Map.groupBy(edges, ({ from }) => from);
  const all = [...stages.values()];
  const ofType = (type: string): Stage | undefined => all.find((stage) => stage.type === type);
  const exit = ofType('exit');
  const walk = new Walk(outgoing, stages);
  const branches = new Map<string, Branches>();
  for (const { id, type } of all) {
    const found = type === 'parallel' ? walk.branchesOf(id) : undefined;
    if (found !== undefined) branches.set(id, found);
  }
  const gates = all.filter(({ attributes }) => attributes.flag('goal_gate'));
  const gateJumps = gates.flatMap((gate) => gateTargets(pipeline, gate));
  const jump: Steps = (id, go) => {
    const stage = stages.get(id);
    const targets = id === exit?.id ? gateJumps : stage === undefined ? none : retryTargets(stage);
    for (const target of targets) if (stages.has(target)) go(target);
  };
  const follow = alongEdges(outgoing);
  const start = ofType('start');
  const beside = {
    onCancel: stageNamed(pipeline, 'on_cancel'),
    onRunFailure: stageNamed(pipeline, 'on_run_failure'),
  };
  const begin = [start?.id, beside.onCancel, beside.onRunFailure].filter((id) => id !== undefined);
  const reachable = reach(begin, (id, go) => {
    follow(id, go);
    jump(id, go);
  });
  return {
    start,
    exit,
    gates,
    outgoing,
    incoming: Map.groupBy(edges, ({ to }) => to),
    branches,
    main:
      branches.size === 0
        ? reachable
        : reach(begin, (id, go) => {
            const own = branches.get(id);
            if (own === undefined) follow(id, go);
            else go(own.join);
            jump(id, go);
          }),
    reachable,
    beside,
  };
}

/** The stage that an attribute of the pipeline names, if it is there. */
function stageNamed({ attributes, stages }: Pipeline, attribute: string): string | undefined {
  const named = attributes.text(attribute);
  return stages.has(named) ? named : undefined;
}

/** Calls `go` with each stage that is one step away from a stage. */
type Steps = (id: string, go: (to: string) => void) => void;

/** The steps along edges. @param end - the stage to which none is taken, such as the join of branches */
export function alongEdges(outgoing: Layout['outgoing'], end?: string): Steps {
  return (id, go) => {
    for (const { to } of outgoing.get(id) ?? []) if (to !== end) go(to);
  };
}

/** All stages that can be reached from these, themselves included. */
export function reach(begin: readonly string[], steps: Steps): ReadonlySet<string> {
  const found = new Set(begin);
  const open = [...begin];
  const go = (to: string): void => {
    if (found.has(to)) return;
    found.add(to);
    open.push(to);
  };
  for (let id = open.pop(); id !== undefined; id = open.pop()) steps(id, go);
  return found;
}

/** Finds where branches end. A parallel stage inside a branch is passed over: the search goes on at its own join. */
class Walk {
  readonly #outgoing: Layout['outgoing'];
  readonly #stages: Pipeline['stages'];
  /** Joins found so far, by parallel stage. Undefined means that the search is under way, or that there is none. */
  readonly #joins = new Map<string, string | undefined>();
  #steps = 0;
  #depth = 0;

  constructor(outgoing: Layout['outgoing'], stages: Pipeline['stages']) {
    this.#outgoing = outgoing;
    this.#stages = stages;
  }

  branchesOf(parallel: string): Branches | undefined {
    const join = this.#joinOf(parallel);
    if (join === undefined || this.#steps > stepsMax) return undefined;
    const entries = this.#entriesOf(parallel);
    const begin = entries.filter((entry) => entry !== join);
    const stages = reach(begin, alongEdges(this.#outgoing, join));
    this.#steps += stages.size;
    return { parallel, entries, join, stages };
  }

  #entriesOf(parallel: string): readonly string[] {
    return [...new Set((this.#outgoing.get(parallel) ?? []).map(({ to }) => to))];
  }

  #joinOf(parallel: string): string | undefined {
    if (this.#joins.has(parallel) || this.#depth > depthMax) return this.#joins.get(parallel);
    this.#joins.set(parallel, undefined);
    this.#depth += 1;
    const join = this.#meeting(this.#entriesOf(parallel));
    this.#depth -= 1;
    this.#joins.set(parallel, join);
    return join;
  }

  /** The nearest fan-in stage that every branch reaches, or else the nearest stage of any kind. */
  #meeting(entries: readonly string[]): string | undefined {
    const seen = entries.map((entry) => new Set([entry]));
    const counts = new Map<string, number>();
    /** Fan-in stages of inner parallel stages that all branches reached. They lie behind the point where the branches meet. */
    const taken = new Set<string | undefined>();
    let nearest: string | undefined;
    let fronts: readonly (readonly string[])[] = entries.map((entry) => [entry]);
    for (let distance = 0; fronts.some(({ length }) => length > 0) && this.#steps <= stepsMax; distance += 1) {
      for (const id of fronts.flat()) {
        const count = (counts.get(id) ?? 0) + 1;
        counts.set(id, count);
        const type = this.#stages.get(id)?.type;
        if (count < entries.length) continue;
        if (type === 'parallel.fan_in' && !taken.has(id)) return id;
        // The first stage of a single branch is reached by all branches, yet it is no place where they meet.
        if (entries.length === 1 && distance === 0) continue;
        if (type === 'parallel') taken.add(this.#joinOf(id));
        nearest ??= id;
      }
      fronts = fronts.map((front, branch) => this.#nextFront(front, seen[branch] as Set<string>));
    }
    return nearest;
  }

  #nextFront(front: readonly string[], seen: Set<string>): readonly string[] {
    const next: string[] = [];
    for (const id of front)
      for (const to of this.#next(id)) {
        this.#steps += 1;
        if (seen.has(to)) continue;
        seen.add(to);
        next.push(to);
      }
    return next;
  }

  #next(id: string): readonly string[] {
    const join = this.#stages.get(id)?.type === 'parallel' ? this.#joinOf(id) : undefined;
    return join === undefined ? (this.#outgoing.get(id) ?? []).map(({ to }) => to) : [join];
  }
}

/** Most stages whose edges are looked at for one stage: a chain of diamonds passes an outcome on for ever. */
const readersMax = 100;

/** The outcomes with which the edges of a stage compare, and those of diamonds behind it, which pass its outcome on. */
export function outcomesRead({ outgoing, branches }: Layout, { stages }: Pipeline, id: string): ReadonlySet<string> {
  const read = new Set<string>();
  const readers = new Set(branches.has(id) ? [] : [id]);
  // The set grows during the loop.
  for (const reader of readers)
    for (const { to, attributes } of outgoing.get(reader) ?? []) {
      for (const { key, operator, value } of parseCondition(attributes.text('condition')).clauses ?? [])
        if (key === 'outcome' && operator !== 'set') read.add(value);
      if (stages.get(to)?.type === 'conditional' && readers.size < readersMax) readers.add(to);
    }
  return read;
}
