/** Pipelines with a little less in them, for a failure that can be read. */
import { withEach, withoutEach } from '../../support/smallest.ts';
import type { Attributes, EdgePlan, PipelinePlan, StagePlan, TaskEnd } from './pipeline-plan.ts';
import { graphOfPlan } from './run-plan.ts';

/** Whether the pipeline can be read; one with a stage that nothing leads to cannot, for instance. */
export function isReadable(plan: PipelinePlan): boolean {
  const isForked = plan.stages.every(
    ({ id, kind, join }) =>
      kind !== 'parallel' ||
      (plan.stages.some((stage) => stage.id === join) &&
        new Set(plan.edges.flatMap(({ from, to }) => (from === id ? [to] : []))).size > 1),
  );
  try {
    graphOfPlan(plan, { arrive: () => undefined });
    return isForked;
  } catch {
    return false;
  }
}

export function* smallerPlan(plan: PipelinePlan): Generator<PipelinePlan> {
  for (const { id, kind } of plan.stages) if (kind !== 'start' && kind !== 'exit') yield* withoutStage(plan, id);
  for (const children of fewer(plan.children)) if (!isRun(plan, children)) yield { ...plan, children };
  for (const edges of withoutEach(plan.edges)) yield { ...plan, edges };
  // Without the bound on visits, a loop would not end in time; the parameter of a child is its way so far.
  for (const attributes of fewer(plan.attributes, ['max_node_visits', 'params'])) yield { ...plan, attributes };
  for (const stages of withEach(plan.stages, smallerStage)) yield { ...plan, stages };
  for (const edges of withEach(plan.edges, smallerEdge)) yield { ...plan, edges };
  for (const [file, child] of Object.entries(plan.children))
    for (const smaller of smallerPlan(child)) yield { ...plan, children: { ...plan.children, [file]: smaller } };
}

/** Whether a stage runs a pipeline that is not there. */
function isRun({ stages, children: all }: PipelinePlan, children: PipelinePlan['children']): boolean {
  const named = [{ stages }, ...Object.values(all)].flatMap((plan) =>
    plan.stages.flatMap(({ attributes }) => attributes['stack.child_dotfile'] ?? []),
  );
  return named.some((file) => !(String(file) in children));
}

/** Without a stage: alone, with what led to it led on to each of its targets, or with all that only it leads to. */
function* withoutStage(plan: PipelinePlan, id: string): Generator<PipelinePlan> {
  const stages = plan.stages.filter((stage) => stage.id !== id);
  const rest = plan.edges.filter(({ from }) => from !== id);
  const targets = new Set(plan.edges.flatMap(({ from, to }) => (from === id && to !== id ? [to] : [])));
  for (const target of [...targets, stages.find((stage) => stage.id === id)?.join]) {
    if (target === undefined) continue;
    const edges = rest.map((edge) => (edge.to === id ? { ...edge, to: target } : edge));
    yield reached({ ...plan, stages, edges });
  }
}

/** Without the stages that nothing leads to any more. */
function reached(plan: PipelinePlan): PipelinePlan {
  const found = new Set(['start', 'exit']);
  const targets = (attributes: Attributes): readonly string[] =>
    [attributes['retry_target'], attributes['fallback_retry_target']].map(String);
  for (const id of found) {
    const stage = plan.stages.find((one) => one.id === id);
    for (const { from, to } of plan.edges) if (from === id) found.add(to);
    if (stage !== undefined) for (const target of targets(stage.attributes)) found.add(target);
  }
  return {
    ...plan,
    stages: plan.stages.filter(({ id }) => found.has(id)),
    edges: plan.edges.filter(({ from }) => found.has(from)),
  };
}

function* smallerStage(stage: StagePlan): Generator<StagePlan> {
  const { kind, ends = [], attributes, stops = [] } = stage;
  yield* fewer(stage, ['id', 'kind', 'attributes', 'ends', 'join']);
  for (const less of withoutEach(stops)) yield { ...stage, stops: less };
  // Without these, a child that never ends would be looked at for very long, and at the same moments as others.
  const needed = ['stack.child_dotfile', 'manager.poll_interval', 'manager.max_cycles'];
  // Which of branches that run side by side decide the join, the interpreter does not know.
  if ('join_policy' in attributes) needed.push('max_parallel');
  for (const less of fewer(attributes, needed)) yield { ...stage, attributes: less };
  for (const less of withoutEach(ends)) yield { ...stage, ends: less };
  for (const less of withEach(ends, (end) => fewer(end, ['status']))) yield { ...stage, ends: less };
  for (const less of withEach(ends, plainer)) yield { ...stage, ends: less };
  if (kind === 'human' || kind === 'diamond') yield { ...stage, kind: 'task', attributes: {} };
}

function* plainer(end: TaskEnd): Generator<TaskEnd> {
  if (end.status !== 'success') yield { ...end, status: 'success' };
}

function* smallerEdge(edge: EdgePlan): Generator<EdgePlan> {
  for (const clauses of withoutEach(edge.clauses)) yield { ...edge, clauses };
  yield* fewer(edge, ['from', 'to', 'clauses']);
}

/** An object without each of its optional fields in turn. */
function* fewer<Fields extends object>(fields: Fields, needed: readonly string[] = []): Generator<Fields> {
  for (const key of Object.keys(fields)) {
    if (needed.includes(key)) continue;
    const { [key]: _, ...rest } = fields as Record<string, unknown>;
    yield rest as Fields;
  }
}
