/** What an operation is: one declaration that every door (command line, MCP, HTTP) renders. */
import type { Engine, RunResult, StreamEvent } from '../engine/api.ts';
import type { Graph } from '../graph/graph.ts';
import type { BlobStore } from '../ports/blobs.ts';
import type { Ids } from '../ports/ids.ts';
import type { Store } from '../ports/store.ts';

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
  | 'assignments';

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
export interface ReadContext {
  readonly tenant: string;
  readonly store: Store;
  /** Whether a worker of this name is known to have died; undefined: not known. */
  readonly isWorkerDead: (workerId: string) => boolean | undefined;
  /** Epoch ms, for ages. */
  readonly now: () => number;
}

/** What an operation that reads states is given: large values are blobs. */
export interface HistoryContext extends ReadContext {
  readonly blobs: BlobStore;
}

/** What is told of a run that is being followed. */
export type WatchedEvent = StreamEvent;

/** Where a run stands when nothing more can be done for it now. */
export type RunStanding = RunResult;

/** A graph and where it was found. */
export interface LoadedGraph {
  readonly graph: Graph;
  /** Kept with the run, so that a later command finds the graph again. */
  readonly source: string;
  readonly exportName: string;
}

/** What an operation that moves runs is given. */
export interface WorkContext extends HistoryContext {
  readonly engine: Engine;
  /** Names the worker that claims, and tells whether another has died. */
  readonly ids: Ids;
  /** @throws GRAPH_PARSE the file cannot be read, has an error, or exports no graph; GRAPH_INVALID; USAGE_INVALID it exports several */
  readonly loadGraph: (file: string, exportName?: string) => Promise<LoadedGraph>;
  /** Told of each event while the operation advances a run. */
  readonly watch?: (event: WatchedEvent) => void;
}

/** An operation: its name on every door, what it takes, what it gives, and the act itself. */
export interface Operation<Input, Output, Context = ReadContext> {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  readonly input: FieldsOf<Input>;
  /** One line: what the output is. */
  readonly output: string;
  /** Whether it changes anything; doors that may only read leave the others out. */
  readonly isReadOnly: boolean;
  run(context: Context, input: Input): Promise<Output>;
}
