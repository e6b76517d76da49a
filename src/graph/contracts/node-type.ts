/** Node types, which dialects written as text use by name with plain data (section "Node types" of docs/spec/nodes.md). */
import { type EffectClass, type NodeContext, type Reconciliation, NodeFailure } from './node-contract.ts';
import type { SecretReference } from '../secret-reference.ts';
import { type ModelMessage, type ModelCall, textOf, type ModelResponse } from './contracts.ts';

/** A JSON Schema, in the subset of docs/spec/waits.md. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Describes one input of a node type. */
export interface InputField {
  /**
   * JSON Schema of the value, after references are resolved. A value written out in the file is checked when the file is loaded, any other
   * before each attempt.
   */
  readonly schema: JsonSchema;
  /** One line for readers. */
  readonly description: string;
  /** Whether the input is required. Default false. */
  readonly isRequired?: boolean;
  /** The value that the node type itself uses if the input is absent. Given here for readers and editors. */
  readonly default?: unknown;
  /**
   * How the text of the input is read.
   * - `command`: text for a shell. The node type receives a {@link CommandText}; values in it are data, never shell syntax.
   * - `literal`: must be written out, because it is needed before anything runs.
   * - `template`: text with `{{ }}`, whose names are those of the input `variables`. It is read as text with references, and the node type
   *   does not receive `variables`.
   */
  readonly kind?: 'command' | 'literal' | 'template';
  /** Whether `${secrets.NAME}` may stand in it; the node type then receives a {@link SecretReference}. Default false. */
  readonly takesSecrets?: boolean;
  /** Other names of this input in older files. */
  readonly aliases?: readonly string[];
}

/** A shell command. Its values reach it through environment variables. */
export interface CommandText {
  /** The author's text; wherever a value stood, it expands a variable. */
  readonly script: string;
  /** The values, by variable name. */
  readonly env: Readonly<Record<string, string | SecretReference>>;
}

/** Describes one field of a node type's output. */
export interface OutputField {
  readonly schema: JsonSchema;
  readonly description: string;
  /** If set, this field is an older name for another field and reads its value; the node type does not return it. */
  readonly aliasOf?: string;
}

/** A file that the node reads as an output when its work is done. */
export interface FileOutput {
  readonly name: string;
  readonly type: 'str' | 'num' | 'bool' | 'list' | 'dict' | 'json';
  /** The path, with references resolved. */
  readonly path: string;
  readonly isRequired: boolean;
  /** Whether the path may lie outside the working directory. */
  readonly isUnsafe: boolean;
  /** The folder that the file must lie in, where it is not the working directory: that of the run's temporary files. */
  readonly folder?: string;
}

/** A resource that a node type uses, and that the operator of the process may withhold. */
export type Need =
  | { readonly kind: 'shell' }
  /** A network host. Undefined: not known before the run. */
  | { readonly kind: 'net'; readonly host: string | undefined }
  | { readonly kind: 'fs'; readonly path: string | undefined }
  | { readonly kind: 'env'; readonly name: string }
  /** A language model, by its profile's name or as `provider:name`. Undefined: not known before the run. */
  | { readonly kind: 'model'; readonly name: string | undefined }
  /** An in-memory database. It uses time and memory of the machine, and nothing else. */
  | { readonly kind: 'sqlite' }
  /** A workflow of the operator, by its name. Undefined: not known before the run. */
  | { readonly kind: 'workflow'; readonly name: string | undefined }
  /** A module of the operator, by its path as it is recorded. */
  | { readonly kind: 'module'; readonly name: string };

export type Inputs = Readonly<Record<string, unknown>>;

/** A workflow that a node type may run as a child. */
export interface CallableWorkflow {
  readonly description: string | undefined;
  readonly graph: object;
  /** JSON Schema of the graph's input. */
  readonly inputSchema: JsonSchema;
  /** Id of the node whose output is the workflow's result. */
  readonly resultNode: string;
  /** The strongest effect class of its nodes and of the workflows that it runs. Questions to people do not count. */
  readonly effect: EffectClass;
}

/** A tool that a node lets a model call, as far as it is known before the run. */
export interface PlannedTool {
  /** The name that the model uses. `server__*` stands for the tools of an MCP server, which are not known before the run. */
  readonly name: string;
  readonly effect: EffectClass;
  /** Whether a call asks a person: before it acts, or because that is what the tool does. */
  readonly asks: boolean;
}

