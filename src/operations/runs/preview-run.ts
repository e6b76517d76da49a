/** The operation `preview`: says what a resume or a fork would do. Both may name a preview, and are refused if it says otherwise by now. */
import { checkpointField, exportField } from '../contract/fields.ts';
import { amounts, described, flag, listOf, objectOf, position, text, texts, whole } from '../contract/output-shapes.ts';
import type { CheckpointRef, ForkOptions, PreviewRow } from '../../engine/api.ts';
import type { RunFinding } from '../../engine/run-check.ts';
import { previewCost, type PreviewCost } from '../../engine/preview/preview-cost.ts';
import { findForkPoint } from '../../engine/forks/fork-point.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { Graph } from '../../graph/graph.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { hashValue } from '../../graph/canonical.ts';
import type { RunRow } from '../../ports/store.ts';
import { findCheckpointToChange } from './find-run.ts';
import { findingsShape, maskedFindings } from './findings.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import { parsePath } from '../../history/read/state-path.ts';
import { CairnError } from '../../errors.ts';
import { maskedBySchema } from '../contract/perform.ts';
import { toJson } from '../contract/to-json.ts';
import type { Field, FieldsOf, RoutedOperation, WorkContext } from '../contract/operation.ts';

export interface BranchInput {
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
  readonly noEffects?: boolean;
  readonly liveReads?: boolean;
  readonly runUndeclared?: boolean;
  readonly resample?: boolean;
  /** With `noEffects`: the model that nodes ask in place of their own, by the id of the node. */
  readonly model?: Readonly<Record<string, unknown>>;
}

export interface PreviewRunInput extends BranchInput {
  readonly asFork?: boolean;
  readonly retry?: boolean;
  readonly budget?: Amounts;
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
  /** Of a resume under another graph than the run's, of a file or of today's code: what is removed, added, asked anew or made again, the gravest first, and why. */
  readonly findings?: readonly RunFinding[];
  /** Nodes of which what is on record stands for other code: it is taken to be the same by the source of their function alone. */
  readonly sameSource?: readonly string[];
  /** The expected cost, as far as it is known. */
  readonly cost: PreviewCost;
  /**
   * Names what would be done: two previews with one etag would go the same way. A fork or a resume with it as `expect` is made only
   * if that is still so.
   */
  readonly etag: string;
}

export const branchFields: FieldsOf<BranchInput> = {
  checkpoint: checkpointField(),
  set: {
    type: 'assignments',
    description: 'change the state: a path under input, scratch, artifacts, diagnostics, or outputs.NODE',
  },
  answer: { type: 'answers', description: 'answer otherwise: a wait, its node or its name, and the answer' },
  by: { type: 'text', description: 'who forks and answers, for the record', isActor: true },
  file: { type: 'text', description: 'go on under the graph of this file', isLocal: true },
  export: exportField,
  rerunPure: { type: 'flag', description: 'run pure nodes again even where a recorded outcome could be reused' },
  leaveOutAdded: {
    type: 'flag',
    description: 'go on though effects were added where the fork is past: they never run',
  },
  noEffects: {
    type: 'flag',
    description:
      'make a fork that cannot act: effects and reads come from the record, models are asked, all else is refused',
  },
  liveReads: { type: 'flag', description: 'with noEffects: make reads that the record does not have' },
  runUndeclared: { type: 'flag', description: 'with noEffects: run functions of which nobody declared what they do' },
  resample: { type: 'flag', description: 'with noEffects: ask models anew where an answer is on record' },
  model: { type: 'assignments', description: 'with noEffects: a node, and the model that it asks in place of its own' },
};

/** The models by node. @throws USAGE_INVALID one is no text */
function namesOf(model: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const wrong = Object.keys(model).find((node) => typeof model[node] !== 'string');
  if (wrong !== undefined) throw new CairnError('USAGE_INVALID', { reason: `the model of ${wrong} must be a name` });
  return model as Readonly<Record<string, string>>;
}

/** The rules of a fork that cannot act. @throws USAGE_INVALID one is given for a fork that can */
function rulesOf({ noEffects, liveReads, runUndeclared, resample, model }: BranchInput): Partial<ForkOptions> {
  const rules = {
    ...(liveReads === true && { reads: 'live' as const }),
    ...(runUndeclared === true && { undeclared: 'run' as const }),
    ...(resample === true && { resample: true }),
    ...(model !== undefined && { nodeModels: namesOf(model) }),
  };
  if (noEffects === true) return { effects: 'refuse', ...rules };
  if (Object.keys(rules).length > 0)
    throw new CairnError('USAGE_INVALID', {
      reason: 'liveReads, runUndeclared, resample and model are rules of a fork with noEffects',
    });
  return {};
}

export async function readBranch(
  context: WorkContext,
  { checkpoint, set = {}, answer, by, file, export: exportName, rerunPure, leaveOutAdded, ...more }: BranchInput,
): Promise<{ readonly from: CheckpointRef; readonly origin: RunRow; readonly options: ForkOptions }> {
  const patches = Object.entries(set).map(([path, value]) => ({ path: parsePath(path), value }));
  const { run, seq } = await findCheckpointToChange(context, checkpoint);
  const graph = file === undefined ? undefined : (await context.loadGraph(file, exportName)).graph;
  return {
    origin: run,
    from: { runId: run.runId, seq },
    options: {
      ...(patches.length > 0 && { set: patches }),
      ...(answer !== undefined && { answers: answer, readsTexts: true }),
      ...context.acting,
      ...(by !== undefined && { by }),
      ...(graph !== undefined && { graph }),
      ...(rerunPure !== undefined && { rerunPure }),
      ...rulesOf(more as BranchInput),
      ...(leaveOutAdded !== undefined && { leaveOutAdded }),
    },
  };
}

