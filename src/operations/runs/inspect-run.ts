/** Shows where a run stands, without advancing it. */
import { runField } from '../contract/fields.ts';
import type { AwaitedEffect } from '../../history/read/awaited-effects.ts';
import {
  amounts,
  anything,
  awaitedEffects,
  failure,
  flag,
  labelValues,
  listOf,
  objectOf,
  position,
  progress,
  recordedError,
  state,
  text,
  time,
  described,
  wait,
  whole,
} from '../contract/output-shapes.ts';
import type { RunProgress, RunResult } from '../../engine/api.ts';
import { metaOf } from '../../engine/commands/find-graph.ts';
import { readAnsweredIds } from '../../history/access/read-all.ts';
import { isHeld } from '../../history/access/claim-run.ts';
import { checkpointId } from '../../history/stored/checkpoint.ts';
import { findRunOf } from './find-run.ts';
import { shownStatusOf, toListedRun } from '../../history/read/list-runs.ts';
import type { RoutedOperation, RunStanding, WorkContext } from '../contract/operation.ts';
import { outputsOf } from './run-outputs.ts';
import { readStandingAt } from './standing-at.ts';

export interface InspectRunInput {
  readonly run: string;
}

export interface InspectRunOutput {
  readonly runId: string;
  readonly graphId: string;
  /** `stopped`: the run is recorded as running, but no live worker has it; resume it. `queued`: nobody has taken it up yet. */
  readonly status: RunResult['status'] | 'stopped' | 'queued';
  readonly seq: number;
  /** Id of the newest checkpoint. */
  readonly checkpointId: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly updatedAt: number;
  /** The labels by which it is found. Absent if it has none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Its title, if its graph has one. */
  readonly title?: string;
  /** The file that the run was started from. */
  readonly source?: string;
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** Id of the worker that has claimed the run; absent if none has. */
  readonly claimedBy?: string;
  /** How many workers in a row ended at its newest checkpoint without giving it back. Absent if none did. */
  readonly deaths?: number;
  /** What it waits for that a worker has begun that does not have it any more. Absent if nothing. */
  readonly awaits?: readonly AwaitedEffect[];
  /** Set if the run was restored from a backup and is held until it is released. */
  readonly isHeld?: true;
  /** Whether an answer, a signal or a cancel request waits for the next resume. */
  readonly hasMessages: boolean;
  /** The outputs that the definition declares, or what `returns` made; absent if they are not computed yet or none are declared. */
  readonly outputs?: unknown;
  readonly state: RunStanding['state'];
  /** Without those whose answer waits for the next resume. */
  readonly waits: RunStanding['waits'];
  readonly progress: RunProgress;
  readonly error?: RunStanding['error'];
  readonly failures?: RunStanding['failures'];
  readonly spent: RunStanding['spent'];
  readonly saved: RunStanding['saved'];
}

/** Where a run stands, with its progress: blocks done, and the wave it works on. */
export const inspectRun: RoutedOperation<InspectRunInput, InspectRunOutput, WorkContext> = {
  name: 'get_run',
  summary: 'tell where a run stands',
  details:
    'Nothing is advanced by it. stopped: its process died, and a resume goes on with it. queued: nobody has taken it up yet.',
  input: { run: runField() },
  output: 'where it stands, what came of it, what it waits for',
  outputSchema: objectOf(
    {
      runId: text,
      graphId: text,
      status: text,
      seq: whole,
      checkpointId: text,
      createdAt: time,
      updatedAt: time,
      hasMessages: flag,
      state,
      waits: listOf(wait),
      progress,
      spent: amounts,
      saved: amounts,
    },
    {
      labels: labelValues,
      title: text,
      source: text,
      parent: position,
      claimedBy: text,
      deaths: whole,
      awaits: awaitedEffects,
      isHeld: flag,
      outputs: anything,
      error: recordedError,
      failures: described(listOf(failure), 'why nodes failed, and what failed within them'),
    },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /runs/{run}',
  tool: {},
  async run(context, { run: reference }) {
    const run = await findRunOf(context, reference);
    const { runId, graphId, createdAt, updatedAt, parent, claim, hasMessages } = run;
    const { result, progress, awaits } = await readStandingAt(context, run, run.head);
    const answered = await readAnsweredIds(context.store, run);
    const { source } = metaOf(run);
    const listed = toListedRun(run, context.isWorkerDead);
    const status = shownStatusOf(listed);
    const outputs = await outputsOf(context, run, result);
    return {
      runId,
      graphId,
      status: status === 'stopped' || status === 'queued' ? status : result.status,
      seq: run.head,
      checkpointId: checkpointId(run.key, run.head),
      createdAt,
      updatedAt,
      ...(listed.labels !== undefined && { labels: listed.labels }),
      ...(listed.title !== undefined && { title: listed.title }),
      ...(source !== undefined && { source }),
      ...(parent !== undefined && { parent }),
      ...(isHeld(run) ? { isHeld: true as const } : claim !== undefined && { claimedBy: claim.workerId }),
      ...(run.deaths > 0 && { deaths: run.deaths }),
      ...(awaits.length > 0 && { awaits }),
      hasMessages,
      ...(outputs !== undefined && { outputs }),
      state: result.state,
      waits: result.waits.filter(({ waitId }) => !answered.has(waitId)),
      progress,
      spent: result.spent,
      saved: result.saved,
      ...(result.error !== undefined && { error: result.error }),
      ...(result.failures !== undefined && { failures: result.failures }),
    };
  },
};
