/** Finds scenarios that take edges which earlier ones did not: each changes how stages of an earlier run ended. */
import { gateTargets, jumpsMaxOf, retryTargets, type Layout } from '../model/layout.ts';
import type { Pipeline, PipelineEdge, Stage } from '../model/pipeline.ts';
import type { StageEnding } from '../run/stage/stage-parts.ts';
import { Actors, type Actor } from './actors.ts';
import { answerFor, failureOf, outcomeFor, refusalOf, success } from './guessed-ends.ts';
import type { Scenario, ScriptedEnd } from './scenario.ts';

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
  { scenario: { stages: told }, endings, isNew }: Explored,
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
    ideas.push({ name, stages: turns.reduce(withTurn, told) });
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
function withTurn(told: Scenario['stages'], { actor: { stage, visit }, ends, after }: Turn): Scenario['stages'] {
  const said = told[stage.id] ?? [];
  const rest = Array.from({ length: Math.max(0, visit - said.length) }, () => said.at(-1) ?? success);
  return { ...told, [stage.id]: [...said.slice(0, visit), ...rest, ...ends, ...after] };
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
