/** What is logged of a slow machine, at any moment and of any run: a test of what is logged of runs leaves it out. */
export const isOfSlowMachine = ({ event }: { readonly event: string }): boolean =>
  ['slow-commit', 'loop-blocked'].includes(event);
