/** A node type that is used by its name and plain data: what a dialect written as text builds nodes from (section "Node types" of docs/spec/nodes.md). */
import type { EffectClass, NodeContext, Reconciliation } from './node-contract.ts';
import type { SecretReference } from '../secret-reference.ts';

/** A JSON Schema, in the subset of docs/spec/waits.md. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One input of a node type. */
export interface InputField {
  /** What the value must be, once references are resolved. Checked at load where it is written out, else before the attempt. */
  readonly schema: JsonSchema;
  /** One line. */
  readonly description: string;
  /** Default false. */
  readonly isRequired?: boolean;
  /** Filled in by the node type itself; here for readers and editors. */
  readonly default?: unknown;
  /**
   * `command`: text for a shell. The type gets a {@link CommandText}; values in it are data, never syntax.
   * `literal`: must be written out, since it is needed before anything runs. `template`: text with `{{ }}` in it, whose names are those of
   * the input `variables`; it is read as text with references, and `variables` is handed to nobody.
   */
  readonly kind?: 'command' | 'literal' | 'template';
  /** Whether `${secrets.NAME}` may stand in it; the type gets a {@link SecretReference} there. Default false. */
  readonly takesSecrets?: boolean;
  /** Other names that older files use. */
  readonly aliases?: readonly string[];
}

/** A command whose values arrive through variables of its environment. */
export interface CommandText {
  /** The author's text, with an expansion of a variable wherever a value stands. */
  readonly script: string;
  /** The values, by variable. */
  readonly env: Readonly<Record<string, string | SecretReference>>;
}

/** One field of a node type's output. */
export interface OutputField {
  readonly schema: JsonSchema;
  readonly description: string;
  /** Another name, in older files, for the field that is named here; it is read from that one and not returned by the type. */
  readonly aliasOf?: string;
}

/** A file that a node is told to read as an output once its work is done. */
export interface FileOutput {
  readonly name: string;
  readonly type: 'str' | 'num' | 'bool' | 'list' | 'dict' | 'json';
  /** Resolved. */
  readonly path: string;
  readonly isRequired: boolean;
  /** May lie outside the working directory. */
  readonly isUnsafe: boolean;
}

/** Something that a node type reaches for, and that whoever runs the process may withhold. */
export type Need =
  | { readonly kind: 'shell' }
  /** Undefined: not known before the run. */
  | { readonly kind: 'net'; readonly host: string | undefined }
  | { readonly kind: 'fs'; readonly path: string | undefined }
  | { readonly kind: 'env'; readonly name: string }
  /** A language model, by the name of its profile or as `provider:name`. Undefined: not known before the run. */
  | { readonly kind: 'model'; readonly name: string | undefined }
  /** A database in memory: time and memory of the machine, and nothing else. */
  | { readonly kind: 'sqlite' };

export type Inputs = Readonly<Record<string, unknown>>;

/** A workflow that a node type may run as a child. */
export interface CallableWorkflow {
  readonly description: string | undefined;
  readonly graph: object;
  /** Of the graph's input. */
  readonly inputSchema: JsonSchema;
  /** The node whose output is what the workflow gives. */
  readonly resultNode: string;
  /** Some node of it, or of a workflow it runs, acts on the world. */
  readonly isActing: boolean;
}

/** What the code of a node type is handed: a node's context with the resolved inputs. */
export interface TypedNodeContext extends NodeContext {
  /** Validated against the fields; what was not given is absent. */
  readonly inputs: Inputs;
  readonly fileOutputs: readonly FileOutput[];
  /** Whether something that comes up only while it runs, such as the host of a redirect, is granted. Absent: it is not. */
  readonly isGranted?: (need: Need) => boolean;
  /**
   * A workflow that `calls` of the type names. Absent: there is no catalog.
   * @throws WORKFLOW_NOT_FOUND, GRAPH_INVALID, RUN_LIMIT
   */
  readonly workflow?: (name: string) => CallableWorkflow;
}

/** The code behind nodes of one name. */
export interface NodeType {
  /** `Shell`, `HttpCall`, … */
  readonly name: string;
  /** Part of the hash of every graph that uses it. Default `1`. */
  readonly version?: string;
  /** One line. */
  readonly description: string;
  readonly inputs: Readonly<Record<string, InputField>>;
  /** Fields of the output, which is an object. */
  readonly outputs: Readonly<Record<string, OutputField>>;
  /** Whether a node of this type may name file outputs. Default false. */
  readonly takesFileOutputs?: boolean;
  /** Depends on the inputs at most by those that are written out; a file may say otherwise with `effect`. */
  readonly effect: EffectClass | ((literals: Inputs) => EffectClass);
  /** A repeated call with the same key has no second effect. Default false. */
  readonly isIdempotent?: boolean | ((literals: Inputs) => boolean);
  /** Milliseconds for one attempt, from the inputs that are written out. Default: none, or the engine's for effects. */
  readonly timeoutMs?: (literals: Inputs) => number | undefined;
  /**
   * Asked at load with the inputs that are written out, and again before each attempt with all. `pending` names the inputs that are
   * given but not known yet; the others that are absent were not given. Default: nothing.
   */
  readonly needs?: (inputs: Inputs, pending?: readonly string[]) => readonly Need[];
  /** Workflows that it may run, by name, from the inputs as they are written: they must be known when the file is read. Default: none. */
  readonly calls?: (inputs: Inputs) => readonly string[];
  /** Faults of the inputs that the fields cannot say (`give path or patterns, not both`), by input name. Asked at load and before each attempt. */
  readonly check?: (inputs: Inputs) => readonly InputFault[];
  /** What the fields cannot say of an output that is set in a fork (`it is none of the choices`); undefined: it fits. Default: it does. */
  readonly outputFault?: (output: Readonly<Record<string, unknown>>, inputs: Inputs) => string | undefined;
  /** Returns the output. */
  readonly run: (ctx: TypedNodeContext) => unknown;
  readonly reconcile?: (asked: {
    readonly idempotencyKey: string;
    readonly inputs: Inputs;
  }) => Promise<Reconciliation> | Reconciliation;
}

export interface InputFault {
  readonly input: string;
  readonly message: string;
  readonly fix: string;
}
