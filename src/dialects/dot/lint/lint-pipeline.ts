/** Runs all lint rules on a pipeline. The rules are those of docs/spec/dot.md. */
import { isJoinPolicy, neededBranches, type Stage, kindOf } from '../model/pipeline.ts';
import type { Report } from './report.ts';
import type { Redact } from '../../../state/values/admit.ts';
import { unstoredPart } from '../../../state/secrecy/store-rules.ts';
import type { Graph, GraphNode, Violation } from '../../../graph/graph.ts';
import { readChoice, type Ways } from '../run/stage/choose-edge.ts';
import { lintEdges } from './lint-edges.ts';
import { lintShape } from './lint-shape.ts';
import { lintStages } from './lint-stages.ts';

// Lint rules for counts: none below the smallest that means something, and no join that needs more branches than
// there are.

type Least = readonly (readonly [name: string, least: number])[];

const leastOfGraph: Least = [
  ['default_max_retries', 0],
  ['max_retry_jumps', 0],
  ['max_node_visits', 1],
  ['max_restarts', 0],
];
const leastOfStage: Least = [
  ['max_parallel', 1],
  ['max_visits', 1],
  ['max_retries', 0],
  ['manager.max_cycles', 1],
  ['max_turns', 1],
  ['max_tokens', 1],
];

function lintCounts(report: Report): void {
  const { pipeline } = report;
  lintLeast(report, leastOfGraph, pipeline.attributes, 'the graph');
  for (const stage of pipeline.stages.values()) {
    lintLeast(report, leastOfStage, stage.attributes, stage.id);
    lintJoin(report, stage);
  }
}

function lintLeast({ error }: Report, counts: Least, attributes: Stage['attributes'], owner: string): void {
  for (const [name, least] of counts)
    if ((attributes.integer(name) ?? least) < least)
      error('attribute_value', attributes.placeOf(name), `${name} of ${owner} must be at least ${least}`, 'correct it');
}

function lintJoin({ layout, error }: Report, { id, attributes }: Stage): void {
  const policy = attributes.text('join_policy');
  if (policy === '') return;
  const at = attributes.placeOf('join_policy');
  if (!isJoinPolicy(policy))
    error('attribute_value', at, `join_policy of ${id} is ${policy}`, 'use wait_all, first_success, quorum, or 2_of_n');
  const count = layout.branches.get(id)?.entries.length;
  const needed = count === undefined ? undefined : neededBranches(policy, count);
  if (count === undefined || needed === undefined || (needed > 0 && needed <= count)) return;
  error('attribute_value', at, `${id} needs ${needed} of its ${count} branches`, `need at least 1, at most ${count}`);
}

/** @param redact - what runs do not store. Default: they store all */
export function lintPipeline(report: Report, redact?: Redact): void {
  lintShape(report);
  lintStages(report);
  lintCounts(report);
  lintEdges(report);
  lintTelling(report);
  if (redact !== undefined) lintUnstored(report, redact);
}

// Lint rules for attributes that have an effect only together with others: threads with the fidelity `full`, a
// summary model with summaries, hooks with tools.

function lintTelling({ pipeline, layout, warn }: Report): void {
  const { attributes: graph, stages, edges } = pipeline;
  const general = graph.text('default_fidelity');
  const inert = (at: number, what: string, fix: string): void => warn('inert_attribute', at, what, fix);
  const ofStage = (id: string): string => stages.get(id)?.attributes.text('fidelity') || general;
  const fidelitiesOf = ({ id }: Stage): readonly string[] => [
    ofStage(id),
    ...(layout.incoming.get(id) ?? []).map((edge) => edge.attributes.text('fidelity')),
  ];
  const isUsed = (kind: string): boolean =>
    [...stages.values()].some(
      (stage) => stage.type === 'codergen' && fidelitiesOf(stage).some((fidelity) => fidelity.startsWith(kind)),
    );
  for (const stage of stages.values()) {
    const { id, type, attributes, at } = stage;
    if (type !== 'codergen' || !attributes.has('thread_id') || attributes.placeOf('thread_id') === at) continue;
    if (!fidelitiesOf(stage).includes('full'))
      inert(
        attributes.placeOf('thread_id'),
        `thread_id of ${id} has no effect: it is never told in full`,
        'add fidelity=full',
      );
  }
  for (const { to, attributes } of edges)
    if (attributes.has('thread_id') && (attributes.text('fidelity') || ofStage(to)) !== 'full')
      inert(
        attributes.placeOf('thread_id'),
        `thread_id has no effect: ${to} is not told in full on this way`,
        'add fidelity=full',
      );
  if (graph.has('default_thread') && !isUsed('full'))
    inert(graph.placeOf('default_thread'), 'default_thread has no effect: no stage is told in full', 'take it out');
  if (graph.has('summary_model') && !isUsed('summary:'))
    inert(graph.placeOf('summary_model'), 'summary_model has no effect: no stage is told a summary', 'take it out');
  for (const name of ['tool_hooks.pre', 'tool_hooks.post'])
    if (graph.has(name) && ![...stages.values()].some((stage) => kindOf(stage) === 'codergen.agent'))
      inert(graph.placeOf(name), `${name} has no effect: no stage has tools`, 'take it out');
}

