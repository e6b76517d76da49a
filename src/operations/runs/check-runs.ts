/** The operation `check`: says what every open run would do under other code, before that is deployed. Nothing is written (X5.4). */
import { exportField } from '../contract/fields.ts';
import { described, flag, keyed, listOf, objectOf, oneOf, text, texts, whole } from '../contract/output-shapes.ts';
import { findingKinds, type FindingKind, type RunCheck, type RunFinding } from '../../engine/run-check.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import { loadState } from '../../history/load/load.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import type { RunRow, StoredStatus } from '../../ports/store.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';
import { findingsShape, maskedFindings } from './findings.ts';

export interface CheckRunsInput {
  readonly file?: string;
  readonly export?: string;
  readonly graph?: string;
  readonly sample?: number;
  readonly failOn?: readonly string[];
  readonly replay?: boolean;
  readonly failed?: boolean;
}

/** Runs of one graph with which the same would happen. */
export interface CheckedGroup {
  readonly graphId: string;
  /** The gravest of the findings; `goes on` if there are none. */
  readonly verdict: FindingKind | 'goes on';
  readonly count: number;
  readonly findings: readonly RunFinding[];
  /** Ids of some of these runs. */
  readonly runs: readonly string[];
}

export interface CheckRunsOutput {
  /** How many runs were checked. */
  readonly count: number;
  /** How many runs each verdict has. */
  readonly verdicts: Readonly<Record<string, number>>;
  /** The gravest first. */
  readonly groups: readonly CheckedGroup[];
  /** By graph, nodes that are taken to be the same by the source of their function alone. */
  readonly sameSource: readonly { readonly graphId: string; readonly nodes: readonly string[] }[];
  /** Open runs of graphs that the file does not have. */
  readonly others: number;
  /** How many of them there are of each graph, by its id. */
  readonly otherGraphs: Readonly<Record<string, number>>;
  /** Runs that were left out of the sample. */
  readonly leftOut: number;
  /** Whether a run has a finding that the check is to fail on. */
  readonly isFailing: boolean;
}

const open: readonly StoredStatus[] = ['running', 'paused', 'cancelling'];
const pageRuns = 200;
/** The most ids told of a group. */
const runsTold = 5;

export const checkRuns: RoutedOperation<CheckRunsInput, CheckRunsOutput, WorkContext> = {
  name: 'check_runs',
  command: 'check',
  summary: 'say what every open run would do under new code, before it is deployed; nothing is run or written',
  details:
    'A run that would not go on under the code bricks; others lose what a removed node recorded, ask a person anew, go on with a changed agent, or repeat a function of other code. Without a file, runs are checked under the code that is known here.',
  input: {
    file: {
      type: 'text',
      description: 'the new code: a module, a workflow, or a folder of workflows',
      isLocal: true,
    },
    export: exportField,
    graph: { type: 'text', description: 'only runs of the graph with this id' },
    sample: { type: 'integer', description: 'at most so many runs of each version of a graph', min: 1 },
    failOn: {
      type: 'texts',
      description: `what fails the check, of ${findingKinds.join(', ')}; separated by commas`,
      default: 'bricks',
    },
    replay: {
      type: 'flag',
      description: 'repeat functions against what is recorded, with every call that is not recorded refused',
      isLocal: true,
    },
    failed: { type: 'flag', description: 'check failed runs too, which a resume would go on with' },
  },
  output: 'what would happen, and to how many runs',
  outputSchema: objectOf({
    count: whole,
    verdicts: described(keyed, 'how many runs each verdict has'),
    groups: described(
      listOf(
        objectOf({
          graphId: text,
          verdict: described(oneOf('goes on', ...findingKinds), 'the gravest of its findings'),
          count: whole,
          findings: findingsShape,
          runs: described(texts, 'ids of some of these runs'),
        }),
      ),
      'runs with which the same would happen',
    ),
    sameSource: listOf(objectOf({ graphId: text, nodes: texts })),
    others: described(whole, 'open runs of other graphs'),
    otherGraphs: described(keyed, 'how many of them there are of each graph'),
    leftOut: described(whole, 'runs that were left out of the sample'),
    isFailing: described(flag, 'whether a run has a finding that the check is to fail on'),
  }),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /check',
  /** @throws USAGE_INVALID, GRAPH_PARSE, GRAPH_INVALID, STORE_* */
  async run(context, input) {
    const failOn = kindsOf(input.failOn ?? ['bricks']);
    const graphs = input.file === undefined ? undefined : await context.loadGraphs(input.file, input.export);
    const tally = new Tally();
    const known = new KnownGraphs(context);
    for await (const run of openRuns(context, input)) {
      const graph = graphs?.find(({ id }) => id === run.graphId);
      if (graphs !== undefined && graph === undefined) {
        if (await hasLostGraph(context, run, input)) tally.add(lostGraph(run, input.file));
        else tally.leave(run);
      } else if (tally.takes(run, input.sample)) tally.add(await checkOne(context, run, graph ?? known, input.replay));
    }
    return tally.output(failOn);
  },
};