/** The context of a node type's code: a node's context with the resolved inputs. */
export interface TypedNodeContext extends NodeContext {
  /** The inputs, checked against the fields. Missing inputs are absent. */
  readonly inputs: Inputs;
  readonly fileOutputs: readonly FileOutput[];
  /** Whether a need is granted that shows only at run time, such as the host of a redirect. Absent: nothing more is granted. */
  readonly isGranted?: (need: Need) => boolean;
  /**
   * Returns a workflow that `calls` of the type names. Absent if there is no catalog.
   * @throws WORKFLOW_NOT_FOUND, GRAPH_INVALID, RUN_LIMIT
   */
  readonly workflow?: (name: string) => CallableWorkflow;
}

/** The code behind all nodes of one type name. */
export interface NodeType {
  /** The name in files: `Shell`, `HttpCall`, … */
  readonly name: string;
  /** The type's version; part of the hash of every graph that uses it. Default `1`. */
  readonly version?: string;
  /** One line for readers. */
  readonly description: string;
  readonly inputs: Readonly<Record<string, InputField>>;
  /** Fields of the output; the output is an object. */
  readonly outputs: Readonly<Record<string, OutputField>>;
  /** Whether nodes of this type may have file outputs. Default false. */
  readonly takesFileOutputs?: boolean;
  /** Effect class. A function may choose it by the inputs that are written out in the file. A file may override it with `effect`. */
  readonly effect: EffectClass | ((literals: Inputs) => EffectClass);
  /** Whether a repeated call with the same key has no second effect. Default false. */
  readonly idempotent?: boolean | ((literals: Inputs) => boolean);
  /** Timeout of one attempt in milliseconds, by the inputs that are written out. Default: none, or the engine's for effects. */
  readonly timeoutMs?: (literals: Inputs) => number | undefined;
  /**
   * The resources that a node needs. Called at load with the inputs that are written out, and before each attempt with all of them.
   * `pending` names the inputs whose value is not known yet. Default: none.
   */
  readonly needs?: (inputs: Inputs, pending?: readonly string[]) => readonly Need[];
  /** Names of the workflows that the node may run, by its inputs as written: they must be known when the file is loaded. Default: none. */
  readonly calls?: (inputs: Inputs) => readonly string[];
  /**
   * The tools that the node lets models call, by the inputs that are written out. Default: none.
   * @param workflow - returns a workflow that the node may run, or undefined if it is not there or is still being read
   * @param pending - the inputs that are given, and whose value is not known yet
   */
  readonly tools?: (
    literals: Inputs,
    workflow: (name: string) => CallableWorkflow | undefined,
    pending?: readonly string[],
  ) => readonly PlannedTool[];
  /**
   * Whether its function has steps of its own, so that it cannot run as a single step for each item. Class `human` implies it. Default
   * false.
   */
  readonly isComposed?: boolean;
  /**
   * Faults of the inputs that the field schemas cannot express (`give path or patterns, not both`), by input name. Called at load and
   * before each attempt.
   */
  readonly check?: (inputs: Inputs) => readonly InputFault[];
  /**
   * Checks an output that is set in a fork, beyond the field schemas. Returns what is wrong (`it is none of the choices`), or undefined.
   * Default: anything fits.
   */
  readonly outputFault?: (output: Readonly<Record<string, unknown>>, inputs: Inputs) => string | undefined;
  /** Does the work and returns the output. */
  readonly run: (ctx: TypedNodeContext) => unknown;
  readonly reconcile?: (context: {
    readonly idempotencyKey: string;
    readonly inputs: Inputs;
    readonly isGranted?: (need: Need) => boolean;
  }) => Promise<Reconciliation> | Reconciliation;
}

export interface InputFault {
  readonly input: string;
  readonly message: string;
  readonly fix: string;
}

// An agent that may work in a stage of a workflow written as text: a model, with tools that are known by a few names.

/**
 * What an agent may be let do: `read` lists, searches and reads files of its folder, `write` writes and edits them too, `shell` runs
 * programs there, `ask_person` asks.
 */
export const stageTools = ['read', 'write', 'shell', 'ask_person'] as const;
export type StageTool = (typeof stageTools)[number];

/**
 * Commands around each call of a tool, for a shell. They get the call as JSON on their input and by variables; no value is a part
 * of them. They may be repeated after a crash.
 */
export interface ToolHooks {
  /** Run before; with an exit code other than 0 the call is not made, and the model's result of it says so. */
  readonly pre?: string;
  /** Run after, with what came of the call. That it failed is reported as an event, and changes nothing. */
  readonly post?: string;
  /** Variables beside those of every hook. */
  readonly env: Readonly<Record<string, string>>;
}

