/**
 * Drafts one section of the notes. It stands for a language model or a colleague: it takes a while, it would cost money, and it
 * keeps account of what it was asked. The text is made by rules, so that the example runs anywhere and says the same each time.
 */
import type { Commit, CommitGroup } from './commits.ts';
import { writeLedger } from './ledger.ts';

export interface DraftRequest extends CommitGroup {
  /** Where the drafter keeps account. */
  readonly ledger: string;
  /** How long one section takes. */
  readonly paceMs: number;
}

const longestList = 40;

/** Takes the type off `fix(area): text`, and makes a sentence's beginning of the rest. */
function describeCommit({ id, subject }: Commit): string {
  const text = subject.replace(/^[a-z]+(?:\(([^)]*)\))?!?:\s*/i, (_, area?: string) => (area ? `${area}: ` : ''));
  return `- ${text.charAt(0).toUpperCase()}${text.slice(1)} (${id})`;
}

/** @returns the section as Markdown */
export async function draftSection(
  { name, commits, ledger, paceMs }: DraftRequest,
  idempotencyKey: string,
): Promise<string> {
  if (paceMs > 0) await new Promise((resolve) => setTimeout(resolve, paceMs));
  const listed = commits.slice(0, longestList).map((commit) => describeCommit(commit));
  const more = commits.length > longestList ? [`- … and ${commits.length - longestList} more`] : [];
  const output = [`## ${name}`, '', ...listed, ...more].join('\n');
  await writeLedger(ledger, { key: idempotencyKey, effect: `draft ${name}`, output });
  return output;
}
