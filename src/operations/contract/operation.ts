/** What an operation is: one declaration, from which each interface (command line, MCP, HTTP) is made. */
import type { Acting, CheckpointRef, Engine, RunResult, StreamEvent } from '../../engine/api.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import type { PlannedExperiment } from '../../experiments/experiment-data.ts';
import type { Graph } from '../../graph/graph.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import type { ReadBounds } from '../../history/stored/pace.ts';
import type { ReadPlace, StatePlace, WritePlace } from '../../history/access/place.ts';
import type { RunRow } from '../../ports/store.ts';
import type { KnownWorkflow, Workflows } from './workflows.ts';

export type { JsonSchema };

/** The type of an input field. It says how the command line reads the field's text; JSON interfaces take the value as it is. */
export type FieldType =
  /** A text. */
  | 'text'
  /** Names a run: its id; to read it, the beginning of the id is enough. */
  | 'run'
  /** Names a checkpoint: its id, `RUN@12`, `RUN@tag`, `RUN@head~2`, or a run for its newest. */
  | 'checkpoint'
  /** A point in time as people write it: a date, a date with a time, or an age before now (`3h`). */
  | 'time'
  /** A whole number, 0 or more. */
  | 'integer'
  /** True or false; on a command line present or absent. Default false. */
  | 'flag'
  /** Any value. On a command line JSON; a text that is not valid JSON stands for itself. */
  | 'value'
  /** A list of texts. */
  | 'texts'
  /** A list of `name=value`, each value as for `value`. */
  | 'assignments'
  /** An answer to a question. It is passed on as typed, because its question determines what a text means. */
  | 'answer'
  /** A list of `name=answer`. */
  | 'answers'
  /** All remaining words of a command line. */
  | 'words';

export interface Field {
  readonly type: FieldType;
  readonly description: string;
  /** Whether the field is required. Default false. */
  readonly isRequired?: boolean;
  /** Whether a command line gives it by position, not by name. Positions follow the order of declaration. */
  readonly isPositional?: boolean;
  readonly choices?: readonly string[];
  /** What stands for it if it is not given, where that is worth saying. */
  readonly default?: number | string;
  /** The least that a number may be. Default 0. */
  readonly min?: number;
  /** The most that callers elsewhere may ask for. Whoever is on this machine bears the costs and sets no bound. */
  readonly max?: number;
  /** What stands for it where a model does not give it: a model reads all that it is told, and pays for it. */
  readonly modelDefault?: number | boolean;
  /** Whether what it asks for is for eyes, so that models are not offered it. */
  readonly isForEyes?: boolean;
  /** Whether only callers on this machine may give it, since it names a file or a module of the machine or has no bound. */
  readonly isLocal?: boolean;
  /** Whether it says who acts. `perform` fills it in where the context knows, and then takes it from no caller. */
  readonly isActor?: boolean;
  /** Its name over HTTP, where that is another one. */
  readonly remoteName?: string;
  /** The name that command lines and HTTP show for it, where that is another one. They take its own name too, as they did at first. */
  readonly shownName?: string;
  /** What a caller must be allowed to do, beside what the operation needs, to give it. */
  readonly scope?: Scope;
}

export type Fields = Readonly<Record<string, Field>>;

/** One field for each property of an input type, so that the table and the type cannot differ. */
export type FieldsOf<Input> = { readonly [Name in keyof Input]-?: Field };

/** Who asks for an operation, as its door knows it. */
export interface CallerContext {
  /** Who acts, as it is recorded. Absent: the caller says so in the field of the operation, if anything does. */
  readonly actor?: string;
  /** By which door, in which roles, and as what. Absent: a program calls the library. */
  readonly acting?: Omit<Acting, 'by'>;
}

/** What an operation needs if it only lists runs. */
export interface ReadContext extends ReadPlace, CallerContext {}

/** What an operation needs if it reads states, whose large values are blobs. */
export type HistoryContext = StatePlace;

