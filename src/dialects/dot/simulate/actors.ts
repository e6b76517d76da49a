/** Finds, in one run, the stages whose ends decide how a diamond, a fan-in or a branch ended: these do no work of their own. */
import { retryTargets, type Branches, type Layout } from '../model/layout.ts';
import type { Pipeline, Stage } from '../model/pipeline.ts';
import type { StageEnding } from '../run/stage/stage-parts.ts';
import { isScripted } from './scripted-stages.ts';

/** A visit of a stage whose end a scenario says. */
export interface Actor {
  readonly stage: Stage;
  /** From 0. */
  readonly visit: number;
}

export class Actors {
  readonly #pipeline: Pipeline;
  readonly #layout: Layout;
  readonly #endings: readonly StageEnding[];
  readonly #visits: readonly number[];

  constructor(pipeline: Pipeline, layout: Layout, endings: readonly StageEnding[]) {
    this.#pipeline = pipeline;
    this.#layout = layout;
    this.#endings = endings;
    const counts = new Map<string, number>();
    this.#visits = endings.map(({ stage }) => {
      const visit = counts.get(stage) ?? 0;
      counts.set(stage, visit + 1);
      return visit;
    });
  }

  /** Where the outcome of an ending comes from: itself, unless a diamond or a fan-in passed on that of the one before. -1: nowhere. */
  originOf(index: number): number {
    let at = index;
    while (['conditional', 'parallel.fan_in'].includes(this.#stageAt(at)?.type ?? '')) at = this.before(at);
    return at;
  }

  /** Which ending led to this one, a branch's first one included. -1: none did. */
  before(index: number): number {
    const stage = this.#endings[index]?.stage;
    const leading = (target: string | undefined): number =>
      this.#endings.findLastIndex(({ to }, at) => at < index && to !== undefined && to === target);
    const found = leading(stage);
    if (found >= 0) return found;
    const around = [...this.#layout.branches.values()].find(({ entries }) => entries.some((entry) => entry === stage));
    return leading(around?.parallel);
  }

  /** The stage that decided an ending. Undefined if a parallel stage did, or nothing that a scenario could say. */
  actorAt(index: number): Actor | undefined {
    const stage = this.#stageAt(index);
    return stage !== undefined && isScripted(stage.type) ? { stage, visit: this.#visits[index] ?? 0 } : undefined;
  }

  /** The branches of the parallel stage that ended at an index, each with the stages that must fail for it to fail. */
  branchesAt(index: number): readonly (readonly Actor[])[] {
    const branches = this.#layout.branches.get(this.#endings[index]?.stage ?? '');
    if (branches === undefined) return [];
    const { parallel, entries, join, stages } = branches;
    const since = this.#endings.findLastIndex(({ stage }, at) => at < index && stage === parallel) + 1;
    const within = [...this.#endings.entries()].slice(since, index).filter(([, { stage }]) => stages.has(stage));
    const ended = within.filter(([, { to }]) => to === join).map(([at]) => this.#failing(at, branches));
    // A branch that others made needless before it began would have begun if they had failed.
    const unbegun = entries.filter((entry) => entry !== join && !within.some(([, { stage }]) => stage === entry));
    return [...ended, ...unbegun.map((entry) => this.#unbegun(entry))].filter(({ length }) => length > 0);
  }

  /** Goes back from the end of a branch to a stage whose failure nothing takes, else to one that can fail at all. */
  #failing(end: number, { parallel, stages }: Branches): readonly Actor[] {
    let second: readonly Actor[] = [];
    for (let at = this.originOf(end); at >= 0; at = this.originOf(this.before(at))) {
      const stage = this.#stageAt(at);
      if (stage === undefined || stage.id === parallel || !stages.has(stage.id)) break;
      const actor = this.actorAt(at);
      if (actor === undefined) return this.branchesAt(at).flat();
      if (!canFail(stage)) continue;
      if (!this.#isCaught(stage)) return [actor];
      if (second.length === 0) second = [actor];
    }
    return second;
  }

  #isCaught(stage: Stage): boolean {
    const edges = this.#layout.outgoing.get(stage.id) ?? [];
    return (
      retryTargets(stage).length > 0 ||
      edges.some(
        ({ to, attributes }) =>
          attributes.text('condition') !== '' || this.#pipeline.stages.get(to)?.type === 'conditional',
      )
    );
  }

  #unbegun(entry: string): readonly Actor[] {
    const stage = this.#pipeline.stages.get(entry);
    if (stage === undefined || !isScripted(stage.type) || !canFail(stage)) return [];
    return [{ stage, visit: this.#endings.filter((ending) => ending.stage === entry).length }];
  }

  #stageAt(index: number): Stage | undefined {
    return this.#pipeline.stages.get(this.#endings[index]?.stage ?? '');
  }
}

/** A question fails if it is not confirmed, or if its time can pass without an answer. */
function canFail({ type, attributes }: Stage): boolean {
  if (type !== 'wait.human' || attributes.text('human.type') === 'confirmation') return true;
  return attributes.has('timeout') && !attributes.has('human.default_choice');
}
