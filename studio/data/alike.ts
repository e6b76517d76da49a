/** Questions that may be answered alike: those that show a person the same. Pure. */
import type { Wait } from './types.ts';

/** What is shown of a question: equal for two that are alike. Undefined: it is answered by itself, as an effect in doubt is. */
export function questionKey({
  kind,
  name,
  prompt,
  schema,
  choices,
  matching,
  metadata,
  isApproval,
  for: whose,
}: Wait): string | undefined {
  if (kind !== 'question') return undefined;
  return JSON.stringify([name, prompt, schema, choices, matching, shownPart(metadata), isApproval, whose]);
}

/** What a question tells of itself, without what names its run and its call. */
function shownPart(metadata: unknown): unknown {
  if (typeof metadata !== 'object' || metadata === null) return metadata;
  const { key: _key, ...shown } = metadata as Readonly<Record<string, unknown>>;
  return shown;
}

export const keyOfWait = ({ runId, waitId }: Wait): string => `${runId} ${waitId}`;
