/** Reads pipelines: to run them, to reopen a run from its recorded text, or only to report faults. */
import { CairnError } from '../../errors.ts';
import type { Graph, Violation } from '../../graph/graph.ts';
import type { EffectClass } from '../../graph/contracts/node-contract.ts';
import type { Need, NodeType } from '../../graph/contracts/node-type.ts';
import type { StageAgent } from '../../graph/contracts/stage-agent.ts';
import { shareBudget } from '../../graph/expression/expression-budget.ts';
import { type Permissions, refusalOf } from '../../graph/permissions/permissions.ts';
import { webhookNeeds } from '../../graph/webhooks.ts';
import { compileStoreRules } from '../../state/secrecy/store-rules.ts';
import { actInside, strengthOfGraph } from '../../graph/effect-strength.ts';
import { wavesOf } from '../../graph/shape/loops.ts';
import { dialectOf, type TextWorkflow, type WorkflowBlock, type WorkflowInput } from '../text-workflow.ts';
import { inputSchema } from '../yaml/file/input-schema.ts';
import { compilePipeline, effectInside } from './compile/compile-pipeline.ts';
import { retryOf, webhooksOf } from './compile/stage-policy.ts';
import { savedText, parseSavedText } from './saved-text.ts';
import { linkChildren, type LinkedChildren } from './link-children.ts';
import {
  outermost,
  type Around,
  childType,
  folderOf,
  kindOf,
  typeOfShape,
  type Pipeline,
  type Stage,
} from './model/pipeline.ts';
import { lintPipeline } from './lint/lint-pipeline.ts';
import { createReport } from './lint/report.ts';
import { layOut, type Layout } from './model/layout.ts';
import { readPipeline } from './model/read-pipeline.ts';
import { codergenHandler, agentHandler, commandAgentHandler } from './run/handlers/agent.ts';
import { conditionalHandler, type PipelineResult } from './run/handlers/ends.ts';
import { fanInHandler } from './run/handlers/fan-in.ts';
import { humanHandler } from './run/handlers/human.ts';
import { needsApproval } from './run/stage/approval.ts';
import type { StageEnding, StageHandler } from './run/stage/attempts.ts';
import { toolHandler } from './run/handlers/tool.ts';
import { DotFaults } from './text/faults.ts';
import { parseDot } from './text/parse-dot.ts';
import { printDot, type DotSyntax } from './text/print-dot.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

/** Options for reading a pipeline. */
export interface DotOptions {
  /** Known block types, as `createNodeTypes()` returns them. `Shell` runs the commands of tool stages. Default: none. */
  readonly nodeTypes?: readonly NodeType[];
  /** Handlers by stage type. They are added to those of the language, or replace them. */
  readonly handlers?: Readonly<Record<string, StageHandler>>;
  /** Works in stages that have `tools`: `stageAgent()` of `cairn-workflows/agents`. Default: such stages fail. */
  readonly agent?: StageAgent;
  /** Change a file before anything is said of it, in order; each gets what the one before made. What they made is recorded with a run. */
  readonly transforms?: readonly DotTransform[];
  /** Called for each stage that begins, by its id; again where it goes on after a pause. For simulations and displays. */
  readonly watchBegin?: (stage: string) => void;
  /** Called for each stage that ends, with the edge that is taken from it. For simulations and displays. */
  readonly watch?: (ending: StageEnding) => void;
  /**
   * Reads the pipelines that stages run, by their paths; undefined: there is none. Default: none can be read. For inline pipelines,
   * `isGranted` says whether a file may be read at the place to which its path leads over links.
   */
  readonly readFile?: (path: string, isGranted?: (place: string) => boolean) => string | undefined;
  /** Path of the file. Default `inline`. */
  readonly source?: string;
  /** `file` (default): the operator's own file, which may do everything. `inline`: limited to `permissions`. */
  readonly origin?: 'file' | 'inline';
  /** What runs do not store, as the engine has it configured. Nothing may read it. */
  readonly redact?: { readonly store?: readonly string[] };
  /** What inline pipelines may do. Default: nothing. */
  readonly permissions?: Permissions;
}

const optionNames = Object.keys({
  nodeTypes: true,
  handlers: true,
  agent: true,
  transforms: true,
  watchBegin: true,
  watch: true,
  readFile: true,
  source: true,
  origin: true,
  redact: true,
  permissions: true,
} satisfies Record<keyof DotOptions, true>);

/** Returns a changed copy of the file. New parts may have any offset in the text as their place (`at`). */
export type DotTransform = (file: DotSyntax) => DotSyntax;