/** Where a fork with these changes goes on from. */
export async function readPoint(
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
function refuseStoredModule(context: WorkContext, run: RunRow, file: string | undefined): void {
  const { isModuleNamed, isKnown } = context;
  const { text, source } = metaOf(run);
  if (isKnown?.(run) === true) return;
  if (file !== undefined || text !== undefined || source === undefined || isModuleNamed(source)) return;
  throw new CairnError('CODE_NOT_RUN', {
    what: source,
    hint: `Name it if you trust it: --file ${source}. Or name it in the configuration, under modules.`,
  });
}

export const earlier: JsonSchema = objectOf({ insteadOf: position, because: text });

/** A field of operations that do what a preview showed. */
export const expectField: Field = {
  type: 'text',
  description: 'the etag of a preview: do it only if all would still go as it says',
};

/** Works out a preview. @throws CODE_NOT_RUN, USAGE_INVALID, and the errors of the engine's preview */
async function previewOf(context: WorkContext, input: PreviewRunInput): Promise<PreviewRunOutput> {
  const { store, tenant, engine } = context;
  const { from, origin, options } = await readBranch(context, input);
  refuseStoredModule(context, origin, input.file);
  const { asFork = false, retry, budget } = input;
  const isChanged = (options.set ?? options.answers ?? options.effects) !== undefined;
  const isFork = asFork || isChanged || from.seq < origin.head;
  if (isFork && budget !== undefined)
    throw new CairnError('USAGE_INVALID', { reason: 'a budget is of a resume, and this previews a fork' });
  const more = { ...(retry === true && { retry }), ...(budget !== undefined && { budget }) };
  // A resume takes in what was posted and not taken yet; the rows do not tell of it.
  const messages = isFork ? [] : await store.readMessages({ tenant, runId: origin.runId });
  const { graph } = options;
  const today = graph ?? (await context.findGraph(origin));
  const rows = await engine.preview(from, { ...options, ...more, graph: today, asFork: isFork });
  const { from: point, ...moved } = await readPoint(context, origin, from, options);
  const { set = [], answers = {}, rerunPure = false, leaveOutAdded = false } = options;
  const changes = [set, answers, graph?.hash ?? '', rerunPure, leaveOutAdded, rulesOf(input)];
  const posted = messages.map(({ kind, name }) => [kind, name]);
  const etag = hashValue(toJson([isFork, point.runId, point.seq, changes, more, posted, rows])).slice(0, 32);
  const isOther = graph !== undefined || today.hash !== origin.graphHash;
  const differences = isFork || !isOther ? {} : await differencesOf(context, origin, today, leaveOutAdded);
  return { ...point, ...moved, rows, ...differences, cost: previewCost(rows), etag };
}

/** What another graph does to a run that goes on under it. */
async function differencesOf(
  { engine }: WorkContext,
  { runId }: RunRow,
  graph: Graph,
  leaveOutAdded: boolean,
): Promise<Pick<PreviewRunOutput, 'findings' | 'sameSource'>> {
  const { findings, sameSource } = await engine.check(runId, { graph, leaveOutAdded });
  return { findings: maskedFindings(findings), ...(sameSource.length > 0 && { sameSource }) };
}

/**
 * Holds what is to be done against the preview by which it was decided. @throws PREVIEW_CHANGED it would go otherwise by now, with the new
 * preview as `data.preview`
 */
export async function requireSame(
  context: WorkContext,
  expected: string | undefined,
  input: PreviewRunInput,
): Promise<void> {
  if (expected === undefined) return;
  const preview = await previewOf(context, input);
  if (preview.etag !== expected)
    throw new CairnError('PREVIEW_CHANGED', {
      checkpoint: input.checkpoint,
      preview: maskedBySchema(preview, previewRun.outputSchema),
    });
}

export const previewRun: RoutedOperation<PreviewRunInput, PreviewRunOutput, WorkContext> = {
  name: 'preview_resume',
  command: 'preview',
  summary: 'say what a resume or a fork would restore, replay and run; nothing is run',
  details: 'Of the newest checkpoint without changes it is a resume, of an older one or with changes a fork.',
  input: {
    ...branchFields,
    asFork: { type: 'flag', description: 'preview a fork even of the newest checkpoint, unchanged' },
    retry: {
      type: 'flag',
      description: 'what a resume with retry would do: try commands again that ended with an exit code',
    },
    budget: { type: 'assignments', description: 'what a resume with this budget would do: usd=8' },
  },
  output: 'each activation and what would become of it, and an etag that names all of it',
  outputSchema: objectOf(
    {
      runId: text,
      seq: whole,
      etag: text,
      cost: objectOf({ again: amounts, saved: amounts }),
      rows: listOf(
        objectOf(
          { node: texts, visit: whole, effect: text, prediction: text },
          {
            because: text,
            isQueued: flag,
            cost: amounts,
            callsOnRecord: whole,
            inCode: described(text, 'the name that today’s code has for it'),
          },
        ),
      ),
    },
    { checkpointId: text, earlier, findings: findingsShape, sameSource: texts },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'POST /checkpoints/{checkpoint}/preview',
  tool: {},
  run: previewOf,
};