/** An event of a run that is being followed. */
export type WatchedEvent = StreamEvent;

/** Set if the file of a run was changed or removed since the run was started. The run goes on with the definition it was started with. */
export interface StoredDefinition {
  readonly source: string;
  readonly became: 'changed' | 'gone' | 'broken';
}

/** Where a run stands when it cannot be advanced further for now. */
export interface RunStanding extends RunResult {
  /** Set if an older checkpoint was resumed, which makes a fork: the checkpoint it continues from. */
  readonly forkedFrom?: CheckpointRef;
  /** The outputs that the run's workflow file declares. Absent if they are not computed yet, or none are declared. */
  readonly outputs?: unknown;
  /** Absent if the file still says what the run was started with, or if that was not checked. */
  readonly definition?: StoredDefinition;
}

/** A graph, and where it was found. */
export interface LoadedGraph {
  readonly graph: Graph;
  /** Recorded with the run, so that later commands find the graph again. Absent for a graph of a program. */
  readonly source?: string;
  /** Name of the export; only for modules. */
  readonly exportName?: string;
  /** The workflow; only for YAML files. */
  readonly workflow?: TextWorkflow;
}

/** What an operation needs if it advances runs. */
export interface WorkContext extends WritePlace, CallerContext {
  /** What an operation that only reads may take: set by doors that serve many. Default: as much as it needs. */
  readonly reading?: ReadBounds;
  readonly engine: Engine;
  /**
   * Loads the graph of a module or YAML file, or of a workflow with this name.
   * @throws GRAPH_PARSE the file cannot be read, has an error, or exports no graph; GRAPH_INVALID; USAGE_INVALID it exports several graphs;
   * WORKFLOW_NOT_FOUND
   */
  readonly loadGraph: (file: string, exportName?: string) => Promise<LoadedGraph>;
  /**
   * All graphs of a module, that of a workflow file, or those of the workflow files in a folder.
   * @throws as `loadGraph`, but several are no error
   */
  readonly loadGraphs: (file: string, exportName?: string) => Promise<readonly Graph[]>;
  /** What the text recorded with a run reaches for (commands, hosts, files, models), a line each. */
  readonly needsOf: (text: string) => Promise<readonly string[]>;
  /** Whether the configuration names this module, so that a preview may import it. */
  readonly isModuleNamed: (source: string) => boolean;
  /** The form in which a file's path is recorded with a run, so that later commands find it. */
  readonly savedSource: (source: string) => string;
  /** Loads the workflow of a YAML file, or one by name. @throws GRAPH_PARSE, GRAPH_INVALID, WORKFLOW_NOT_FOUND */
  readonly loadWorkflow: (file: string) => Promise<KnownWorkflow>;
  /**
   * Loads an experiment from a file: data, or a module, which runs code. @throws CONFIG_INVALID, USAGE_INVALID the file cannot be read;
   * and as `loadGraph`
   */
  readonly loadExperiment?: (file: string) => Promise<PlannedExperiment>;
  /** The workflows in the configured directories, which are read at first use. @throws CONFIG_INVALID */
  readonly openWorkflows: () => Promise<Workflows>;
  /** Finds the graph of a run. @throws CONFIG_INVALID it is not known here; GRAPH_* */
  readonly findGraph: (run: RunRow) => Promise<Graph>;
  /** Whether the graph of a run is in this process already, so that no module is imported for it. Default: it is not known. */
  readonly isKnown?: (run: RunRow) => boolean;
  /**
   * Set if whoever acts is not the person whom questions here are for: all of them, or those that approve what a model wants to do, and effects in doubt. `command`
   * makes the command that a person types, quoted for a shell.
   */
  readonly reserved?: {
    readonly questions: 'all' | 'approvals';
    readonly command: (...words: readonly string[]) => string;
  };
  /** How long an operation stays with a run that it moved on, in milliseconds. Default: until the run ends or waits. */
  readonly stayMs?: number;
  /** Whether workers advance the runs: they are started, resumed and answered here, and advanced elsewhere. Default false. */
  readonly isDetached?: boolean;
  /** Whether the ids that are given stand for this very request: what was recorded under one and says something else is refused. */
  readonly isOnlyThis?: boolean;
  /** Called for each run that was posted an answer or a signal. */
  readonly posted?: (runId: string) => void;
  /** Called with each event while the operation advances a run. */
  readonly watch?: (event: WatchedEvent) => void;
  /** Called while an operation goes through many runs, with how many it is through. */
  readonly progressed?: (runs: number) => void;
  /** Called for each run that an operation advanced and that has ended or paused. Never throws. */
  readonly rested?: (run: RunStanding) => void;
}

