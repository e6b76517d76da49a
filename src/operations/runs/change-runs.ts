/** The operation `changeRuns`: cancels, resumes, removes or labels all runs that a filter names, by a run of its own (D51). */
import { CairnError } from '../../errors.ts';
import {
  countRuns,
  fitsQuery,
  listRuns,
  shownStatusOf,
  toListedRun,
  type ListedRun,
  type ListQuery,
} from '../../history/read/list-runs.ts';
import { derivedRunId, experimentGraphId } from '../../history/stored/run-ids.ts';
import { described, listOf, objectOf, text, whole } from '../contract/output-shapes.ts';
import { doorOf } from '../contract/door.ts';
import type { RoutedOperation, WorkContext } from '../contract/operation.ts';
import { type BulkAction, type BulkCounts, bulkGraph, type BulkTarget } from './bulk-run.ts';
import { hasFailedBy, listFailed, type ErrorFilter } from './failed-runs.ts';
import { followRun } from './follow-run.ts';
import { checkChange, labelRun, type LabelChange } from './label-run.ts';
import { listRuns as listing, queryOf, type RunFilter } from './list-runs.ts';

/** Which runs are changed: all that a filter names, or those of the named ones. */
interface Chosen extends RunFilter, ErrorFilter {
  readonly runs?: readonly string[];
}

export interface ChangeRunsInput extends Chosen, LabelChange {
  readonly action: string;
  readonly dryRun?: boolean;
  readonly reason?: string;
  readonly by?: string;
}

export interface ChangeRunsOutput {
  readonly action: string;
  /** How many runs the filter names. */
  readonly count: number;
  /** The newest of them, at most ten. */
  readonly sample: readonly { readonly runId: string; readonly graphId: string; readonly status: string }[];
  /** The run that changes them; absent of a dry run, and if there is nothing to change. */
  readonly runId?: string;
  /** How that run stands. */
  readonly status?: string;
  /** What became of them; absent while it is under way. */
  readonly result?: BulkCounts;
}

/** Labels as they come in. */
interface LabelInput {
  readonly set: LabelChange['set'] | undefined;
  readonly unset: LabelChange['unset'] | undefined;
}

/** The most runs that are changed at once. */
const targetsMax = 100_000;
/** The most runs that are named one by one. */
const namedMax = 1_000;
const sampleMax = 10;

const { status, graph, label, since, until } = listing.input;

export const changeRuns: RoutedOperation<ChangeRunsInput, ChangeRunsOutput, WorkContext> = {
  name: 'change_runs',
  summary: 'cancel, resume, remove or label all runs that a filter names',
  details:
    'What the filter names now is fixed, with the newest checkpoint of each. A run of its own tries each once, unless it has gone on since. Runs of the system itself (schedules, and those of this kind) are left alone, unless their graph is named.',
  input: {
    action: { type: 'text', description: 'what to do', isRequired: true, choices: ['cancel', 'resume', 'rm', 'label'] },
    status,
    graph,
    label,
    since,
    until,
    error: { type: 'text', description: 'only failed runs with this code: NODE_TIMED_OUT' },
    node: { type: 'text', description: 'only failed runs in which this node failed' },
    runs: {
      type: 'texts',
      description: `these runs, by their whole ids, at most ${namedMax}; with a filter, those of them that it names`,
    },
    dryRun: { type: 'flag', description: 'say how many there are, and show some; change nothing' },
    set: { ...labelRun.input.set, description: 'to label: a label and its value: tier=gold' },
    unset: { ...labelRun.input.unset, description: 'to label: the name of a label that goes' },
    reason: { type: 'text', description: 'why, of a cancel' },
    by: { type: 'text', description: 'who changes them, for the record', isActor: true },
  },
  output: 'how many runs it is, some of them, and what became of them',
  outputSchema: objectOf(
    {
      action: described(text, 'what is done'),
      count: described(whole, 'how many runs the filter names'),
      sample: described(listOf(objectOf({ runId: text, graphId: text, status: text })), 'the newest of them'),
    },
    {
      runId: text,
      status: text,
      result: described(
        objectOf({
          done: described(whole, 'those that stand as it was wanted'),
          moved: described(whole, 'those that went on since, and were left alone'),
          failed: described(whole, 'those that could not be changed'),
          failures: described(listOf(objectOf({ runId: text, code: text })), 'the first of these'),
        }),
        'what became of them',
      ),
    },
  ),
  isReadOnly: false,
  scope: 'admin',
  route: 'POST /bulk',
  /** @throws USAGE_INVALID there is neither a filter nor runs, or too many of them, or no label to change */
  async run(context, { action, dryRun = false, reason, by, set, unset, ...filter }) {
    if (Object.values(filter).every((part) => part === undefined))
      throw new CairnError('USAGE_INVALID', {
        reason: 'there is no filter: it would be every run',
        hint: 'Say which runs: --status failed, --graph NAME, --label user=ann, --since 2h, --error CODE.',
      });
    const labels = labelChangeOf(action, { set, unset }, dryRun);
    if (dryRun) return { action, ...(await countAndSample(context, filter)) };
    const targets: BulkTarget[] = [];
    const sample: ChangeRunsOutput['sample'][number][] = [];
    for await (const run of chosen(context, filter)) {
      if (targets.length >= targetsMax)
        throw new CairnError('USAGE_INVALID', {
          reason: `the filter names more than ${targetsMax} runs`,
          hint: 'Narrow it with --since and --until.',
        });
      targets.push([run.runId, run.head]);
      if (sample.length < sampleMax) sample.push(toSample(run));
    }
    const about = { action, count: targets.length, sample };
    if (targets.length === 0) return about;
    const { engine, ids, isDetached = false } = context;
    const who = { ...(by !== undefined && { by }) };
    const door = action === 'label' ? { ...labels, door: doorOf(context) } : {};
    const input = { action: action as BulkAction, targets, ...(reason !== undefined && { reason }), ...who, ...door };
    const handle = await engine.start(bulkGraph(context), input, {
      ...doorOf(context),
      ...who,
      runId: derivedRunId('bulk', ids.createRunId(context.now())),
      origin: 'bulk',
      detach: isDetached,
    });
    if (isDetached) return { ...about, runId: handle.runId, status: 'running' };
    const standing = await followRun(context, handle);
    const result = standing.state.outputs['change'] as BulkCounts | undefined;
    return { ...about, runId: handle.runId, status: standing.status, ...(result && { result }) };
  },
};