// Refuses to read what a rule of the configuration keeps out of the store: it is not there when a stage reads it
// (V4).

function lintUnstored({ pipeline, conditionOf, error }: Report, redact: Redact): void {
  const refuse = (path: readonly string[], at: number, what: string): void => {
    if (unstoredPart(redact, path) === undefined) return;
    const message = `${what} is kept out of the store by \`redact\` in the configuration, so it cannot be read`;
    error('unstored_value', at, message, 'take it out of `redact.store`, or of the pipeline');
  };
  for (const { name } of pipeline.params)
    refuse(['input', name], pipeline.attributes.placeOf('params'), `the parameter ${name}`);
  for (const edge of pipeline.edges)
    for (const { key } of conditionOf(edge).clauses ?? [])
      refuse(['scratch', key.replace(/^context\./, '')], edge.attributes.placeOf('condition'), key);
}

// Tells which stages decide by the word of a model where the run goes. It is no fault, and so is reported where somebody
// asks for it alone.

/** Most stages that are looked at for one: diamonds behind it, which pass its outcome on. */
const readersMax = 100;

/** One warning for each such stage of a compiled pipeline, in branches too. */
export function lintVerdicts(graph: Graph): readonly Violation[] {
  const found: Violation[] = [];
  for (const node of graph.nodes) {
    if (node.subgraph !== undefined) found.push(...lintVerdicts(node.subgraph));
    const warning = verdictOf(graph, node);
    if (warning !== undefined) found.push(warning);
  }
  return found;
}

function verdictOf(graph: Graph, node: GraphNode): Violation | undefined {
  if (node.type !== 'codergen') return undefined;
  const { id } = node;
  const attributes = (node.config as { readonly attributes?: Readonly<Record<string, unknown>> } | undefined)
    ?.attributes;
  const isSet = (name: string): boolean => String(attributes?.[name]) === 'true';
  const warning = { rule: 'model_verdict', severity: 'warning', place: `node ${id}` } as const;
  const isGate = isSet('goal_gate');
  if (isGate || readsOutcome(graph, node)) {
    const silence = !isGate && isSet('auto_status') ? 'silence is a success' : 'without one it has failed';
    return {
      ...warning,
      message: `the word of a model decides how ${id} ended: its answer ends with an outcome, and ${silence}`,
      fix: 'where a command can tell, let a stage with a tool_command decide',
    };
  }
  const labels = waysOf(node)?.edges.filter(({ caption, clauses }) => caption !== '' && clauses.length === 0) ?? [];
  if (labels.length < 2) return undefined;
  return {
    ...warning,
    message: `the word of a model decides where ${id} leads: without one of its labels the heaviest edge is taken, and the first by name`,
    fix: 'give edges conditions on the outcome, which is asked for once more where it is missing',
  };
}

function readsOutcome(graph: Graph, node: GraphNode): boolean {
  // The set grows during the loop.
  const readers = new Set([node]);
  for (const reader of readers)
    for (const { clauses, takesFailures, to } of waysOf(reader)?.edges ?? []) {
      if (clauses.some(({ key, operator }) => key === 'outcome' && operator !== 'set')) return true;
      const target = graph.nodes[graph.nodeIndex.get(to) ?? -1];
      if (takesFailures && target !== undefined && readers.size < readersMax) readers.add(target);
    }
  return false;
}

function waysOf({ outgoing }: GraphNode): Ways | undefined {
  return readChoice(outgoing[0]?.choice?.text ?? '')?.ways;
}
