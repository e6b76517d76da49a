/** Dialects whose workflows are texts, and the reading of a text that was kept with a run. */
import { dialectOf, type TextWorkflow } from '../../dialects/text-workflow.ts';
import { CairnError } from '../../errors.ts';

/** One dialect, as far as runs need it. */
export interface TextDialect {
  /** The workflow of a text that was kept with a run. @throws GRAPH_PARSE, GRAPH_INVALID, PERMISSION_DENIED */
  readonly readKept: (text: string) => TextWorkflow;
}

/** By the name that a kept text begins with; each is opened when it is first needed. */
export type TextDialects = Readonly<Record<string, () => Promise<TextDialect>>>;

/** Reads a kept text in the dialect that it was written in, whatever dialects there are by now. @throws GRAPH_PARSE none here knows it, or it is damaged; GRAPH_INVALID, PERMISSION_DENIED */
export async function readKeptText(dialects: TextDialects, text: string): Promise<TextWorkflow> {
  const name = dialectOf(text);
  const open = name !== undefined && Object.hasOwn(dialects, name) ? dialects[name] : undefined;
  if (open !== undefined) return (await open()).readKept(text);
  const known = Object.keys(dialects).join(', ');
  const reason = name === undefined ? 'it names no dialect' : `its dialect ${name} is not known here (known: ${known})`;
  throw new CairnError('GRAPH_PARSE', { file: 'the text kept with the run', reason });
}