/** The pipeline, if the text is a valid one, and all errors and warnings. */
export interface CheckedPipeline {
  readonly workflow: TextWorkflow | undefined;
  readonly violations: readonly Violation[];
}

/** Longest text in characters. A longer one is refused unread. */
const textMax = 5 * 1024 * 1024;

/**
 * Reads a pipeline.
 * @throws GRAPH_PARSE the text is no digraph, with the first place in `line`; GRAPH_INVALID with all violations; PERMISSION_DENIED an
 * inline pipeline needs more than it is granted, and has no other fault
 */
export function readDot(text: string, options: DotOptions = {}): TextWorkflow {
  refuseUnknownKeys('readDot', options, optionNames);
  return read(text, options, false);
}

function read(text: string, options: DotOptions, isSaved: boolean): TextWorkflow {
  const { workflow, violations, isUnreadable } = shareBudget(() => check(text, options, { isRun: true, isSaved }));
  if (workflow !== undefined) return workflow;
  const { source = 'inline' } = options;
  const errors = violations.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (isUnreadable) {
    const [, line] = /:(\d+):\d+$/.exec(first?.place ?? '') ?? [];
    throw new CairnError('GRAPH_PARSE', { file: source, line: Number(line ?? 1), reason: first?.message, violations });
  }
  if (errors.every(({ rule }) => rule === permissionRule))
    throw new CairnError('PERMISSION_DENIED', {
      need: first?.place,
      reason: errors.map(({ message }) => message).join('; '),
      violations,
    });
  throw new CairnError('GRAPH_INVALID', { graphId: source, violations });
}

/**
 * Reads a text and reports everything wrong with it. Never throws. Permissions are not checked, except that faults of an inline text
 * do not say what is in files that it may not read.
 */
export function checkDot(text: string, options: DotOptions = {}): CheckedPipeline {
  refuseUnknownKeys('checkDot', options, optionNames);
  const { workflow, violations } = shareBudget(() => check(text, options, { isRun: false, isSaved: false }));
  return { workflow, violations };
}

/**
 * Reads the pipeline that a run was started with, from the text that was recorded with it. With `origin: 'inline'` it is checked against
 * the permissions, whatever was recorded. @throws GRAPH_PARSE, and as {@link readDot}
 */
export function readSavedDot(
  text: string,
  options: Omit<DotOptions, 'source' | 'transforms' | 'readFile'> = {},
): TextWorkflow {
  refuseUnknownKeys('readSavedDot', options, optionNames);
  const { origin: recorded, source, text: saved, files } = parseSavedText(text);
  const readFile = (path: string): string | undefined => files.get(path);
  const origin = options.origin === 'inline' || recorded === 'inline' ? 'inline' : 'file';
  return read(saved, { ...options, origin, source, readFile }, true);
}

/**
 * Reads a pipeline that a workflow of another dialect runs: a file's text, or the text of one that a run saved. By its `origin` it may do
 * what the file may that is run by itself, or is held to the permissions, whatever was recorded. @throws GRAPH_PARSE the saved text is damaged
 */
export function checkCalledDot(
  text: string,
  options: Omit<DotOptions, 'transforms'> & { readonly source: string },
): CheckedPipeline {
  const saved = dialectOf(text) === undefined ? undefined : parseSavedText(text);
  const own = saved === undefined ? options : { ...options, readFile: (path: string) => saved.files.get(path) };
  const around = outermost(own.source, true);
  const how = { isRun: true, isSaved: saved !== undefined };
  const { workflow, violations } = shareBudget(() => check(saved?.text ?? text, own, how, around));
  return { workflow: workflow && { ...workflow, outputs: resultFields }, violations };
}

/** The result of a pipeline, as outputs that a block may read. */
const resultFields = Object.keys({
  status: true,
  gates: true,
  failures: true,
  last_response: true,
  restarts: true,
} satisfies Record<keyof PipelineResult, true>).map((name) => ({
  name,
  value: '',
  type: undefined,
  description: undefined,
}));

/**
 * Prints a pipeline in its canonical form.
 * @throws GRAPH_PARSE the text cannot be read, so it cannot be printed
 */
export function formatDot(text: string, source = 'inline'): string {
  const faults = new DotFaults(text, source);
  const syntax = parseDot(text, faults);
  const first = faults.violations.find(({ severity }) => severity === 'error');
  if (first !== undefined)
    throw new CairnError('GRAPH_PARSE', {
      file: source,
      reason: `${first.place}: ${first.message}`,
      violations: faults.violations,
    });
  return printDot(syntax);
}

interface Checked extends CheckedPipeline {
  readonly isUnreadable: boolean;
  /** The text that a run saves of it, and of those that it runs, by path. */
  readonly savedText?: string;
  readonly files?: ReadonlyMap<string, string>;
}

