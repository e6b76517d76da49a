/** Names of the environment variables that are ours: those in which values reach a command, and the key of its effect (T8, B6). */

const own = /^CAIRN_(V_*\d+|IDEMPOTENCY_KEY)$/;

/** Whether a variable is ours, so that nobody else may set it. */
export function isOwnVariable(name: string): boolean {
  return own.test(name);
}

/** Names the variables of one script, counted from 1; none of them stands in the script already. */
export function variableNames(script: string): (count: number) => string {
  let prefix = 'CAIRN_V';
  while (script.includes(prefix)) prefix += '_';
  return (count) => `${prefix}${count}`;
}