function kindsOf(given: readonly string[]): readonly FindingKind[] {
  return given
    .flatMap((one) => one.split(','))
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map((one) => {
      const kind = findingKinds.find((known) => known === one);
      if (kind !== undefined) return kind;
      throw new CairnError('USAGE_INVALID', {
        reason: `a check cannot fail on ${JSON.stringify(one)}`,
        hint: `Give some of: ${findingKinds.join(', ')}.`,
      });
    });
}

async function* openRuns(
  { store, tenant }: WorkContext,
  { graph, failed = false }: CheckRunsInput,
): AsyncGenerator<RunRow> {
  const status = failed ? [...open, 'failed' as const] : open;
  const query = { tenant, status, limit: pageRuns, ...(graph !== undefined && { graphId: graph }) };
  let cursor: string | undefined;
  do {
    const page = await store.listRuns({ ...query, ...(cursor !== undefined && { cursor }) });
    yield* page.rows;
    ({ cursor } = page);
  } while (cursor !== undefined);
}

/** Whether a run goes on with this very file, which has its graph no more: its id is another one now, or it was taken out. */
async function hasLostGraph(
  { store, blobs, savedSource }: WorkContext,
  run: RunRow,
  { file, export: exportName }: CheckRunsInput,
): Promise<boolean> {
  const { text, source } = metaOf(run);
  // One that keeps its text goes on with that.
  if (file === undefined || exportName !== undefined || text !== undefined || source !== savedSource(file))
    return false;
  try {
    const { definition } = (await loadState(store, blobs, run)).root;
    return definition?.source === undefined || definition.source === source;
  } catch (error) {
    if (CairnError.is(error)) return false;
    throw error;
  }
}

function lostGraph({ runId, graphId, graphHash, status }: RunRow, file = ''): RunCheck {
  const why = `${file} has no graph ${graphId} any more, with which the run goes on`;
  return { runId, graphId, graphHash, status, findings: [{ kind: 'bricks', why }], sameSource: [] };
}

async function checkOne(
  context: WorkContext,
  run: RunRow,
  given: Graph | KnownGraphs,
  replay = false,
): Promise<RunCheck> {
  const { runId, graphId, graphHash, status } = run;
  const unknown = (why: string): RunCheck => ({
    runId,
    graphId,
    graphHash,
    status,
    findings: [{ kind: 'bricks', why }],
    sameSource: [],
  });
  try {
    const graph = given instanceof KnownGraphs ? await given.of(run) : given;
    return await context.engine.check(runId, { graph, replay });
  } catch (error) {
    if (CairnError.is(error, 'RUN_NOT_FOUND'))
      return { runId, graphId, graphHash, status, findings: [], sameSource: [] };
    if (CairnError.is(error) && !error.code.startsWith('STORE_'))
      return unknown(`${error.code}: ${error.message.replaceAll(runId, 'RUN')}`);
    throw error;
  }
}

