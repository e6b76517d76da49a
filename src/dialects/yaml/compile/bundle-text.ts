/** The text recorded with a run: its workflow, and every workflow that it may call (H3). */
import { CairnError } from '../../../errors.ts';
import type { WorkflowText } from '../file/read-options.ts';
import { isMapping } from '../file/shape.ts';
import type { CheckpointSettings } from '../../text-workflow.ts';

export interface Bundle {
  readonly origin: 'file' | 'inline';
  /** Name of the workflow that is run. */
  readonly main: string;
  readonly text: WorkflowText;
  readonly others: ReadonlyMap<string, WorkflowText>;
  /** The default settings that applied. */
  readonly checkpoint: CheckpointSettings | undefined;
}

/** Writes a bundle. The same workflows give the same text. */
export function bundleText({ origin, main, text, others, checkpoint }: Bundle): string {
  const sorted = [...others].filter(([name]) => name !== main).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const workflows = Object.fromEntries(
    [[main, text] as const, ...sorted].map(([name, one]) => [name, { text: one.text, source: one.source }]),
  );
  const hasSettings = checkpoint !== undefined && Object.keys(checkpoint).length > 0;
  return JSON.stringify({ dialect: 'yaml', origin, main, ...(hasSettings && { checkpoint }), workflows });
}

/** Parses a bundle. @throws GRAPH_PARSE the text is not a bundle */
export function parseBundle(text: string): Bundle {
  const refuse = (reason: string): never => {
    throw new CairnError('GRAPH_PARSE', { file: 'the text kept with the run', reason });
  };
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return refuse('it is not JSON');
  }
  if (
    !isMapping(data) ||
    data['dialect'] !== 'yaml' ||
    typeof data['main'] !== 'string' ||
    !isMapping(data['workflows'])
  )
    return refuse('it is no bundle of YAML workflows');
  const others = new Map<string, WorkflowText>();
  for (const [name, one] of Object.entries(data['workflows'])) {
    if (!isMapping(one) || typeof one['text'] !== 'string' || typeof one['source'] !== 'string')
      return refuse(`workflow ${name} has no text`);
    others.set(name, { text: one['text'], source: one['source'] });
  }
  const main = others.get(data['main']);
  if (main === undefined) return refuse(`workflow ${data['main']} is missing`);
  others.delete(data['main']);
  return {
    origin: data['origin'] === 'inline' ? 'inline' : 'file',
    main: data['main'],
    text: main,
    others,
    checkpoint: isMapping(data['checkpoint']) ? data['checkpoint'] : undefined,
  };
}
