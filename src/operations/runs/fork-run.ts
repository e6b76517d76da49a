/** The operations `fork` and `preview`: make a new run that continues from a checkpoint, or say what it would do. */
import {
  amounts,
  flag,
  listOf,
  objectOf,
  place,
  position,
  standing,
  text,
  texts,
  whole,
} from '../declare/output-shapes.ts';
import type { CheckpointRef, ForkOptions, PreviewRow } from '../../engine/api.ts';
import { previewCost, type PreviewCost } from '../../engine/preview/preview-cost.ts';
import { findForkPoint } from '../../engine/forks/fork-point.ts';
import type { RunRow } from '../../ports/store.ts';
import { resolveReference } from '../../history/read/tag-checkpoint.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import { CairnError } from '../../errors.ts';
import { refuseForkAnswers } from './reserved-answers.ts';
import { followRun } from './follow-run.ts';
import type { FieldsOf, Operation, RunStanding, WorkContext } from '../declare/operation.ts';
import { parsePath } from '../../history/read/state-path.ts';

interface BranchInput {
  /** `RUN@12`, `RUN@tag`, `RUN@head~2`, or a checkpoint's id. */
  readonly checkpoint: string;
  /** Values to set, by dotted path: under `input`, `scratch`, `artifacts` or `diagnostics`, or `outputs.NODE`. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Answers. A key names a wait by its id, the beginning of its id, its node or its name. Texts are read like those of `answer`. */
  readonly answer?: Readonly<Record<string, unknown>>;
  readonly by?: string;
  readonly file?: string;
  readonly export?: string;
  readonly rerunPure?: boolean;
  readonly leaveOutAdded?: boolean;
}

export interface PreviewRunInput extends BranchInput {
  readonly asFork?: boolean;
  readonly retry?: boolean;
}

/** Set where a fork goes on from an earlier checkpoint than was named. */
export interface EarlierPoint {
  /** The checkpoint that was named. */
  readonly insteadOf: CheckpointRef;
  /** What was recorded between the two that the fork has otherwise. */
  readonly because: string;
}

/** The checkpoint is the one that it would go on from. */
export interface PreviewRunOutput extends CheckpointRef {
  readonly earlier?: EarlierPoint;
  readonly rows: readonly PreviewRow[];
  /** The expected cost, as far as it is known. */
  readonly cost: PreviewCost;
}

export interface ForkRunInput extends BranchInput {
  readonly runId?: string;
  readonly run?: boolean;
}

export interface ForkRunOutput {
  /** The new run's first checkpoint. */
  readonly fork: CheckpointRef;
  /** The checkpoint that it goes on from. */
  readonly from: CheckpointRef;
  readonly earlier?: EarlierPoint;
  /** Where the new run stands, if it was advanced. */
  readonly result?: RunStanding;
}

const branchFields: FieldsOf<BranchInput> = {
  checkpoint: {
    type: 'text',
    description: 'the checkpoint: RUN, RUN@12, RUN@tag, RUN@head~2 or its id',
    isRequired: true,
    isPositional: true,
  },
  set: {
    type: 'assignments',
    description: 'change the state: a path under input, scratch, artifacts, diagnostics, or outputs.NODE',
  },
  answer: { type: 'answers', description: 'answer otherwise: a wait, its node or its name, and the answer' },
  by: { type: 'text', description: 'who answers, for the record', isActor: true },
  file: { type: 'text', description: 'go on under the graph of this file', isLocal: true },
  export: { type: 'text', description: 'the name of the export in that module', isLocal: true },
  rerunPure: { type: 'flag', description: 'run pure nodes again even where a recorded outcome could be reused' },
  leaveOutAdded: {
    type: 'flag',
    description: 'go on though effects were added where the fork is past: they never run',
  },
};

async function readBranch(
  { store, tenant, loadGraph }: WorkContext,
  { checkpoint, set = {}, answer, by, file, export: exportName, rerunPure, leaveOutAdded }: BranchInput,
): Promise<{ readonly from: CheckpointRef; readonly origin: RunRow; readonly options: ForkOptions }> {
  const patches = Object.entries(set).map(([path, value]) => ({ path: parsePath(path), value }));
  const { run, seq } = await resolveReference(store, tenant, checkpoint);
  const graph = file === undefined ? undefined : (await loadGraph(file, exportName)).graph;
  return {
    origin: run,
    from: { runId: run.runId, seq },
    options: {
      ...(patches.length > 0 && { set: patches }),
      ...(answer !== undefined && { answers: answer, readsTexts: true }),
      ...(by !== undefined && { by }),
      ...(graph !== undefined && { graph }),
      ...(rerunPure !== undefined && { rerunPure }),
      ...(leaveOutAdded !== undefined && { leaveOutAdded }),
    },
  };
}

