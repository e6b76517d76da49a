/**
 * Compiles a pipeline to a graph with one node for each stage. Routing is `first`; all edges of a stage share one choice, and jumps are
 * edges.
 */
import { compileGraph } from '../../../graph/compile/compile-graph.ts';
import {
  END,
  START,
  type Choice,
  type EdgeDefinition,
  type Graph,
  type GraphDefinition,
  type NodeDefinition,
} from '../../../graph/graph.ts';
import type { EffectClass } from '../../../graph/contracts/node-contract.ts';
import type { Need } from '../../../graph/contracts/node-type.ts';
import type { TextWorkflow } from '../../text-workflow.ts';
import {
  alongEdges,
  gateTargets,
  jumpsMaxOf,
  outcomesRead,
  reach,
  retryTargets,
  type Branches,
  type Layout,
} from '../model/layout.ts';
import { parseCondition } from '../model/edge-condition.ts';
import { folderOf, type Pipeline, type PipelineEdge, type Stage, type Around, kindOf } from '../model/pipeline.ts';
import {
  beginningOf,
  conditionalHandler,
  exitImplementation,
  startHandler,
  type PipelineResult,
  restartId,
  restartsImplementation,
} from '../run/handlers/ends.ts';
import {
  deadEndLabel,
  endLabel,
  jumpLabel,
  wayLabel,
  type Way,
  type Ways,
  exitChoice,
} from '../run/stage/choose-edge.ts';
import { childHandler } from '../run/handlers/child.ts';
import { parallelHandler } from '../run/handlers/parallel.ts';
import { needsApproval } from '../run/stage/approval.ts';
import { routeOf, stageImplementation } from '../run/stage/stage-node.ts';
import type { StageHandler, StageParts } from '../run/stage/attempts.ts';
import { isStatus } from '../run/stage/stage-outcome.ts';
import { expand } from '../run/context/context-reader.ts';
import type { RunTitle } from '../../../graph/run-title.ts';
import { budgetPolicies, limitNames, retryOf, promptScopes, webhooksOf } from './stage-policy.ts';

/** What a pipeline is compiled with. */
export interface Compiling {
  readonly pipeline: Pipeline;
  readonly layout: Layout;
  /** Finds a stage's handler, among those of the language and of the user. */
  readonly handlerOf: (stage: Stage) => StageHandler | undefined;
  /** Types whose handlers are the language's own. */
  readonly builtIn: ReadonlySet<string>;
  readonly withheld: ((need: Need) => string | undefined) | undefined;
  readonly watchBegin: StageParts['watchBegin'];
  readonly watch: StageParts['watch'];
  /** The pipelines that stages run, by stage. */
  readonly children: ReadonlyMap<string, TextWorkflow>;
  readonly around: Pick<Around, 'folder' | 'isSteered' | 'isCalled'>;
  readonly placeOf: (at: number) => string;
}

/** The node whose output is the result of the run. */
const outputsId = 'outputs';
const restartsMaxDefault = 5;
/** Attributes of a stage that name another. */
const targetAttributes: readonly string[] = ['retry_target', 'fallback_retry_target'];
const reducers = {
  'diagnostics.history': 'append',
  'diagnostics.failures': 'append',
  'diagnostics.conversation': 'append',
} as const;

/** A compiled pipeline. */
export interface CompiledPipeline {
  readonly graph: Graph;
  /** The graph that contains the stages: `graph` itself, or the one that `graph` runs again for each restart. */
  readonly body: Graph;
}

/** @throws GRAPH_INVALID */
export function compilePipeline(
  compiling: Compiling,
  more: Pick<GraphDefinition, 'schemas' | 'text'>,
): CompiledPipeline {
  const { pipeline, layout } = compiling;
  const restarts = pipeline.edges.filter(
    ({ from, attributes }) => attributes.flag('loop_restart') && layout.main.has(from),
  );
  const targets = [...new Set(restarts.map(({ to }) => to))];
  if (targets.length > 0) return compileRestarts(compiling, more, targets);
  const graph = compileGraph({ ...more, webhooks: webhooksOf(pipeline), ...bodyOf(compiling, []) });
  return { graph, body: graph };
}

/** The attribute of the graph that says how often each stage may be visited. */
const graphVisits = 'max_node_visits';

