/** Dialects written as text, and how a text recorded with a run is read. */
import { dialectOf, type TextWorkflow } from '../../dialects/text-workflow.ts';
import type { Permissions } from '../../graph/permissions/permissions.ts';
import { CairnError } from '../../errors.ts';

export interface KeptOptions {
  /** `inline`: the text is held to the permissions, whatever was recorded with it. */
  readonly origin?: 'inline';
  /** Default: those of this process. */
  readonly permissions?: Permissions;
}

/** The part of a dialect that runs need. */
export interface TextDialect {
  /** Reads the workflow in a text recorded with a run. @throws GRAPH_PARSE, GRAPH_INVALID, PERMISSION_DENIED */
  readonly readKept: (text: string, options?: KeptOptions) => TextWorkflow;
}

/** Dialects by the name with which their recorded texts begin. Each is opened on first use. */
export type TextDialects = Readonly<Record<string, () => Promise<TextDialect>>>;

/**
 * Reads a recorded text in the dialect that it was written in. @throws GRAPH_PARSE the dialect is not known here, or the text is damaged;
 * GRAPH_INVALID, PERMISSION_DENIED
 */
export async function readKeptText(
  dialects: TextDialects,
  text: string,
  options: KeptOptions = {},
): Promise<TextWorkflow> {
  const name = dialectOf(text);
  const open = name !== undefined && Object.hasOwn(dialects, name) ? dialects[name] : undefined;
  if (open !== undefined) return (await open()).readKept(text, options);
  const known = Object.keys(dialects).join(', ');
  const reason = name === undefined ? 'it names no dialect' : `its dialect ${name} is not known here (known: ${known})`;
  throw new CairnError('GRAPH_PARSE', { file: 'the text kept with the run', reason });
}