/** The code of runs as it is known here, found once for all runs that have the same. */
class KnownGraphs {
  readonly #context: WorkContext;
  readonly #found = new Map<string, Promise<Graph>>();

  constructor(context: WorkContext) {
    this.#context = context;
  }

  /** A check imports no module only because a run names it. @throws CODE_NOT_RUN, CONFIG_INVALID */
  of(run: RunRow): Promise<Graph> {
    const { isModuleNamed, isKnown, findGraph } = this.#context;
    const { text: kept, source, exportName, isImported, isRestored } = metaOf(run);
    const isNamed = source === undefined || isModuleNamed(source);
    if (kept === undefined && !isNamed && isKnown?.(run) !== true)
      throw new CairnError('CODE_NOT_RUN', { what: source, hint: `Name it if you trust it: --file ${source}.` });
    const key = JSON.stringify([run.graphId, run.graphHash, kept, source, exportName, isImported, isRestored]);
    const graph = this.#found.get(key) ?? findGraph(run);
    this.#found.set(key, graph);
    return graph;
  }
}

class Tally {
  readonly #groups = new Map<string, { readonly check: RunCheck; readonly runs: string[]; count: number }>();
  readonly #taken = new Map<string, number>();
  readonly #sameSource = new Map<string, Set<string>>();
  readonly #others = new Map<string, number>();
  leftOut = 0;

  /** Takes a run that is not checked, since the file does not have its graph. */
  leave({ graphId }: RunRow): void {
    this.#others.set(graphId, (this.#others.get(graphId) ?? 0) + 1);
  }

  /** Whether a run is still wanted of its version of a graph. */
  takes({ graphId, graphHash }: RunRow, sample = Number.POSITIVE_INFINITY): boolean {
    const version = JSON.stringify([graphId, graphHash]);
    const taken = this.#taken.get(version) ?? 0;
    if (taken >= sample) {
      this.leftOut += 1;
      return false;
    }
    this.#taken.set(version, taken + 1);
    return true;
  }

  add(check: RunCheck): void {
    const findings = maskedFindings(check.findings);
    const key = JSON.stringify([check.graphId, findings]);
    const group = this.#groups.get(key) ?? { check: { ...check, findings }, runs: [], count: 0 };
    const same = this.#sameSource.get(check.graphId) ?? new Set();
    this.#sameSource.set(check.graphId, new Set([...same, ...check.sameSource]));
    group.count += 1;
    if (group.runs.length < runsTold) group.runs.push(check.runId);
    this.#groups.set(key, group);
  }

  output(failOn: readonly FindingKind[]): CheckRunsOutput {
    const groups = [...this.#groups.values()]
      .map(({ check: { graphId, findings }, runs, count }) => ({
        graphId,
        verdict: verdictOf(findings),
        count,
        findings,
        runs,
      }))
      .toSorted((a, b) => gravity(a.verdict) - gravity(b.verdict) || b.count - a.count);
    const verdicts: Record<string, number> = {};
    for (const { verdict, count } of groups) verdicts[verdict] = (verdicts[verdict] ?? 0) + count;
    return {
      count: groups.reduce((sum, { count }) => sum + count, 0),
      verdicts,
      groups,
      sameSource: [...this.#sameSource]
        .filter(([, nodes]) => nodes.size > 0)
        .map(([graphId, nodes]) => ({ graphId, nodes: [...nodes].sort() })),
      others: [...this.#others.values()].reduce((sum, count) => sum + count, 0),
      otherGraphs: Object.fromEntries(this.#others),
      leftOut: this.leftOut,
      isFailing: groups.some(({ findings }) => findings.some(({ kind }) => failOn.includes(kind))),
    };
  }
}

function verdictOf(findings: readonly RunFinding[]): CheckedGroup['verdict'] {
  return findingKinds.find((kind) => findings.some((finding) => finding.kind === kind)) ?? 'goes on';
}

function gravity(verdict: CheckedGroup['verdict']): number {
  const index = (findingKinds as readonly string[]).indexOf(verdict);
  return index < 0 ? findingKinds.length : index;
}