/**
 * What a caller must be allowed to do: read runs, move them on, answer what they ask, change the past in a fork, administer the store; or
 * only talk in chats of their own.
 */
export type Scope = 'read' | 'run' | 'answer' | 'fork' | 'admin' | 'chat';

/** A method and a path of the HTTP interface. Fields of the input stand in braces. */
export type Route = `${'GET' | 'POST' | 'DELETE'} /${string}`;

/** What may follow an operation: another one, with its input. A door says it as a command or as a call of a tool. */
export interface Next {
  /** Its name. */
  readonly operation: string;
  readonly input: { readonly run: string };
  /** In a few words: go on. */
  readonly why: string;
}

/** What a client may consider before it lets a model call a tool. Of what only reads: it destroys nothing, and may be repeated. */
export interface ToolHints {
  readonly isDestructive?: boolean;
  /** Whether calling it twice has the effect of calling it once. */
  readonly isIdempotent?: boolean;
}

/**
 * An operation: its names, its input and output, and the function that does it. Programs have every operation of the table. The other doors
 * are named by what they need to know: a command for the command line, a route for HTTP, hints for models. Models are offered nothing that
 * does not name them.
 */
export interface Operation<Input, Output, Context = ReadContext> {
  /** Verb and noun, as OpenAPI and models name it. */
  readonly name: `${string}_${string}`;
  /** Its word on a command line. Absent: it is a part of another command, or has none. */
  readonly command?: string;
  /** One line for readers. */
  readonly summary: string;
  /** A few more sentences, for descriptions of tools and OpenAPI. */
  readonly details?: string;
  readonly input: FieldsOf<Input>;
  /** Description of the output in one line. */
  readonly output: string;
  /** JSON Schema of the output, in the form that JSON interfaces show. */
  readonly outputSchema: JsonSchema;
  /** Whether it changes nothing. Read-only interfaces offer only such operations. */
  readonly isReadOnly: boolean;
  /** What a caller must be allowed to do. */
  readonly scope: Scope;
  /** Where it is reached over HTTP, below the version. Absent: not at all. */
  readonly route?: Route;
  /** Set if models are offered it as a tool, which is made from this declaration. */
  readonly tool?: ToolHints;
  /** What may follow, by what it gave. */
  next?(output: Output): readonly Next[];
  run(context: Context, input: Input): Promise<Output>;
}

/** An operation that is reached over HTTP. */
export interface RoutedOperation<Input, Output, Context = ReadContext> extends Operation<Input, Output, Context> {
  readonly route: Route;
}

/** An operation, whatever its types. Its function is declared as a method, so that operations of any input fit one list. */
export interface AnyOperation {
  readonly name: string;
  readonly command?: string;
  readonly summary: string;
  readonly details?: string;
  readonly input: Fields;
  readonly output: string;
  readonly outputSchema: JsonSchema;
  readonly isReadOnly: boolean;
  readonly scope: Scope;
  readonly route?: Route;
  readonly tool?: ToolHints;
  next?(output: unknown): readonly Next[];
  run(context: unknown, input: unknown): Promise<unknown>;
}