export interface StageAgentRequest {
  readonly model: string;
  /** How the conversation begins. */
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly StageTool[];
  /** Of these, the ones that are used without asking a person. */
  readonly allow: readonly StageTool[];
  /** Where it works; relative to where the process was started. */
  readonly folder: string;
  /** Whether a place that its files really are at is granted. Default: all are. */
  readonly isGranted?: (need: Need) => boolean;
  /** Units that its calls spend beside those of every model call: `tokens`, `seconds`. */
  readonly counted?: readonly string[];
  /** Calls of the model, at most. */
  readonly loopsMax?: number;
  /** Of one call of the model. */
  readonly timeoutMs?: number;
  /** Of each call of the model. */
  readonly settings?: Pick<ModelCall, 'reasoning' | 'tokensMax'>;
  readonly hooks?: ToolHooks;
  /** Of the stage, counted from 1: each begins its work anew. */
  readonly attempt: number;
}

export interface StageAgent {
  /** What it reaches for with these tools, its model aside. */
  needs(tools: readonly StageTool[], folder: string): readonly Need[];
  /** Works until it answers: its model calls and tool calls are steps of the node. @returns its answer */
  run(ctx: NodeContext, request: StageAgentRequest): Promise<string>;
}

// Answers that a model did not finish, because they reached the limit of their tokens or because the provider stopped them. Half
// an answer may say the opposite of the whole one, so it is never taken for one in silence (L12).

/** Whether the answer ended at the limit of its tokens, so that its end is missing. */
export function isCutOff({ finishReason }: Pick<ModelResponse, 'finishReason'>): boolean {
  return finishReason === 'length';
}

const code = 'MODEL_OUTPUT_TRUNCATED';

/** What a user does for a longer answer, by where its bound was set. */
export const waysOn = {
  call: 'raise tokensMax of the call and resume the run',
  settings: 'raise settings.tokensMax (of a gmiNode maxTokens) and resume the run: only this call is made again',
  block: 'raise its max_tokens and resume the run with the changed file (--file)',
  profile: 'raise tokensMax of its model in cairn.config and resume the run',
} as const;

/** The failure of a call whose answer was cut off. It holds the text that came, because that was paid for. */
export function cutOffFailure(
  { model, usage, content }: ModelResponse,
  way: keyof typeof waysOn,
  { data, ...hints }: { readonly data?: Readonly<Record<string, unknown>>; readonly applied?: 'no' } = {},
): NodeFailure {
  const { outputTokens } = usage;
  const what = `the answer of ${model} was cut off at the limit of its tokens (${outputTokens} written)`;
  return new NodeFailure(`${what}: ${waysOn[way]}`, {
    ...hints,
    code,
    data: { text: textOf(content), outputTokens, ...data },
  });
}

/** Does work whose answers have their bounds from somewhere else than its settings, and says so in the failure for one that was cut off. */
export async function boundedBy<T>(way: keyof typeof waysOn, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NodeFailure) || error.code !== code) throw error;
    throw new NodeFailure(error.message.replace(waysOn.settings, waysOn[way]), { code, data: error.data });
  }
}

/**
 * Refuses an answer that the provider says it stopped.
 * @throws NodeFailure MODEL_REFUSED its filter blocked the answer, or its end; MODEL_UNAVAILABLE it met an error
 */
export function refuseStopped({ content, finishReason, model }: ModelResponse): void {
  if (finishReason !== 'content-filter' && finishReason !== 'error') return;
  const text = textOf(content);
  const data = { finishReason, ...(text !== '' && { text }) };
  if (finishReason === 'error')
    throw new NodeFailure(`${model} gave no whole answer: the provider met an error`, {
      code: 'MODEL_UNAVAILABLE',
      data,
    });
  const reason = `${model} refused to answer: the provider's filter kept its answer back`;
  throw new NodeFailure(reason, { code: 'MODEL_REFUSED', applied: 'no', data });
}

/**
 * The text of an answer that is of use only when it is whole.
 * @param way - where the bound of its tokens was set. Default: in the call
 * @throws NodeFailure MODEL_OUTPUT_TRUNCATED, MODEL_REFUSED, MODEL_UNAVAILABLE
 */
export function wholeTextOf(response: ModelResponse, way: keyof typeof waysOn = 'call'): string {
  refuseStopped(response);
  if (isCutOff(response)) throw cutOffFailure(response, way);
  return textOf(response.content);
}

/**
 * The text of a summary. Half of one is better than none, and says that it is half. @throws NodeFailure MODEL_REFUSED, MODEL_UNAVAILABLE
 */
export function summaryTextOf(response: ModelResponse): string {
  refuseStopped(response);
  const text = textOf(response.content).trim();
  return isCutOff(response) && text !== '' ? `${text}\n[the summary was cut off here]` : text;
}