/** Where a fork with these changes goes on from. */
async function readPoint(
  { store, blobs }: WorkContext,
  origin: RunRow,
  named: CheckpointRef,
  options: ForkOptions,
): Promise<{ readonly from: CheckpointRef; readonly earlier?: EarlierPoint }> {
  const { from, because } = await findForkPoint({ store, blobs }, origin, named.seq, options);
  if (because === undefined) return { from: named };
  return { from: { ...named, seq: from }, earlier: { insteadOf: named, because } };
}

/** A preview is for looking: it runs no module only because the store names it. @throws CODE_NOT_RUN */
function refuseStoredModule({ isModuleNamed }: WorkContext, run: RunRow, file: string | undefined): void {
  const { text, source } = metaOf(run);
  if (file !== undefined || text !== undefined || source === undefined || isModuleNamed(source)) return;
  throw new CairnError('CODE_NOT_RUN', {
    what: source,
    hint: `Name it if you trust it: --file ${source}. Or name it in the configuration, under modules.`,
  });
}

const earlier = objectOf({ insteadOf: position, because: text });

export const previewRun: Operation<PreviewRunInput, PreviewRunOutput, WorkContext> = {
  name: 'preview',
  summary: 'say what a resume or a fork would restore, replay and run; nothing is run',
  input: {
    ...branchFields,
    asFork: { type: 'flag', description: 'preview a fork even of the newest checkpoint, unchanged' },
    retry: {
      type: 'flag',
      description: 'what a resume with retry would do: try commands again that ended with an exit code',
    },
  },
  output: 'each activation and what would become of it',
  outputSchema: objectOf(
    {
      runId: text,
      seq: whole,
      cost: objectOf({ again: amounts, saved: amounts }),
      rows: listOf(
        objectOf(
          { node: texts, visit: whole, effect: text, prediction: text },
          { because: text, isQueued: flag, cost: amounts, callsOnRecord: whole },
        ),
      ),
    },
    { checkpointId: text, earlier },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'POST /checkpoints/{checkpoint}/preview',
  async run(context, input) {
    const { from, origin, options } = await readBranch(context, input);
    refuseStoredModule(context, origin, input.file);
    const { asFork, retry } = input;
    const more = { ...(asFork !== undefined && { asFork }), ...(retry !== undefined && { retry }) };
    const rows = await context.engine.preview(from, { ...options, ...more });
    const { from: point, ...moved } = await readPoint(context, origin, from, options);
    return { ...point, ...moved, rows, cost: previewCost(rows) };
  },
};

export const forkRun: Operation<ForkRunInput, ForkRunOutput, WorkContext> = {
  name: 'fork',
  summary: 'make a new run that goes on from a checkpoint; the original is untouched',
  input: {
    ...branchFields,
    runId: { type: 'text', description: 'id of the new run' },
    run: { type: 'flag', description: 'run it at once' },
  },
  output: 'the new run',
  outputSchema: objectOf({ fork: place, from: place }, { earlier, result: standing }),
  isReadOnly: false,
  scope: 'fork',
  route: 'POST /checkpoints/{checkpoint}/forks',
  async run(context, input) {
    const { from, origin, options } = await readBranch(context, input);
    const { runId, run = false } = input;
    await refuseForkAnswers(context, {
      run: origin,
      checkpoint: input.checkpoint,
      set: options.set ?? [],
      answers: Object.keys(options.answers ?? {}),
      graph: options.graph,
    });
    const fork = await context.engine.fork(from, { ...options, ...(runId !== undefined && { runId }) });
    const point = await readPoint(context, origin, from, options);
    if (!run) return { fork, ...point };
    const handle = await context.engine.resume(fork.runId, options.graph === undefined ? {} : { graph: options.graph });
    return { fork, ...point, result: await followRun(context, handle, fork.seq) };
  },
};
