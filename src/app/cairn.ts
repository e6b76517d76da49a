/** What the command line can do, for programs: workflows and graphs of files, and the runs of a store, by the same operations. */
import type { Engine } from '../engine/api.ts';
import type { Graph } from '../graph/graph.ts';
import type { History } from '../history/history.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import type { Operation, WatchedEvent } from '../operations/contract/operation.ts';
import type * as operations from '../operations/table.ts';

type Operations = typeof operations;

/** An operation as a method. */
type Method<Done> =
  Done extends Operation<infer Input, infer Output, infer _Context>
    ? (...input: object extends Input ? [input?: Input] : [input: Input]) => Promise<Output>
    : never;

/** Every operation as a method. */
export type Methods = { readonly [Name in keyof Operations]: Method<Operations[Name]> };

/**
 * The operations, each as a method. It takes what the command takes and gives what the command shows with `--json`, but nothing is masked;
 * it throws what the command fails with. A run, or a checkpoint of it, is named as on a command line.
 */
export interface Cairn extends Methods {
  /** The JSON Schema of workflow files, with the blocks there are here. */
  readonly schema: () => Promise<JsonSchema>;
  /**
   * The graph of a file: a workflow in YAML, a pipeline, or a module. It goes wherever a graph does, such as into `subgraphNode` (G16).
   * @param file - a path, or the name of a workflow
   * @throws WORKFLOW_NOT_FOUND, GRAPH_INVALID
   */
  readonly loadGraph: (file: string) => Promise<Graph>;
  /** Goes on with runs and takes answers: `interview` asks for it. */
  readonly engine: Pick<Engine, 'resume' | 'answer'>;
  /** The runs of the store: read piece by piece, exported and imported. */
  readonly history: History;
  /** Withdraws what has not begun, gives runs back, and closes the store. */
  readonly close: () => Promise<void>;
}

/** Where workflows, runs and the configuration are. */
export interface CairnOptions {
  /** Where the configuration is looked for, and where paths begin. Default: the working directory. */
  readonly cwd?: string;
  /** As `--store`: `sqlite:PATH`, or `memory:`. Default: as the configuration says, else `.cairn` of the folder. */
  readonly store?: string;
  /** As `--blobs`: `s3://BUCKET/PREFIX`, or `file:FOLDER`. Default: beside the store; or as the configuration says, where it names the store. */
  readonly blobs?: string;
  /** As `--config`: a configuration file. Default: that of the folder. */
  readonly config?: string;
  /** As `--workflows`: folders of workflows, later ones override earlier ones. */
  readonly workflows?: readonly string[];
  /**
   * False for a store in files that may be somebody else's: texts of its runs are then checked against `allow` unless a file here contains
   * the same. Default true. A store on a server is never trusted so far.
   */
  readonly trustsStore?: boolean;
  /** As `--allow`: what workflows passed as texts may reach for. */
  readonly allow?: readonly string[];
  /** Called with each event of a run that a method here follows. */
  readonly watch?: (event: WatchedEvent) => void;
}