const permissionRule = 'Y6';

/** How a text is read. */
interface Reading {
  /** Whether the pipeline is to run, and so must be granted all that it needs. */
  readonly isRun: boolean;
  /** Whether the pipelines that it runs are saved with it, so that no file is read for them. */
  readonly isSaved: boolean;
}

function check(
  text: string,
  options: DotOptions,
  how: Reading,
  around: Around = outermost(options.source ?? 'inline'),
): Checked {
  const { source = 'inline' } = options;
  const faults = new DotFaults(text, source);
  // Of a text that cannot be read only the errors are reported: what else is odd about it mostly follows from them.
  const done = (isUnreadable: boolean): Checked => ({
    workflow: undefined,
    violations: faults.violations.filter(({ severity }) => !isUnreadable || severity === 'error'),
    isUnreadable,
  });
  if (text.length > textMax) {
    const message = `the file has ${text.length} characters, over the limit of ${textMax}`;
    faults.add(0, { rule: 'DOT1', message, fix: 'split it' });
    return done(true);
  }
  const { transforms = [], readFile = () => undefined } = options;
  const syntax = transforms.reduce((file, transform) => transform(file), parseDot(text, faults));
  const isUnreadable = faults.hasErrors;
  const pipeline = readPipeline(syntax, faults);
  const layout = layOut(pipeline);
  const own = new Map(Object.entries(options.handlers ?? {}));
  // A file that is cut off in the middle is not linted: everything behind the cut would be reported as missing.
  if (!isUnreadable)
    lintPipeline(createReport(faults, pipeline, layout, new Set(own.keys())), compileStoreRules(options.redact?.store));
  const withheld = withheldBy(options);
  const builtIn = builtInHandlers(options);
  const handlerOf = (stage: Stage): StageHandler | undefined => own.get(stage.type) ?? builtIn.get(kindOf(stage));
  const needsOf = (stage: Stage) => handlerOf(stage)?.needs?.(stage, folderOf(stage, around.folder));
  if (how.isRun && withheld !== undefined) refuseNeeds(faults, pipeline, needsOf, withheld);
  const children = linkChildren(own.has(childType) || isUnreadable ? new Map() : pipeline.stages, {
    pipeline,
    faults,
    withheld: how.isSaved ? undefined : withheld,
    source,
    around,
    read: readFile,
    check: (childText, childAround, path) => check(childText, { ...options, source: path }, how, childAround),
  });
  if (faults.hasErrors) return done(isUnreadable);
  const inputs = inputsOf(pipeline);
  const sourceText = transforms.length === 0 ? text : printDot(syntax);
  try {
    const { graph, body } = compilePipeline(
      {
        pipeline,
        layout,
        handlerOf,
        builtIn: new Set([...typeOfShape.values()].filter((type) => !own.has(type))),
        withheld,
        watchBegin: options.watchBegin,
        watch: options.watch,
        children: children.byStage,
        around,
        placeOf: (at) => faults.placeOf(at),
      },
      {
        schemas: { input: inputSchema(inputs) },
        text: savedText({ origin: options.origin ?? 'file', source, text: sourceText, files: children.files }),
      },
    );
    const workflow = describe(pipeline, layout, { graph, body, inputs, handlerOf, children, faults });
    return { ...done(false), workflow, savedText: sourceText, files: children.files };
  } catch (error) {
    if (!CairnError.is(error, 'GRAPH_INVALID')) throw error;
    faults.take(error.data['violations'] as readonly Violation[]);
    return done(false);
  }
}

function builtInHandlers(options: DotOptions): ReadonlyMap<string, StageHandler> {
  const { nodeTypes = [], agent } = options;
  const withheld = withheldBy(options);
  const isGranted = withheld && ((need: Need) => withheld(need) === undefined);
  const shell = nodeTypes.find(({ name }) => name === 'Shell');
  const noShell: StageHandler = {
    run: () => ({ status: 'fail', failureReason: 'there is no block type Shell, which would run the command' }),
  };
  const noAgent: StageHandler = {
    run: () => ({ status: 'fail', failureReason: 'there is no agent here, which would use the tools' }),
  };
  return new Map<string, StageHandler>([
    ['codergen.agent', agent === undefined ? noAgent : agentHandler(agent, isGranted)],
    ['codergen', codergenHandler],
    ['wait.human', humanHandler],
    ['conditional', conditionalHandler],
    ['parallel.fan_in', fanInHandler],
    ['tool', shell === undefined ? noShell : toolHandler(shell)],
    ['codergen.command', shell === undefined ? noShell : commandAgentHandler(shell)],
  ]);
}

