/** Finds scenarios that take edges which earlier ones did not: each changes how stages of an earlier run ended. */
import { retryTargets, type Branches, type Layout, gateTargets, jumpsMaxOf } from '../model/layout.ts';
import type { Pipeline, Stage, PipelineEdge } from '../model/pipeline.ts';
import { parseCondition } from '../model/edge-condition.ts';
import { normalLabel, sayingOf } from '../model/edge-label.ts';
import type { StageEnding } from '../run/stage/attempts.ts';
import { isScripted, type ScriptedEnd, type Scenario } from './scenario.ts';
import { isReserved } from '../run/context/context-reader.ts';
import type { StageOutcome, StageStatus } from '../run/stage/stage-outcome.ts';

// Finds, in one run, the stages whose ends decide how a diamond, a fan-in or a branch ended: these do no work of their own.

/** A visit of a stage whose end a scenario says. */
export interface Actor {
  readonly stage: Stage;
  /** From 0. */
  readonly visit: number;
}

class Actors {
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

// Guesses how a stage must end for one of its edges to be taken, or for it to fail. Looks at that edge alone.

const success: ScriptedEnd = { outcome: { status: 'success' } };

function failureOf(id: string): ScriptedEnd {
  return { outcome: { status: 'fail', failureReason: `${id} fails` } };
}

/** How a question fails: it is not confirmed, or nobody answers in time. */
function refusalOf({ attributes }: Stage): ScriptedEnd {
  return { answer: attributes.text('human.type') === 'confirmation' ? 'No' : null };
}

/** The answer for which the edge is taken. Looks at the edge alone, so the result is a guess. */
function answerFor(stage: Stage, edge: PipelineEdge, edges: readonly PipelineEdge[]): ScriptedEnd {
  const label = edge.attributes.text('label');
  const asksForFailure = parseCondition(edge.attributes.text('condition')).clauses?.some(
    ({ key, operator, value }) => key === 'outcome' && (operator === '=') === (value === 'fail'),
  );
  if (asksForFailure === true) return refusalOf(stage);
  if (!['yes_no', 'confirmation'].includes(stage.attributes.text('human.type')))
    return { answer: label === '' ? edge.to : sayingOf(label) };
  // An edge that says neither is taken for the word that no other says.
  const labels = new Set(edges.map((one) => normalLabel(one.attributes.text('label'))));
  if (['yes', 'no'].includes(normalLabel(label))) return { answer: normalLabel(label) };
  return { answer: labels.has('yes') ? 'no' : 'yes' };
}

/** How the stage must end for the edge to be taken. Looks at one clause after the other, so the result is a guess. */
function outcomeFor({ to, attributes }: PipelineEdge): StageOutcome {
  const label = attributes.text('label');
  let status: StageStatus = 'success';
  let preferred = label;
  const updates: Record<string, unknown> = {};
  for (const { key, operator, value } of parseCondition(attributes.text('condition')).clauses ?? []) {
    const isEqual = operator === '=';
    if (key === 'outcome') status = isEqual ? value : value === 'success' ? 'fail' : 'success';
    else if (key === 'preferred_label') preferred = isEqual ? value : normalLabel(value) === '' ? 'any' : '';
    else {
      const name = key.replace(/^context\./, '');
      if (!isReserved(name)) updates[name] = isEqual ? value : operator === 'set' ? 'yes' : `not ${value}`;
    }
  }
  return {
    status,
    suggestedNextIds: [to],
    ...(preferred !== '' && { preferredLabel: preferred }),
    ...(Object.keys(updates).length > 0 && { contextUpdates: updates }),
    ...(status === 'fail' && { failureReason: `it fails, to go to ${to}` }),
  };
}

/** How one visit of a stage is to end. */
interface Turn {
  readonly actor: Actor;
  readonly ends: readonly ScriptedEnd[];
  /** How its later visits end, so that the run can go on. */
  readonly after: readonly ScriptedEnd[];
}

/** The most failures of one stage in one scenario. */
const failuresMax = 1_000;

const fewBranches = 10;

/** What one run says of ways to try. */
export interface Explored {
  readonly scenario: Scenario;
  readonly endings: readonly StageEnding[];
  /** Whether it came to something that no run before it had come to. Else which branches fail makes little difference. */
  readonly isNew: boolean;
}

/**
 * Scenarios that a run suggests, each named after its aim: for each stage it reached, each edge that it did not take, and failures; for branches, that some of them
 * fail, and all.
 * @param aims - those that were suggested before; new ones are added
 */
export function ideasFrom(
  pipeline: Pipeline,
  layout: Layout,
  { scenario: { stages: scripted }, endings, isNew }: Explored,
  aims: Set<string>,
): readonly Scenario[] {
  const actors = new Actors(pipeline, layout, endings);
  const ways: Scenario[] = [];
  const failures: Scenario[] = [];
  const jumpsMax = jumpsMaxOf(pipeline);
  const add = (ideas: Scenario[], name: string, turnsOf: () => readonly Turn[]): void => {
    if (aims.has(name)) return;
    const turns = turnsOf();
    if (turns.length === 0) return;
    aims.add(name);
    ideas.push({ name, stages: turns.reduce(withTurn, scripted) });
  };
  const failing = (actor: Actor, count: number): Turn => failureAt(actor, count, layout);
  const lost = (actor: Actor): Turn => failing(actor, 1 + retryTargets(actor.stage).length * jumpsMax);
  for (const [index, { stage: id, edge: taken }] of endings.entries()) {
    const stage = pipeline.stages.get(id);
    if (stage === undefined) continue;
    const origin = actors.originOf(index);
    const actor = actors.actorAt(origin);
    const branches = actors.branchesAt(origin);
    const edges = layout.branches.has(id) ? [] : (layout.outgoing.get(id) ?? []);
    for (const edge of edges)
      if (edge.index !== taken)
        add(ways, `${edge.from} -> ${edge.to}${captionOf(edge)}`, () =>
          actor === undefined
            ? turnsBehind(branches, actors.actorAt(actors.originOf(actors.before(origin))), edge, lost)
            : [turnFor(actor, stage, edge, edges)],
        );
    const isGate = stage.attributes.flag('goal_gate');
    const targets = isGate ? gateTargets(pipeline, stage) : retryTargets(stage);
    for (let jumps = 0; jumps < Math.max(targets.length, isGate ? 1 : 0); jumps += 1) {
      const count = 1 + jumps * jumpsMax;
      add(failures, `${id} fails${count === 1 ? '' : ` ${count} times`}`, () =>
        (actor === undefined ? branches.flat() : [actor]).map((one) => failing(one, count)),
      );
    }
    if (origin !== index || !isNew) continue;
    for (const chosen of setsOf(branches))
      add(failures, `${id}: ${namesOf(chosen)} ${chosen.length === 1 ? 'fails' : 'fail'}`, () =>
        chosen.flat().map(lost),
      );
  }
  return [...ways, ...failures];
}

/** Lets one visit of a stage end otherwise. What was said of the visits before it stays. */
function withTurn(scripted: Scenario['stages'], { actor: { stage, visit }, ends, after }: Turn): Scenario['stages'] {
  const ended = scripted[stage.id] ?? [];
  const rest = Array.from({ length: Math.max(0, visit - ended.length) }, () => ended.at(-1) ?? success);
  return { ...scripted, [stage.id]: [...ended.slice(0, visit), ...rest, ...ends, ...after] };
}

/** Lets an edge be taken. @param asker - the stage with the edge: the actor itself, or a diamond behind it */
function turnFor(actor: Actor, asker: Stage, edge: PipelineEdge, edges: readonly PipelineEdge[]): Turn {
  const isAsking = asker.type === 'wait.human';
  const end = (one: PipelineEdge): ScriptedEnd =>
    isAsking ? answerFor(asker, one, edges) : { outcome: outcomeFor(one) };
  return { actor, ends: [end(edge)], after: isAsking ? edges.filter((one) => one !== edge).map(end) : [success] };
}

/** Lets an edge behind branches be taken: by how they end, and by what the stage before them writes into the context. */
function turnsBehind(
  branches: readonly (readonly Actor[])[],
  before: Actor | undefined,
  edge: PipelineEdge,
  lost: (actor: Actor) => Turn,
): readonly Turn[] {
  const { status, contextUpdates } = outcomeFor(edge);
  const failing = status === 'fail' ? branches : status === 'partial_success' ? branches.slice(0, 1) : [];
  const writing: readonly Turn[] =
    before === undefined || contextUpdates === undefined
      ? []
      : [{ actor: before, ends: [{ outcome: { status: 'success', contextUpdates } }], after: [success] }];
  return [...writing, ...failing.flat().map(lost)];
}

function failureAt(actor: Actor, count: number, { outgoing }: Layout): Turn {
  const { stage } = actor;
  const isAsking = stage.type === 'wait.human';
  const edges = outgoing.get(stage.id) ?? [];
  const end = isAsking ? refusalOf(stage) : failureOf(stage.id);
  return {
    actor,
    ends: Array.from({ length: Math.min(count, failuresMax) }, () => end),
    after: isAsking ? edges.map((edge) => answerFor(stage, edge, edges)) : [success],
  };
}

/** Branches that fail together: the first ones, ever twice as many; all; and where there are few, all but one. */
function setsOf<B>(branches: readonly B[]): readonly (readonly B[])[] {
  const sets: (readonly B[])[] = [];
  for (let count = 1; count < branches.length; count *= 2) sets.push(branches.slice(0, count));
  if (branches.length > 0) sets.push(branches);
  if (branches.length <= fewBranches) for (const one of branches) sets.push(branches.filter((other) => other !== one));
  return sets.filter(({ length }) => length > 0);
}

function namesOf(branches: readonly (readonly Actor[])[]): string {
  return branches.flatMap((branch) => branch.map(({ stage }) => stage.id)).join(', ');
}

function captionOf({ attributes }: PipelineEdge): string {
  const text = attributes.text('condition') || attributes.text('label');
  return text === '' ? '' : ` [${text}]`;
}
