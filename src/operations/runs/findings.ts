/** What other code does to a run, as previews and checks show it. */
import { findingKinds, type RunFinding } from '../../engine/run-check.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { shownText } from '../../state/secrecy/shown-text.ts';
import { described, listOf, objectOf, oneOf, text } from '../contract/output-shapes.ts';

export type { RunFinding } from '../../engine/run-check.ts';

export const findingsShape: JsonSchema = described(
  listOf(
    objectOf(
      { kind: described(oneOf(...findingKinds), 'what would happen'), why: described(text, 'why, in words') },
      { node: text },
    ),
  ),
  'what would happen, and why',
);

/** Reasons may quote what a run holds: schemas, names, messages of errors. */
export function maskedFindings(findings: readonly RunFinding[]): readonly RunFinding[] {
  return findings.map((finding) => ({ ...finding, why: shownText(finding.why) }));
}
