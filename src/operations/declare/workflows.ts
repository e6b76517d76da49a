/** The workflows a process knows: what doors list, read, check and start. */
import type { ConvertedWorkflow } from '../../dialects/yaml/convert-workflow.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import type { Violation } from '../../graph/graph.ts';

/** A file that is no workflow, and why. */
export interface BrokenWorkflow {
  readonly source: string;
  readonly violations: readonly Violation[];
}

export interface KnownWorkflow {
  readonly workflow: TextWorkflow;
  /** Path of the file. */
  readonly source: string;
}

/** The workflows of the directories that a process was given; later directories override earlier ones by name. */
export interface Workflows {
  /** Sorted by name. */
  list(): readonly KnownWorkflow[];
  broken(): readonly BrokenWorkflow[];
  /** @throws WORKFLOW_NOT_FOUND with the names there are, nearest first */
  get(name: string): KnownWorkflow;
  /** Reads a workflow that is not in a directory, under the permissions of such. @throws GRAPH_PARSE, GRAPH_INVALID with all violations, PERMISSION_DENIED */
  readInline(text: string): TextWorkflow;
  /** Reads without permission checks to say what is wrong; never throws for what the text says. @param source - its name in messages */
  check(
    text: string,
    source?: string,
  ): { readonly workflow: TextWorkflow | undefined; readonly violations: readonly Violation[] };
  /** A workflow of another form as one of this form. @throws GRAPH_PARSE, GRAPH_INVALID with all that has no counterpart */
  convert(text: string, source: string): ConvertedWorkflow;
  /** A pipeline in its canonical form. @throws GRAPH_PARSE; USAGE_INVALID it is written in a dialect that has none */
  format(text: string, source: string): string;
  /** Reads the directories again; deleted files are forgotten. */
  reload(): { readonly total: number; readonly broken: readonly BrokenWorkflow[] };
}
