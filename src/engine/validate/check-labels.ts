/** The labels of a run, at its start and when they are changed. */
import { CairnError } from '../../errors.ts';
import { checkId } from './check-id.ts';

const labelsMax = 16;
const labelBytesMax = 256;

/** @throws USAGE_INVALID there are too many labels, or one is no text; ID_INVALID one is empty, too long or not well-formed */
export function checkLabels(labels: unknown): void {
  if (labels === undefined) return;
  const refuse = (reason: string): never => {
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Give labels as names with texts: { user: "ann" }.' });
  };
  if (typeof labels !== 'object' || labels === null) refuse('labels are no object');
  const pairs = Object.entries(labels as object);
  if (pairs.length > labelsMax) refuse(`a run has at most ${labelsMax} labels, not ${pairs.length}`);
  for (const [name, value] of pairs) {
    checkId('label', name, labelBytesMax);
    if (typeof value !== 'string') refuse(`label ${name} is no text`);
    if (value !== '') checkId(`value of label ${name}`, value, labelBytesMax);
  }
}