/**
 * What becomes of labels. A dry run need not say it yet.
 * @throws USAGE_INVALID labels are to be changed and none is named, or one is named and they are not
 */
function labelChangeOf(action: string, { set, unset }: LabelInput, isDry: boolean): LabelChange {
  const change = { ...(set !== undefined && { set }), ...(unset !== undefined && { unset }) };
  const isNamed = Object.keys(change).length > 0;
  if (isNamed && action !== 'label')
    throw new CairnError('USAGE_INVALID', { reason: `set and unset are for label, not for ${action}` });
  if (action === 'label' && (isNamed || !isDry)) checkChange(change);
  return change;
}

/** The runs of these ids that are there, and that the filter names too. @throws USAGE_INVALID there are too many */
async function* namedRuns(
  context: WorkContext,
  named: readonly string[],
  query: ListQuery,
  failure: ErrorFilter,
): AsyncGenerator<ListedRun> {
  const { store, tenant, isWorkerDead } = context;
  if (named.length > namedMax)
    throw new CairnError('USAGE_INVALID', {
      reason: `there are ${named.length} runs, and at most ${namedMax} are named`,
    });
  for (const runId of new Set(named)) {
    const row = await store.readRun({ tenant, runId });
    if (row === undefined) continue;
    const run = toListedRun(row, isWorkerDead);
    if (fitsQuery(query, run) && (await hasFailedBy(context, runId, failure))) yield run;
  }
}

/** Beginnings of the ids of runs that no filter names, unless it names their graph; the last by no graph but that of experiments. */
const [systemIds, experimentIds] = [
  (['bulk', 'schedule', 'webhook'] as const).map((origin) => derivedRunId(origin, '')),
  [derivedRunId('experiment', '')],
];

/** The runs that a filter names, newest first. */
async function* chosen(
  context: WorkContext,
  { error, node, runs, ...filter }: Chosen,
  pageSize = 200,
): AsyncGenerator<ListedRun> {
  const query = queryOf(filter, context.now());
  const failure = { ...(error !== undefined && { error }), ...(node !== undefined && { node }) };
  if (runs !== undefined) {
    yield* namedRuns(context, runs, query, failure);
    return;
  }
  const isNamed = ({ runId }: ListedRun): boolean =>
    filter.graph !== undefined || !systemIds.some((prefix) => runId.startsWith(prefix));
  if (error === undefined && node === undefined) {
    for await (const run of listRuns(context, query, { pageSize })) if (isNamed(run)) yield run;
  } else for await (const { run } of listFailed(context, query, failure)) if (isNamed(run)) yield run;
}

/** How many runs a filter names, and the newest of them: counted by the store where it can. */
async function countAndSample(
  context: WorkContext,
  filter: Chosen,
): Promise<Pick<ChangeRunsOutput, 'count' | 'sample'>> {
  const except = [
    ...(filter.graph === undefined ? systemIds : []),
    ...(filter.graph === experimentGraphId ? [] : experimentIds),
  ];
  const query = queryOf(filter, context.now());
  const isOfRows = [filter.error, filter.node, filter.runs].every((part) => part === undefined);
  const counted = isOfRows ? await countRuns(context, query, except) : undefined;
  const sample: ListedRun[] = [];
  let seen = 0;
  for await (const run of chosen(context, filter, counted === undefined ? undefined : sampleMax)) {
    seen += 1;
    if (sample.length < sampleMax) sample.push(run);
    if (counted !== undefined && sample.length === sampleMax) break;
  }
  return { count: counted ?? seen, sample: sample.map(toSample) };
}

const toSample = (run: ListedRun): ChangeRunsOutput['sample'][number] => ({
  runId: run.runId,
  graphId: run.graphId,
  status: shownStatusOf(run),
});
