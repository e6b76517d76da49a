/** Refuses unknown options (G9): a misspelt option is an error where it is written, and is not ignored. */
import { CairnError } from '../errors.ts';
import { nearest } from './nearest.ts';

/** @throws CONFIG_INVALID names the unknown option, lists the known ones, and suggests the nearest of them */
export function refuseUnknownKeys(builder: string, config: unknown, known: readonly string[]): void {
  if (typeof config !== 'object' || config === null)
    throw new CairnError('CONFIG_INVALID', { reason: `${builder} needs a configuration` });
  const unknown = Object.keys(config).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const guess = nearest(unknown, known);
  throw new CairnError('CONFIG_INVALID', {
    reason: `${builder} knows no option ${JSON.stringify(unknown)}; it knows ${known.join(', ')}`,
    ...(guess !== undefined && { hint: `Did you mean ${guess}?` }),
  });
}

/** The error for an option whose value does not fit. */
export function invalidOption(path: string, reason: string): CairnError {
  return new CairnError('CONFIG_INVALID', { path, reason });
}
