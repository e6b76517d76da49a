/** Lint rules for the whole pipeline: one start, one exit, reachable stages, where branches end, and the ways back from goal gates. */
import { gateTargets, reach, retryTargets } from '../model/layout.ts';
import type { Stage } from '../model/pipeline.ts';
import type { Report } from './report.ts';

/** Most stages visited in the search for ways back to gates. Beyond this a way is assumed to exist. */
const stepsMax = 1_000_000;

export function lintShape(report: Report): void {
  lintEnds(report);
  lintBeside(report);
  lintReach(report);
  lintBranches(report);
  lintFanIns(report);
  lintTargets(report);
}

function lintEnds({ pipeline, layout, error }: Report): void {
  const all = [...pipeline.stages.values()];
  const ends = [
    ['start_node', 'start', 'Mdiamond', 'begin'],
    ['terminal_node', 'exit', 'Msquare', 'end'],
  ] as const;
  for (const [rule, type, shape, verb] of ends) {
    const [first, ...others] = all.filter((stage) => stage.type === type);
    if (first === undefined)
      error(rule, 0, `there is no ${type} stage: nothing says where runs ${verb}`, `add \`${type} [shape=${shape}]\``);
    for (const { id, at } of others)
      error(rule, at, `${id} is a second ${type} stage`, `keep one stage of shape ${shape}`);
  }
  const { start, exit } = layout;
  for (const { to, from, at } of pipeline.edges) {
    if (to === start?.id)
      error('start_no_incoming', at, `${from} leads back to the start`, 'lead it to the stage after');
    if (from === exit?.id) error('exit_no_outgoing', at, `the exit leads on to ${to}`, 'take the edge out');
  }
}

/** What follows a cancel or the failure of the run: a stage of its own, which no edge touches. */
function lintBeside(report: Report): void {
  const { onCancel, onRunFailure } = report.layout.beside;
  lintFollowUp(report, 'on_cancel', onCancel, 'a cancel');
  lintFollowUp(report, 'on_run_failure', onRunFailure, 'the failure of the run');
}

function lintFollowUp(
  { pipeline: { attributes, edges }, error }: Report,
  rule: 'on_cancel' | 'on_run_failure',
  stage: string | undefined,
  what: string,
): void {
  if (!attributes.has(rule)) return;
  const at = attributes.placeOf(rule);
  if (stage === undefined) return error(rule, at, `there is no stage ${attributes.text(rule)}`, 'name a stage');
  for (const edge of edges)
    if (edge.from === stage || edge.to === stage)
      error(rule, edge.at, `an edge leads to or from ${stage}, which follows ${what}`, 'take the edge out');
  if (edges.some((edge) => edge.attributes.flag('loop_restart')))
    error(rule, at, `a pipeline that restarts cannot name what follows ${what}`, 'run it as a child of one that does');
}

function lintReach({ pipeline, layout, error, warn }: Report): void {
  const { start, exit, reachable, outgoing, incoming, beside } = layout;
  if (start !== undefined)
    for (const { id, at } of pipeline.stages.values())
      if (!reachable.has(id))
        error('reachability', at, `nothing leads to ${id}: it never runs`, 'lead an edge to it, or take it out');
  if (exit === undefined) return;
  const jumps = new Map<string, string[]>();
  for (const stage of pipeline.stages.values())
    for (const target of retryTargets(stage)) {
      const known = jumps.get(target);
      if (known === undefined) jumps.set(target, [stage.id]);
      else known.push(stage.id);
    }
  const leading = reach([exit.id], (id, go) => {
    for (const { from } of incoming.get(id) ?? []) go(from);
    for (const from of jumps.get(id) ?? []) go(from);
  });
  for (const { id, at, type } of pipeline.stages.values()) {
    if (leading.has(id) || type === 'exit' || id === beside.onCancel || id === beside.onRunFailure) continue;
    if ((outgoing.get(id) ?? []).length === 0)
      warn('dead_end', at, `${id} leads nowhere: a run that comes to it fails there`, 'lead it on to the exit');
    else warn('unreachable_terminal', at, `no way leads from ${id} to the exit`, 'lead a way out of the loop');
  }
}

