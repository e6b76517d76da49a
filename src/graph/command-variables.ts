/**
 * Names of environment variables reserved for Cairn: those that pass values to a command, and the one with its idempotency key (T8, B6).
 */

const own = /^CAIRN_(V_*\d+|IDEMPOTENCY_KEY)$/;

/** Whether a variable is reserved, so that nobody else may set it. */
export function isOwnVariable(name: string): boolean {
  return own.test(name);
}

/** Returns a function that names the variables of one script, counted from 1. None of the names occurs in the script. */
export function variableNames(script: string): (count: number) => string {
  let prefix = 'CAIRN_V';
  while (script.includes(prefix)) prefix += '_';
  return (count) => `${prefix}${count}`;
}