/** The ids under which runs have stages on record, by those that the file has for them now (G15). */
type RecordedIds = ReadonlyMap<string, string>;

function recordedIds({ stages }: Pipeline, members: Iterable<string>): RecordedIds {
  const named = [...members].flatMap((id) => {
    const from = stages.get(id)?.attributes.text('renamed_from') ?? '';
    return from === '' ? [] : [[id, from] as const];
  });
  return new Map(named);
}

/** What a graph is told of renames: stages, and where it restarts at one. */
function renamedPart(
  ids: RecordedIds,
  targets: readonly string[],
  branches: RecordedIds,
): Pick<GraphDefinition, 'renamed'> {
  const marks = targets.flatMap((to) => (ids.has(to) ? [[restartId(to), restartId(ids.get(to) ?? '')] as const] : []));
  const renamed = Object.fromEntries([...ids, ...marks, ...branches]);
  return Object.keys(renamed).length === 0 ? {} : { renamed };
}

/** How often each stage may be visited, in the run itself and in each branch. */
function visitsOf({ attributes }: Pipeline): { readonly maxVisits?: number } {
  const visits = attributes.integer(graphVisits);
  return visits === undefined ? {} : { maxVisits: visits };
}

/** What a run may spend, and how long it may take. */
function runPolicies(pipeline: Pipeline): NonNullable<GraphDefinition['policies']> {
  const timeLimit = pipeline.attributes.durationMs('time_limit');
  const limit = limitNames(pipeline);
  const title = titleIn(pipeline);
  return {
    ...budgetPolicies(pipeline),
    ...(timeLimit !== undefined && { timeLimit }),
    ...(limit && { limit }),
    ...(title && { title }),
  };
}

/** What makes the titles of runs: a text with `$goal` and parameters, as in prompts. */
function titleIn(pipeline: Pipeline): RunTitle | undefined {
  const text = pipeline.attributes.text('title');
  if (text === '') return undefined;
  const names = ['goal', ...pipeline.params.map(({ name }) => name)];
  return ({ input }) => expand(text, { scratch: beginningOf(pipeline, input), input }, names);
}

/** @param targets - stages at which an edge restarts the pipeline */
function bodyOf(compiling: Compiling, targets: readonly string[]): GraphDefinition {
  const { pipeline, layout } = compiling;
  const parts = new GraphParts(compiling, layout.main, undefined);
  for (const id of layout.main) {
    const stage = pipeline.stages.get(id);
    if (stage !== undefined) parts.add(stage);
  }
  const idle = { run: () => true, codeText: 'restart' };
  const marks = targets.map((target): NodeDefinition => ({
    id: restartId(target),
    type: 'restart',
    effect: 'pure',
    implementation: idle,
  }));
  return {
    id: pipeline.name,
    nodes: [...parts.nodes, ...marks, outputsNode(layout.exit?.id ?? '')],
    edges: [
      { from: START, to: layout.start?.id ?? '' },
      // Restarted runs are entered at these edges. A run that begins at the start never takes them.
      ...targets.map((to) => ({ from: START, to, weight: -1 })),
      ...parts.edges,
      ...marks.map(({ id }) => ({ from: id, to: END })),
      { from: outputsId, to: END },
    ],
    reducers,
    result: outputsId,
    ...renamedPart(parts.recorded, targets, parts.branchNames),
    policies: {
      routing: 'first',
      ...visitsOf(pipeline),
      // Of a pipeline that restarts, the bounds are those of all its runs together.
      ...(targets.length === 0 && runPolicies(pipeline)),
      ...(layout.beside.onCancel !== undefined && { onCancel: layout.beside.onCancel }),
      ...(layout.beside.onRunFailure !== undefined && { onRunFailure: layout.beside.onRunFailure }),
    },
  };
}

