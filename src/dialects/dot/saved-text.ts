/** The text that is saved with a run of a pipeline: the pipeline, and those that it runs, so that a resume needs no file. */
import { CairnError } from '../../errors.ts';

export interface SavedText {
  readonly origin: string;
  readonly source: string;
  readonly text: string;
  /** Texts of the pipelines that it runs, by path. */
  readonly files: ReadonlyMap<string, string>;
}

export function savedText({ origin, source, text, files }: SavedText): string {
  return JSON.stringify({
    dialect: 'dot',
    origin,
    source,
    text,
    ...(files.size > 0 && { files: Object.fromEntries(files) }),
  });
}

/** @throws GRAPH_PARSE */
export function parseSavedText(text: string): SavedText {
  try {
    const { dialect, origin, source, text: saved, files = {} } = JSON.parse(text) as Record<string, unknown>;
    if (dialect === 'dot' && typeof saved === 'string') {
      const texts = new Map(Object.entries(files as Readonly<Record<string, string>>));
      return { origin: String(origin), source: String(source), text: saved, files: texts };
    }
  } catch {
    // The error is thrown below.
  }
  throw new CairnError('GRAPH_PARSE', { file: 'the text kept with the run', reason: 'it is no pipeline' });
}
