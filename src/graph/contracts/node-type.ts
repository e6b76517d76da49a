/** Node types, which dialects written as text use by name with plain data (section "Node types" of docs/spec/nodes.md). */
import type { EffectClass, NodeContext, Reconciliation } from './node-contract.ts';
import type { LimitRef } from '../limit.ts';
import type { SecretReference } from '../secret-reference.ts';

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
  /** A network host; `*`: any. Undefined: not known before the run. `isNamed`: only a grant that names it will do, since it may be a private one. */
  | { readonly kind: 'net'; readonly host: string | undefined; readonly isNamed?: boolean }
  | { readonly kind: 'fs'; readonly path: string | undefined }
  | { readonly kind: 'env'; readonly name: string }
  /** A language model, by its profile's name or as `provider:name`. Undefined: not known before the run. */
  | { readonly kind: 'model'; readonly name: string | undefined }
  /** An in-memory database. It uses time and memory of the machine, and nothing else. */
  | { readonly kind: 'sqlite' }
  /** A sandbox that reaches nothing but its folder. It uses time and memory of the machine, within bounds, and nothing else. */
  | { readonly kind: 'sandbox' }
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
  /** Set if it acts without asking because an agent in what it runs is allowed to. */
  readonly isAllowedInside?: true;
}

/** The context of a node type's code: a node's context with the resolved inputs. */
export interface TypedNodeContext extends NodeContext {
  /** The inputs, checked against the fields. Missing inputs are absent. */
  readonly inputs: Inputs;
  readonly fileOutputs: readonly FileOutput[];
  /** The limits that the file names, where the type heeds them by itself ({@link NodeType.limitsItsCalls}). */
  readonly limit?: LimitRef | readonly LimitRef[];
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
  /** Whether an effect of its own is that it asks a model and changes nothing outside. Default false. */
  readonly isModelCall?: boolean;
  /**
   * Whether the limits that a file names are those of each call of a model that the function makes (`limit` of its context), and not of the
   * whole node. Default false.
   */
  readonly limitsItsCalls?: boolean;
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
