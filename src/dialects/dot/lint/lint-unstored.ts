/** Refuses to read what a rule of the configuration keeps out of the store: it is not there when a stage reads it (V4). */
import type { Redact } from '../../../state/values/admit.ts';
import { unstoredPart } from '../../../state/secrecy/store-rules.ts';
import type { Report } from './report.ts';

export function lintUnstored({ pipeline, conditionOf, error }: Report, redact: Redact): void {
  const refuse = (path: readonly string[], at: number, what: string): void => {
    if (unstoredPart(redact, path) === undefined) return;
    const message = `${what} is kept out of the store by \`redact\` in the configuration, so it cannot be read`;
    error('unstored_value', at, message, 'take it out of `redact.store`, or of the pipeline');
  };
  for (const { name } of pipeline.params)
    refuse(['input', name], pipeline.attributes.placeOf('params'), `the parameter ${name}`);
  for (const edge of pipeline.edges)
    for (const { key } of conditionOf(edge).clauses ?? [])
      refuse(['scratch', key.replace(/^context\./, '')], edge.attributes.placeOf('condition'), key);
}
