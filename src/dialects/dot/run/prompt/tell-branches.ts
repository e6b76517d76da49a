/** Tells prompts how the branches of a parallel stage ended, and what they answered. */
import { asText } from '../context/context-keys.ts';
import type { ShownResult } from '../stage/branch-result.ts';
import { cut, cutMiddle } from './cut.ts';

/** Most characters of what is told of each branch. */
export interface BranchAmount {
  readonly value: number;
  readonly answer: number;
}

export function tellBranches(results: readonly ShownResult[], amount: BranchAmount): string {
  return results.map((result) => tellBranch(result, amount)).join('\n');
}

function tellBranch(
  { id, outcome, failure_reason: reason, response, context }: ShownResult,
  amount: BranchAmount,
): string {
  const isSaid = (key: string): boolean => key === 'last_response' && response !== undefined;
  const values = Object.entries(context).filter(([key, value]) => !isSaid(key) && asText(value) !== '');
  const lines = [
    ...(response === undefined ? [] : [`answer: ${cut(response.trim(), amount.answer)}`]),
    ...values.map(([key, value]) => `${key}: ${cutMiddle(asText(value).trimEnd(), amount.value)}`),
  ];
  return [`- ${id}: ${ended(outcome, reason, amount.value)}`, ...lines.map(indented)].join('\n');
}

/** An outcome, and why, if it says why. */
export function ended(outcome: string, reason: string | undefined, length: number): string {
  return reason === undefined || reason === '' || length === 0 ? outcome : `${outcome} (${cutMiddle(reason, length)})`;
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
