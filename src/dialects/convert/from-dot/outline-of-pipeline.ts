/** Reads a pipeline as an outline. */
import { budgetPolicies, promptScopes } from '../../dot/compile/stage-policy.ts';
import { gateTargets, layOut, type Layout } from '../../dot/model/layout.ts';
import type { Pipeline, Stage } from '../../dot/model/pipeline.ts';
import { readPipeline } from '../../dot/model/read-pipeline.ts';
import { wayLabel } from '../../dot/run/stage/choose-edge.ts';
import { DotFaults } from '../../dot/text/faults.ts';
import { parseDot } from '../../dot/text/parse-dot.ts';
import type { Notes } from '../outline/notes.ts';
import {
  failure,
  finish,
  isStep,
  nextOf,
  type Outline,
  type Step,
  type Target,
  reachableSteps,
} from '../outline/outline.ts';
import { withAnswers } from '../outline/earlier-answers.ts';
import { PipelineWays } from './pipeline-ways.ts';
import type { StageReading } from './stage-reading.ts';
import { retryOfStage, workOfStage } from './stage-work.ts';

/**
 * @param text - of a pipeline that has no errors
 * @param files - texts of the pipelines that it runs, by path
 */
export function outlineOfPipeline(
  text: string,
  { source, files, notes }: Pick<StageReading, 'source' | 'files' | 'notes'>,
): Outline {
  const faults = new DotFaults(text, source);
  const pipeline = readPipeline(parseDot(text, faults), faults);
  const layout = layOut(pipeline);
  const placeOf = (at: number): string => faults.placeOf(at);
  const ways = new PipelineWays({ pipeline, layout, notes, placeOf });
  const reading: StageReading = {
    pipeline,
    layout,
    ways,
    notes,
    source,
    files,
    placeOf,
    fidelityOf: (stage) => fidelityOf(pipeline, layout, stage),
  };
  const steps = new Map<string, Step>();
  const first = layout.start === undefined ? failure : ways.leave(layout.start, { outcome: 'success' });
  const open: Target[] = [first];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (!isStep(id) || steps.has(id)) continue;
    const question = ways.questions.get(id);
    const stage = pipeline.stages.get(id);
    const step = question ?? (stage && gated(stepOf(stage, reading), stage, reading));
    if (step === undefined) continue;
    steps.set(id, step);
    open.push(...nextOf(step));
  }
  noteGraph(pipeline, notes, placeOf);
  noteOmitted(pipeline, steps, { notes, placeOf });
  const reached = reachableSteps({ first, steps: [...steps.values()] });
  return {
    name: pipeline.name,
    description: pipeline.attributes.text('label') || undefined,
    inputs: [
      ...(namesGoal(pipeline, reached) ? [{ name: 'goal', default: pipeline.attributes.text('goal') }] : []),
      ...pipeline.params.map((param) => ({ name: param.name, default: param.default })),
    ],
    budget: budgetPolicies(pipeline),
    first,
    steps: withAnswers(reached, (id) => isReported(pipeline, layout, id)),
  };
}

/** Whether a run's goal makes a difference: it has one, or something speaks of one. */
function namesGoal({ attributes }: Pipeline, steps: readonly Step[]): boolean {
  return attributes.text('goal') !== '' || steps.some(({ work }) => /\bgoal\b/.test(JSON.stringify(work)));
}

function stepOf(stage: Stage, reading: StageReading): Step {
  const { pipeline, notes, placeOf } = reading;
  const renamedFrom = stage.attributes.text('renamed_from');
  for (const name of ['approval', 'limit'])
    if (stage.attributes.has(name))
      notes.lost(
        'SETTING',
        placeOf(stage.attributes.placeOf(name)),
        `${name} of ${stage.id} does not carry over`,
        `write ${name} at the block`,
      );
  return {
    id: stage.id,
    ...(renamedFrom !== '' && { renamedFrom }),
    title: stage.type === 'wait.human' ? undefined : stage.attributes.text('label') || undefined,
    place: placeOf(stage.at),
    retry: retryOfStage(stage, pipeline),
    budget: budgetPolicies(stage),
    ...workOfStage(stage, reading),
  };
}

