/** Tells in words that a fork goes on from an earlier checkpoint than was named. */

export function earlierText({
  insteadOf: { runId, seq },
  because,
}: {
  readonly insteadOf: { readonly runId: string; readonly seq: number };
  readonly because: string;
}): string {
  return `not ${runId}@${seq}: ${because}. What followed is taken over or done again.`;
}