type HandlerOf = (stage: Stage) => StageHandler | undefined;
type Withheld = (need: Need) => string | undefined;

function withheldBy({ origin = 'file', permissions = {} }: DotOptions): Withheld | undefined {
  return origin === 'file' ? undefined : (need) => refusalOf(need, permissions);
}

function refuseNeeds(
  faults: DotFaults,
  pipeline: Pipeline,
  needsOf: (stage: Stage) => readonly Need[] | undefined,
  withheld: Withheld,
): void {
  const refuse = (need: Need, at: number, what: string): void => {
    const refusal = withheld(need);
    const fix = 'grant it, or take it out';
    if (refusal !== undefined)
      faults.add(at, { rule: permissionRule, message: `${what} is not allowed: ${refusal}`, fix });
  };
  for (const stage of pipeline.stages.values())
    for (const need of needsOf(stage) ?? []) refuse(need, stage.at, stage.id);
  for (const hook of ['tool_hooks.pre', 'tool_hooks.post'])
    if (pipeline.attributes.text(hook) !== '') refuse({ kind: 'shell' }, pipeline.attributes.placeOf(hook), hook);
  for (const need of webhooksOf(pipeline).flatMap(webhookNeeds))
    refuse(need, pipeline.attributes.placeOf('webhooks'), 'a webhook');
  const name = pipeline.attributes.text('summary_model');
  if (name !== '') refuse({ kind: 'model', name }, pipeline.attributes.placeOf('summary_model'), 'summary_model');
}

function inputsOf({ attributes, params }: Pipeline): readonly WorkflowInput[] {
  const text = { type: 'str', schema: { type: 'string' }, description: undefined } as const;
  return [
    { ...text, name: 'goal', isRequired: false, default: attributes.text('goal') },
    ...params.map((param) => ({
      ...text,
      name: param.name,
      isRequired: param.default === undefined,
      default: param.default,
    })),
  ];
}

interface Description {
  readonly graph: Graph;
  /** The graph that contains the stages. */
  readonly body: Graph;
  readonly inputs: readonly WorkflowInput[];
  readonly handlerOf: HandlerOf;
  readonly children: LinkedChildren;
  readonly faults: DotFaults;
}

/** What a stage may do, the stages of a child included. */
function effectOf(stage: Stage, handler: StageHandler | undefined, child: TextWorkflow | undefined): EffectClass {
  return stage.type === 'wait.human' ? 'human' : (child?.effect ?? effectInside(stage, handler));
}

function describe(
  pipeline: Pipeline,
  layout: Layout,
  { graph, body, inputs, handlerOf, children, faults }: Description,
): TextWorkflow {
  const waves = wavesOf(body.structure, ({ id }) => pipeline.stages.has(String(id)));
  const waveOf = new Map(waves.flatMap((ids, wave) => ids.map((id) => [id, wave] as const)));
  const blocks = [...layout.reachable].flatMap((id): WorkflowBlock[] => {
    const stage = pipeline.stages.get(id);
    if (stage === undefined) return [];
    const [handler, child] = [handlerOf(stage), children.byStage.get(id)];
    const edges = layout.incoming.get(id) ?? [];
    const conditions = edges.map(({ attributes }) => attributes.text('condition')).filter((text) => text !== '');
    const effect = effectOf(stage, handler, child);
    const node = graph.nodes[graph.nodeIndex.get(id) ?? -1];
    const inside = node && actInside({ ...node, effect });
    return [
      {
        id,
        type: stage.type,
        description: stage.attributes.text('label') || undefined,
        dependsOn: [...new Set(edges.map(({ from }) => from))].map((block) => ({ block, isRequired: false })),
        condition: conditions.length === 0 ? undefined : conditions.join(' || '),
        forEach: undefined,
        effect,
        ...(inside !== undefined && { inside }),
        attempts: retryOf(stage, pipeline).attempts,
        isIdempotent: handler?.isIdempotent?.(stage) ?? false,
        asks: stage.type === 'wait.human' || needsApproval(stage) || (child?.blocks.some(({ asks }) => asks) ?? false),
        workflow: undefined,
        wave: waveOf.get(id) ?? 0,
      },
    ];
  });
  const label = pipeline.attributes.text('label');
  return {
    name: pipeline.name,
    description: label || pipeline.attributes.text('goal') || undefined,
    version: '1',
    tags: [],
    inputs,
    outputs: [],
    blocks,
    waves,
    checkpoint: {},
    secrets: [],
    effect: strengthOfGraph(graph).act,
    graph,
    warnings: faults.violations,
  };
}