/** Whether the prompt of a stage contains what the run did before it. */
function isReported(pipeline: Pipeline, layout: Layout, id: string): boolean {
  const stage = pipeline.stages.get(id);
  return stage !== undefined && fidelityOf(pipeline, layout, stage) !== 'truncate';
}

/** A goal gate that fails where the run would end does not let it: it goes back, or the run fails. */
function gated(step: Step, stage: Stage, { pipeline, notes, placeOf }: StageReading): Step {
  if (!stage.attributes.flag('goal_gate')) return step;
  const back = gateTargets(pipeline, stage).find((target) => pipeline.stages.has(target)) ?? failure;
  const ends = step.ends.map((end) => (end.on === 'fail' && end.to === finish ? { ...end, to: back } : end));
  if (ends.some(({ on, to }) => on === 'fail' && isStep(to) && to !== back))
    notes.lost(
      'GATE',
      placeOf(stage.attributes.placeOf('goal_gate')),
      `the run may end although the gate ${stage.id} failed, where its failure leads on`,
      `let what must not happen then depend on blocks.${stage.id}.succeeded`,
    );
  return { ...step, ends };
}

/** How much of the run a prompt contains: the most that the stage or any edge to it says. */
function fidelityOf(pipeline: Pipeline, { incoming }: Layout, stage: Stage): string {
  const edges = incoming.get(stage.id) ?? [];
  const promptScopeOf = promptScopes(pipeline, stage, edges);
  const fidelities = edges.map(({ index }) => promptScopeOf(wayLabel(index)).fidelity);
  return fidelities.find((fidelity) => fidelity !== 'truncate') ?? fidelities[0] ?? promptScopeOf(undefined).fidelity;
}

/** Attributes that only a pipeline has and that nothing else here speaks of. */
const lostOfGraph = [
  'tool_hooks.pre',
  'tool_hooks.post',
  'resume_fidelity',
  'max_node_visits',
  'max_retry_jumps',
  'max_restarts',
];
const lostOfStages = [
  'tool_hooks.pre',
  'tool_hooks.post',
  'max_visits',
  'max_parallel',
  'auto_status',
  'allow_partial',
];

/** Stages that stand for ways, and do nothing themselves. */
const typesOfWays = ['start', 'exit', 'conditional', 'parallel.fan_in'];

/**
 * Names the stages to which no end leads that is known here: one that edges before it always win against, one that a goal gate jumps to, or
 * that a label leads to which a command reports. What is lost by that is reported of the gate and of the command.
 */
function noteOmitted(
  pipeline: Pipeline,
  steps: ReadonlyMap<string, Step>,
  { notes, placeOf }: Pick<StageReading, 'notes' | 'placeOf'>,
): void {
  for (const { id, type, at } of pipeline.stages.values()) {
    if (steps.has(id) || typesOfWays.includes(type)) continue;
    const message = `${id} is left out: nothing that a step comes to leads to it here`;
    notes.changed('WORK', placeOf(at), message, 'lead to it by an edge that a fail, a success or a choice takes');
  }
}

function noteGraph(pipeline: Pipeline, notes: Notes, placeOf: (at: number) => string): void {
  notes.changed(
    'OUTPUT',
    placeOf(0),
    'a run gives no result with status, gates and failures',
    'read how the run ended, and how its blocks did',
  );
  for (const name of lostOfGraph.filter((one) => pipeline.attributes.has(one)))
    notes.lost('SETTING', placeOf(pipeline.attributes.placeOf(name)), `${name} has no counterpart`, 'take it out');
  for (const stage of pipeline.stages.values())
    for (const name of lostOfStages.filter((one) => stage.attributes.has(one)))
      notes.lost(
        'SETTING',
        placeOf(stage.attributes.placeOf(name)),
        `${name} of ${stage.id} has no counterpart`,
        'take it out',
      );
  for (const edge of pipeline.edges)
    if (edge.attributes.flag('loop_restart'))
      notes.lost(
        'LOOP',
        placeOf(edge.at),
        `the edge from ${edge.from} to ${edge.to} restarts the pipeline; here it goes on`,
        'run the workflow again in its place',
      );
}
