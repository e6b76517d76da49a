/** How many branches a join policy needs. */

/** Undefined means that all are waited for, however they end. */
export function neededBranches(policy: string, count: number): number | undefined {
  if (policy === 'first_success') return 1;
  if (policy === 'quorum') return Math.floor(count / 2) + 1;
  const [, before, within] = /^(\d{1,6})_of_n$|^k_of_n\((\d{1,6})\)$/.exec(policy) ?? [];
  return before === undefined && within === undefined ? undefined : Number(before ?? within);
}

export function isJoinPolicy(policy: string): boolean {
  return ['wait_all', 'all'].includes(policy) || neededBranches(policy, 0) !== undefined;
}