/** A fan-in that no way leads to from where branches have come together has nothing to bring together. */
function lintFanIns({ pipeline, layout, warn }: Report): void {
  const { branches, outgoing } = layout;
  const joins = [...branches.values()].map(({ join }) => join);
  const joined = reach(joins, (id, go) => {
    for (const { to } of outgoing.get(id) ?? []) go(to);
    const stage = pipeline.stages.get(id);
    for (const target of stage === undefined ? [] : retryTargets(stage)) go(target);
  });
  for (const { id, type, at } of pipeline.stages.values())
    if (type === 'parallel.fan_in' && !joined.has(id))
      warn(
        'fan_in_without_branches',
        at,
        `no branches come together at ${id}: it fails`,
        'lead every branch of a component to it, or give it another shape',
      );
}

function lintBranches({ pipeline, layout, error, warn }: Report): void {
  const { branches, start, exit, outgoing } = layout;
  for (const { id, type, at } of pipeline.stages.values()) {
    if (type !== 'parallel') continue;
    const own = branches.get(id);
    if (own === undefined) {
      error(
        'parallel_join',
        at,
        `the branches of ${id} never come together`,
        'lead all of them to one stage of shape tripleoctagon',
      );
      continue;
    }
    if (own.entries.every((entry) => entry === own.join))
      error('parallel_join', at, `${id} leads to ${own.join} alone: it has no branches`, 'lead edges to its branches');
    for (const [outer, kind] of [
      [start?.id, 'the start'],
      [exit?.id, 'the exit'],
      [id, 'the parallel stage itself'],
    ] as const)
      if (outer !== undefined && own.stages.has(outer))
        error(
          'parallel_branch_escapes',
          at,
          `a branch of ${id} leads to ${kind} without passing ${own.join}`,
          `lead it to ${own.join}`,
        );
    for (const inner of own.stages) {
      const stage = pipeline.stages.get(inner);
      for (const edge of outgoing.get(inner) ?? [])
        if (edge.attributes.flag('loop_restart'))
          error(
            'parallel_branch_restart',
            edge.at,
            `a branch of ${id} cannot restart the pipeline`,
            'restart behind its join',
          );
      for (const target of stage === undefined ? [] : retryTargets(stage))
        if (pipeline.stages.has(target) && !own.stages.has(target))
          warn(
            'retry_target_outside',
            stage?.at ?? at,
            `${inner} cannot jump to ${target}, which is outside its branch: the branch fails`,
            'name a stage of the branch',
          );
    }
    for (const edge of outgoing.get(id) ?? [])
      if (edge.attributes.text('condition') !== '')
        warn(
          'inert_attribute',
          edge.attributes.placeOf('condition'),
          `every branch of ${id} is run: the condition is not read`,
          'take it out, or put a diamond into the branch',
        );
  }
}

function lintTargets({ pipeline, layout, warn }: Report): void {
  const named: readonly (Pick<Stage, 'attributes'> & { readonly id?: string })[] = [
    pipeline,
    ...pipeline.stages.values(),
  ];
  for (const { id, attributes } of named)
    for (const attribute of ['retry_target', 'fallback_retry_target']) {
      const target = attributes.text(attribute);
      if (target !== '' && !pipeline.stages.has(target))
        warn(
          'retry_target_exists',
          attributes.placeOf(attribute),
          `${attribute} of ${id ?? 'the graph'} names ${target}, which there is not`,
          'name a stage',
        );
    }
  const leads = leadsIn(layout.outgoing);
  for (const gate of layout.gates) {
    const targets = gateTargets(pipeline, gate).filter((target) => pipeline.stages.has(target));
    if (retryTargets(gate).length === 0)
      warn(
        'goal_gate_has_retry',
        gate.at,
        `the goal gate ${gate.id} names no stage to go back to`,
        'give it a retry_target',
      );
    for (const target of targets)
      if (!leads(target, gate.id))
        warn(
          'gate_without_way_back',
          gate.at,
          `no way leads from ${target} back to the goal gate ${gate.id}: it stays unsatisfied`,
          'go back to a stage before the gate',
        );
  }
}

/**
 * Returns a function that tells whether edges lead from one stage to another. All its searches together visit at most `stepsMax` stages.
 */
function leadsIn(outgoing: Report['layout']['outgoing']): (from: string, to: string) => boolean {
  let steps = 0;
  return (from, to) => {
    const found = new Set([from]);
    // The set grows during the loop, so this is a breadth-first search.
    for (const id of found) {
      if (id === to || steps > stepsMax) return true;
      steps += 1;
      for (const edge of outgoing.get(id) ?? []) found.add(edge.to);
    }
    return false;
  };
}
