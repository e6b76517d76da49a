/** Dotted paths into a state as people write them: `scratch.plan.title`, with `\.` for a dot within a key. */
import { CairnError } from '../../errors.ts';

/** Splits `scratch.plan.title` into its keys, which may be empty. */
export function splitPath(text: string): readonly string[] {
  const keys = [''];
  for (const [, escaped, plain] of text.matchAll(/\\(.)|(.)/gsu)) {
    if (plain === '.') keys.push('');
    else keys.push(`${keys.pop()}${escaped ?? plain}`);
  }
  return keys;
}

/** Splits a path that a person wrote. @throws USAGE_INVALID a key is empty */
export function parsePath(text: string): readonly string[] {
  const keys = splitPath(text);
  if (keys.includes(''))
    throw new CairnError('USAGE_INVALID', {
      reason: `path ${JSON.stringify(text)} has an empty key`,
      hint: 'Write a path such as scratch.plan.title.',
    });
  return keys;
}

/** Writes keys as a dotted path that {@link parsePath} reads back. */
export function formatPath(keys: readonly (string | number)[]): string {
  return keys.map((key) => String(key).replace(/[\\.]/g, '\\$&')).join('.');
}
