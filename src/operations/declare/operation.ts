/** What an operation is: one declaration that every door (command line, MCP, HTTP) renders. */
import type { CheckpointRef, Engine, RunResult, StreamEvent } from '../../engine/api.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import type { Graph } from '../../graph/graph.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import type { ReadPlace, StatePlace, WritePlace } from '../../history/place/place.ts';
import type { RunRow } from '../../ports/store.ts';
import type { KnownWorkflow, Workflows } from './workflows.ts';

/** How a field's text is read by a door that has only text; a JSON door takes the value as it is. */
export type FieldType =
  /** A string. */
  | 'text'
  | 'integer'
  /** Present or absent; default false. */
  | 'flag'
  /** Any value: JSON where the text parses as such, else the text itself. */
  | 'value'
  /** Several strings. */
  | 'texts'
  /** Several `name=value`, values as for `value`. */
  | 'assignments'
  /** An answer: what was typed, since only its question tells what a text means. */
  | 'answer'
  /** Several `name=answer`. */
  | 'answers'
  /** All that is left on a command line. */
  | 'words';

export interface Field {
  readonly type: FieldType;
  readonly description: string;
  /** Default false. */
  readonly isRequired?: boolean;
  /** Given by its place on a command line, not by name; in the order of declaration. */
  readonly isPositional?: boolean;
  readonly choices?: readonly string[];
}

export type Fields = Readonly<Record<string, Field>>;

/** One field for each part of an input: the table and the type cannot drift apart. */
export type FieldsOf<Input> = { readonly [Name in keyof Input]-?: Field };

/** What an operation that only lists is given. */
export type ReadContext = ReadPlace;

/** What an operation that reads states is given: large values are blobs. */
export type HistoryContext = StatePlace;

/** What is told of a run that is being followed. */
export type WatchedEvent = StreamEvent;

/** The definition that a run goes on with is the one it was started with, though the file says something else by now. */
export interface StoredDefinition {
  readonly source: string;
  readonly became: 'changed' | 'gone' | 'broken';
}

/** Where a run stands when nothing more can be done for it now. */
export interface RunStanding extends RunResult {
  /** A resume of an older checkpoint is a fork: what it continues from. Absent: it is the run that was named. */
  readonly forkedFrom?: CheckpointRef;
  /** What came of a run that was started from a text, as its text declares it; absent: nothing yet, or its graph declares no outputs. */
  readonly outputs?: unknown;
  /** Absent: the file says what the run was started with, or nobody looked. */
  readonly definition?: StoredDefinition;
}

/** A graph and where it was found. */
export interface LoadedGraph {
  readonly graph: Graph;
  /** Kept with the run, so that a later command finds the graph again. */
  readonly source: string;
  /** Of a module. */
  readonly exportName?: string;
  /** Of a YAML file. */
  readonly workflow?: TextWorkflow;
}

/** What an operation that moves runs is given. */
export interface WorkContext extends WritePlace {
  readonly engine: Engine;
  /**
   * The graph of a module, of a YAML file, or of a workflow by its name.
   * @throws GRAPH_PARSE the file cannot be read, has an error, or exports no graph; GRAPH_INVALID; USAGE_INVALID it exports several;
   * WORKFLOW_NOT_FOUND
   */
  readonly loadGraph: (file: string, exportName?: string) => Promise<LoadedGraph>;
  /** How a file is named in what is kept with a run, so that a later command finds it. */
  readonly keptSource: (source: string) => string;
  /** The workflow of a YAML file, or a known one by its name. @throws GRAPH_PARSE, GRAPH_INVALID, WORKFLOW_NOT_FOUND */
  readonly loadWorkflow: (file: string) => Promise<KnownWorkflow>;
  /** The workflows of the directories that this process was given; they are read when first asked for. @throws CONFIG_INVALID */
  readonly openWorkflows: () => Promise<Workflows>;
  /** The graph of a run, for those who have only its row. @throws CONFIG_INVALID nobody here knows it; GRAPH_* */
  readonly findGraph: (run: RunRow) => Promise<Graph>;
  /** Present: only people answer here. `command`: what a person types instead, as it can be pasted into a shell. */
  readonly reserved?: { readonly command: (...words: readonly string[]) => string };
  /** Told of each event while the operation advances a run. */
  readonly watch?: (event: WatchedEvent) => void;
  /** Told of each run that an operation has advanced and that has ended or paused. Never throws. */
  readonly rested?: (run: RunStanding) => Promise<void>;
}

/** An operation: its name on every door, what it takes, what it gives, and the act itself. */
export interface Operation<Input, Output, Context = ReadContext> {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  readonly input: FieldsOf<Input>;
  /** One line: what the output is. */
  readonly output: string;
  /** Of the output, as doors that speak JSON show it. */
  readonly outputSchema: JsonSchema;
  /** Whether it changes anything; doors that may only read leave the others out. */
  readonly isReadOnly: boolean;
  run(context: Context, input: Input): Promise<Output>;
}
