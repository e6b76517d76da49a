/** Replaces a text in a file, as a model asks. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { applyOperation } from '../../nodes/blocks/files/edits.ts';

/**
 * @param before - the file's text; undefined if there is no such file
 * @returns the new text
 * @throws NodeFailure EDIT_FAILED the old text is not there, or in more than one place
 */
export function editText(
  before: string | undefined,
  { path, old_text: old, all, ...rest }: Readonly<Record<string, unknown>>,
): string {
  const refuse = (reason: string): never => {
    throw new NodeFailure(`${String(path)}: ${reason}`, { code: 'EDIT_FAILED', applied: 'no' });
  };
  if (before === undefined) return refuse('there is no such file');
  const count = before.split(old as string).length - 1;
  if (count === 0) return refuse('the old text does not stand in it');
  if (count > 1 && all !== true) return refuse(`the old text stands in it ${count} times: give more of it, or say all`);
  return applyOperation(before, { type: 'replace_text', old_text: old, new_text: rest['new_text'] });
}