/** A graph of one node, which runs the pipeline as a child run, and again for each restart. */
function compileRestarts(
  compiling: Compiling,
  more: Pick<GraphDefinition, 'schemas' | 'text'>,
  targets: readonly string[],
): CompiledPipeline {
  const { pipeline } = compiling;
  const body = compileGraph({ ...bodyOf(compiling, targets), id: `${pipeline.name}/body` });
  const restartsMax = pipeline.attributes.integer('max_restarts') ?? restartsMaxDefault;
  const implementation = restartsImplementation({
    body,
    targets,
    restartsMax,
    beginning: (input) => beginningOf(pipeline, input),
  });
  const graph = compileGraph({
    ...more,
    id: pipeline.name,
    result: outputsId,
    policies: runPolicies(pipeline),
    webhooks: webhooksOf(pipeline),
    nodes: [
      { id: outputsId, type: 'restarts', effect: 'read', config: { restartsMax }, subgraph: body, implementation },
    ],
    edges: [
      { from: START, to: outputsId },
      { from: outputsId, to: END },
    ],
  });
  return { graph, body };
}

function outputsNode(exit: string): NodeDefinition {
  return {
    id: outputsId,
    type: 'result',
    effect: 'pure',
    implementation: {
      run: ({ state }) => (state.outputs[exit] as { readonly result?: PipelineResult } | undefined)?.result ?? null,
      codeText: outputsId,
    },
  };
}

/** What the function of a stage does, in its step or in the calls of its agent. */
export function effectInside(stage: Stage, handler: StageHandler | undefined): EffectClass {
  return handler?.effect ?? (kindOf(stage) === 'codergen.agent' ? 'external' : 'pure');
}

/** Nodes and edges of one graph: of the run itself, or of the branches of a parallel stage. */
class GraphParts {
  readonly nodes: NodeDefinition[] = [];
  readonly edges: EdgeDefinition[] = [];
  readonly recorded: RecordedIds;
  /** Recorded names of the child runs of parallel stages, which are those of the branches' first stages. */
  readonly branchNames: Map<string, string> = new Map();
  readonly #recordedStages: RecordedIds;
  readonly #compiling: Compiling;
  readonly #members: ReadonlySet<string>;
  readonly #join: string | undefined;
  /** Edges with attributes about how much of the run a prompt contains (fidelity, thread), by the stage they lead to. */
  readonly #scopeEdges: ReadonlyMap<string, readonly PipelineEdge[]>;

  /** @param join - stage where the branches end. Undefined means that this is the graph of the run itself. */
  constructor(compiling: Compiling, members: ReadonlySet<string>, join: string | undefined) {
    this.#compiling = compiling;
    this.#members = members;
    this.#join = join;
    this.recorded = recordedIds(compiling.pipeline, members);
    this.#recordedStages = recordedIds(compiling.pipeline, compiling.pipeline.stages.keys());
    const named = compiling.pipeline.edges.filter(
      ({ attributes }) => attributes.has('fidelity') || attributes.has('thread_id'),
    );
    this.#scopeEdges = Map.groupBy(named, ({ to }) => to);
  }

