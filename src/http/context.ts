/** What operations work with when a caller over HTTP asks for them: graphs by name alone, and nothing of this machine. */
import { openExplainer } from '../app/open-store/open-history.ts';
import { isWorkerDead, createSystemIds } from '../app/process/process-ids.ts';
import type { WorkedGraph } from '../app/worker.ts';
import type { Engine } from '../engine/api.ts';
import { CairnError } from '../errors.ts';
import type { LoadedGraph, WorkContext } from '../operations/contract/operation.ts';
import type { Workflows } from '../operations/contract/workflows.ts';
import type { Caller } from './authorize.ts';

/** An app, with engines for its tenants: `openApp`. */
export interface ServedApp extends WorkContext {
  readonly ofTenant: (tenant: string) => WorkContext;
}

/** Where runs are: an app; or an engine, with the graphs that can be started. */
export interface Served {
  readonly app?: ServedApp;
  /** Default: the engine of the graphs. */
  readonly engine?: Engine;
  readonly graphs?: readonly WorkedGraph[];
}

/** Gives the context of a caller; undefined if the caller's tenant is not served here. */
export type ContextOf = (caller: Caller) => WorkContext | undefined;

const notFound = (name: string, known: readonly string[]): CairnError =>
  new CairnError('WORKFLOW_NOT_FOUND', { name, ...(known.length > 0 && { known: known.join(', ') }) });

const noWorkflows: Workflows = {
  list: () => [],
  broken: () => [],
  get: (name) => {
    throw notFound(name, []);
  },
  readInline: async () => {
    throw new CairnError('PERMISSION_DENIED', { need: 'workflows given as texts' });
  },
  describeText: async () => {
    throw new CairnError('PERMISSION_DENIED', { need: 'workflows given as texts' });
  },
  check: () => {
    throw new CairnError('PERMISSION_DENIED', { need: 'workflows given as texts' });
  },
  convert: async () => {
    throw new CairnError('PERMISSION_DENIED', { need: 'workflows given as texts' });
  },
  format: () => {
    throw new CairnError('PERMISSION_DENIED', { need: 'workflows given as texts' });
  },
  reload: () => ({ total: 0, broken: [] }),
};

/** The context of an engine alone: it knows no graph by itself. */
function contextOfEngine(engine: Engine): WorkContext {
  const { store, blobs, tenant } = engine.ports;
  return {
    tenant,
    store,
    blobs,
    engine,
    ids: createSystemIds(),
    isWorkerDead,
    now: Date.now,
    explainChoice: openExplainer,
    savedSource: (source) => source,
    needsOf: async () => [],
    isModuleNamed: () => false,
    loadGraph: async (name) => {
      throw notFound(name, []);
    },
    loadGraphs: async (name) => {
      throw notFound(name, []);
    },
    loadWorkflow: async (name) => noWorkflows.get(name),
    openWorkflows: async () => noWorkflows,
    findGraph: async ({ graphId, runId }) => {
      throw new CairnError('CONFIG_INVALID', { reason: `the graph ${graphId} of run ${runId} is not known here` });
    },
  };
}

/** Graphs by name: those of the options, then the workflows of the app. Never a file: a caller's name is no path. */
function namedGraphs(
  context: WorkContext,
  graphs: readonly WorkedGraph[],
): Pick<WorkContext, 'loadGraph' | 'loadGraphs' | 'loadWorkflow'> {
  const loadWorkflow: WorkContext['loadWorkflow'] = async (name) => (await context.openWorkflows()).get(name);
  const loadGraph = async (name: string): Promise<LoadedGraph> => {
    const found = graphs.find(({ graph }) => graph.id === name);
    if (found !== undefined) return { graph: found.graph };
    const workflows = await context.openWorkflows();
    const known = [...graphs.map(({ graph }) => graph.id), ...workflows.list().map(({ workflow }) => workflow.name)];
    if (graphs.length > 0 && !workflows.list().some(({ workflow }) => workflow.name === name))
      throw notFound(name, known);
    const { workflow, source } = workflows.get(name);
    return { graph: workflow.graph, source: context.savedSource(source), workflow };
  };
  return { loadWorkflow, loadGraph, loadGraphs: async (name) => [(await loadGraph(name)).graph] };
}

const invalid = (reason: string): CairnError => new CairnError('CONFIG_INVALID', { path: 'createHandler', reason });

/** The engine of what is served. @throws CONFIG_INVALID there is none */
export function servedEngine({ app, engine, graphs = [] }: Served): Engine {
  const own = app?.engine ?? engine ?? graphs[0]?.engine;
  if (own === undefined) throw invalid('give graphs, an engine or an app');
  return own;
}

/**
 * Contexts of callers over what is served. @throws CONFIG_INVALID there is neither an app nor an engine with graphs, or there are graphs of
 * another engine
 */
export function createContexts(served: Served): ContextOf {
  const { app, graphs = [] } = served;
  const own = servedEngine(served);
  if (graphs.some((each) => each.engine !== own))
    throw invalid('the graphs have several engines: share one with compile({ engine: first.engine })');
  const base = app ?? contextOfEngine(own);
  for (const { graph } of graphs) own.know(graph);
  return ({ tenant = base.tenant, kind, principal, scopes, roles = [] }) => {
    // Answers of `person` are those of people.
    if (kind === 'program' && principal === 'person')
      throw new CairnError('CONFIG_INVALID', { path: 'authorize', reason: 'a program cannot be called person' });
    const context = tenant === base.tenant ? base : app?.ofTenant(tenant);
    if (context === undefined) return undefined;
    // Who may not answer answers nothing by a fork or a retry either.
    const mayAnswer = scopes.includes('answer') || scopes.includes('admin');
    const questions = mayAnswer ? (kind === 'program' ? 'approvals' : undefined) : 'all';
    const known = ({ graphId }: { readonly graphId: string }): WorkedGraph | undefined =>
      graphs.find(({ graph }) => graph.id === graphId);
    return {
      ...context,
      actor: principal,
      acting: { door: 'http', roles, ...(kind === 'program' && { as: 'program' as const }) },
      isKnown: (run) => known(run) !== undefined,
      findGraph: async (run) => known(run)?.graph ?? context.findGraph(run),
      ...namedGraphs(context, tenant === base.tenant ? graphs : []),
      ...(questions !== undefined && { reserved: { questions, command: (...words) => `cairn ${words.join(' ')}` } }),
    };
  };
}