  add(stage: Stage): void {
    const { pipeline, layout, around } = this.#compiling;
    if (stage.id === layout.exit?.id) this.#addExit(stage);
    else {
      const branches = layout.branches.get(stage.id);
      const edges = layout.outgoing.get(stage.id) ?? [];
      const jumps = retryTargets(stage).filter((target) => this.#members.has(target));
      const ways: Ways = {
        edges: branches === undefined ? edges.map((edge) => this.#way(edge)) : [this.#joinWay(branches)],
        ...questionWays(stage),
      };
      const outcomes = outcomesRead(layout, pipeline, stage.id);
      const parts: StageParts = {
        stage,
        pipelineName: pipeline.name,
        graph: pipeline.attributes,
        params: ['goal', ...pipeline.params.map(({ name }) => name)],
        ways,
        jumps,
        outcomes,
        ownOutcomes: new Set([...outcomes].filter((name) => !isStatus(name))),
        jumpsMax: this.#jumpsMax,
        retry: retryOf(stage, pipeline),
        timeoutMs: stage.attributes.durationMs('timeout'),
        limit: limitNames(stage),
        promptScopeOf: promptScopes(pipeline, stage, this.#scopeEdges.get(stage.id) ?? []),
        withheld: this.#compiling.withheld,
        watchBegin: this.#compiling.watchBegin,
        watch: this.#compiling.watch,
        folder: folderOf(stage, around.folder),
        isSteered: around.isSteered,
        isCalled: around.isCalled,
      };
      this.nodes.push(this.#node(stage, parts, branches));
      if (!Object.values(layout.beside).includes(stage.id)) this.#connect(parts, branches === undefined ? edges : []);
    }
  }

  #recordedId(id: string): string {
    return this.#recordedStages.get(id) ?? id;
  }

  get #jumpsMax(): number {
    return jumpsMaxOf(this.#compiling.pipeline);
  }

  #node(stage: Stage, parts: StageParts, branches: Branches | undefined): NodeDefinition {
    const { handlerOf, builtIn, placeOf } = this.#compiling;
    const graph = branches === undefined ? this.#compiling.children.get(stage.id)?.graph : this.#branchGraph(branches);
    const handler = this.#handlerOf(stage, graph, branches);
    const visits = stage.attributes.integer('max_visits');
    return {
      id: stage.id,
      type: stage.type,
      config: { attributes: this.#recordedAttributes(stage) },
      effect: stage.type === 'wait.human' || needsApproval(stage) ? 'human' : graph === undefined ? 'pure' : 'read',
      implementation: {
        ...stageImplementation(handler, parts, {
          isBuiltIn:
            (builtIn.has(stage.type) && handlerOf(stage) === handler) || graph !== undefined || stage.type === 'start',
        }),
        inside: [{ effect: effectInside(stage, handler) }],
      },
      place: placeOf(stage.at),
      ...(graph !== undefined && { subgraph: graph }),
      ...budgetPolicies(stage),
      ...(visits !== undefined && { maxVisits: visits }),
      maxVisitsName: visits === undefined ? graphVisits : 'max_visits',
    };
  }

  /** The attributes as they are hashed. */
  #recordedAttributes({ attributes }: Stage): Readonly<Record<string, unknown>> {
    const hashed = attributes.entries().filter(([name]) => name !== 'class' && name !== 'renamed_from');
    return Object.fromEntries(
      hashed.map(([name, value]) => [name, targetAttributes.includes(name) ? this.#recordedId(value) : value]),
    );
  }

  #handlerOf(stage: Stage, graph: Graph | undefined, branches: Branches | undefined): StageHandler {
    const { handlerOf, pipeline, layout } = this.#compiling;
    if (graph !== undefined && branches !== undefined) {
      for (const entry of branches.entries)
        if (this.#recordedStages.has(entry)) this.branchNames.set(`${stage.id}/${entry}`, this.#recordedId(entry));
      return parallelHandler({
        ...branches,
        graph,
        edges: new Map((layout.outgoing.get(stage.id) ?? []).map(({ to, index }) => [to, wayLabel(index)])),
        gates: layout.gates.map(({ id }) => id).filter((id) => branches.stages.has(id)),
        recordedId: this.#recordedId(stage.id),
      });
    }
    if (stage.type === 'start') return startHandler(pipeline);
    const child = this.#compiling.children.get(stage.id);
    if (child !== undefined) return childHandler(child);
    return handlerOf(stage) ?? conditionalHandler;
  }

  /** One graph for all branches. Each branch is a child run that enters it at the branch's first stage. */
  #branchGraph({ parallel, entries, join, stages }: Branches): Graph {
    const { pipeline, layout } = this.#compiling;
    const begin = entries.filter((entry) => entry !== join);
    const follow = alongEdges(layout.outgoing);
    const members = reach(begin, (id, go) => {
      const within = (to: string): void => {
        if (stages.has(to)) go(to);
      };
      const stage = pipeline.stages.get(id);
      const inner = layout.branches.get(id);
      if (inner === undefined) follow(id, within);
      else within(inner.join);
      if (stage !== undefined) for (const target of retryTargets(stage)) within(target);
    });
    const parts = new GraphParts(this.#compiling, members, join);
    for (const id of members) {
      const stage = pipeline.stages.get(id);
      if (stage !== undefined) parts.add(stage);
    }
    return compileGraph({
      id: `${pipeline.name}/${this.#recordedId(parallel)}`,
      nodes: parts.nodes,
      edges: [...begin.map((to) => ({ from: START, to })), ...parts.edges],
      reducers,
      ...renamedPart(parts.recorded, [], parts.branchNames),
      policies: { routing: 'first', ...visitsOf(pipeline) },
    });
  }

  #way({ index, to, attributes }: PipelineEdge): Way {
    const target = this.#compiling.pipeline.stages.get(to);
    return {
      label: wayLabel(index),
      to,
      caption: attributes.text('label'),
      clauses: parseCondition(attributes.text('condition')).clauses ?? [],
      weight: attributes.integer('weight') ?? 0,
      takesFailures: target?.type === 'conditional',
    };
  }

  #joinWay({ join }: Branches): Way {
    const type = this.#compiling.pipeline.stages.get(join)?.type ?? '';
    const takesFailures = type === 'parallel.fan_in' || type === 'conditional';
    return { label: 'join', to: join, caption: '', clauses: [], weight: 0, takesFailures };
  }

  /** Connects a stage. All its edges share one choice, whose text holds everything that the decision depends on. */
  #connect(parts: StageParts, edges: readonly PipelineEdge[]): void {
    const { stage, ways, jumps } = parts;
    const recordedWays = { ...ways, edges: ways.edges.map((way) => ({ ...way, to: this.#recordedId(way.to) })) };
    const recordedJumps = jumps.map((target) => this.#recordedId(target));
    const choice: Choice = {
      text: JSON.stringify([recordedWays, recordedJumps, parts.jumpsMax]),
      choose: ({ outcome: { output }, state }) => this.#recordedLabel(routeOf(parts, output, state), jumps),
    };
    const { placeOf } = this.#compiling;
    for (const [index, { label, to }] of ways.edges.entries()) {
      const written = edges[index];
      const isRestart = this.#join === undefined && written?.attributes.flag('loop_restart') === true;
      const target = to === this.#join ? END : isRestart ? restartId(to) : to;
      this.edges.push({ from: stage.id, to: target, label, choice, ...(written && { place: placeOf(written.at) }) });
    }
    for (const target of new Set(jumps))
      this.edges.push({ from: stage.id, to: target, label: jumpLabel(this.#recordedId(target)), choice });
    // Without an edge nothing would be chosen, and a run that comes to a dead end would count as completed.
    if (ways.edges.length + jumps.length === 0)
      this.edges.push({ from: stage.id, to: END, label: deadEndLabel, choice });
  }

  /** The label of an edge, with the recorded id of the stage that a jump leads to. */
  #recordedLabel(label: string, targets: readonly string[]): string {
    const target = targets.find((one) => jumpLabel(one) === label);
    return target === undefined ? label : jumpLabel(this.#recordedId(target));
  }

  #addExit(stage: Stage): void {
    const { pipeline, layout, placeOf } = this.#compiling;
    const { gates } = layout;
    const targets = [...new Set(gates.flatMap((gate) => gateTargets(pipeline, gate)))].filter((to) =>
      this.#members.has(to),
    );
    this.nodes.push({
      id: stage.id,
      type: 'exit',
      maxVisitsName: graphVisits,
      config: {
        gates: gates.map((gate) => [
          this.#recordedId(gate.id),
          gateTargets(pipeline, gate).map((target) => this.#recordedId(target)),
        ]),
        jumpsMax: this.#jumpsMax,
      },
      effect: 'pure',
      implementation: exitImplementation({
        id: stage.id,
        pipeline,
        gates,
        jumpsMax: this.#jumpsMax,
        watchBegin: this.#compiling.watchBegin,
        watch: this.#compiling.watch,
      }),
      place: placeOf(stage.at),
    });
    const choice: Choice = {
      text: exitChoice,
      choose: ({ outcome: { output } }) => {
        const { jump } = output as { readonly jump?: string };
        return jump === undefined ? endLabel : this.#recordedLabel(jumpLabel(jump), targets);
      },
    };
    this.edges.push({ from: stage.id, to: outputsId, label: endLabel, choice });
    for (const to of targets) this.edges.push({ from: stage.id, to, label: jumpLabel(this.#recordedId(to)), choice });
  }
}

/** What a question of a stage decides: which edge is taken, or yes and no. */
function questionWays({ type, attributes }: Stage): Pick<Ways, 'isChosen' | 'answers'> {
  if (type !== 'wait.human') return { isChosen: false };
  const form = attributes.text('human.type') || 'multiple_choice';
  const isYesNo = form === 'yes_no' || form === 'confirmation';
  return { isChosen: form === 'multiple_choice', ...(isYesNo && { answers: ['yes', 'no'] }) };
}
