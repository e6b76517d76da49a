/** Which values a configuration keeps out of the store: `redact: { store: ['pin', 'input.card.number', 'outputs.login'] }`. */
import type { Intake, Redact } from '../values/admit.ts';
import { plainKey } from './secret-keys.ts';

/** A path as YAML names it, as it is stored: `inputs.pin` is `input.pin`, `blocks.login.outputs.code` is `outputs.login.code`. */
function storedPath(written: readonly string[]): readonly string[] {
  const [first, second, third, ...rest] = written;
  if (first === 'inputs') return ['input', ...written.slice(1)];
  return first === 'blocks' && second !== undefined && third === 'outputs' ? ['outputs', second, ...rest] : written;
}

function fits(rule: readonly string[], path: readonly string[]): boolean {
  return rule.length === path.length && rule.every((key, index) => key === '*' || key === path[index]);
}

/**
 * Compiles rules. One without a dot names keys at any depth, letter case, `-` and `_` aside; one with dots names a place from its
 * partition on: `input`, `outputs.NODE`, `scratch` …; `*` stands for any one key.
 * @returns undefined: there are no rules, and nothing need be asked
 */
export function compileStoreRules(rules: readonly string[] = []): Redact | undefined {
  if (rules.length === 0) return undefined;
  const names = new Set(rules.filter((rule) => !rule.includes('.')).map(plainKey));
  const paths = rules.filter((rule) => rule.includes('.')).map((rule) => storedPath(rule.split('.')));
  return (key, path) => {
    if (names.has(plainKey(key))) return true;
    if (paths.length === 0) return false;
    const place = [...path(), key];
    return paths.some((rule) => fits(rule, place));
  };
}

/** What an engine under these rules takes values in by; undefined: there are none. */
export function intakeOf(rules: readonly string[] | undefined): Intake | undefined {
  const keepsOut = compileStoreRules(rules);
  return keepsOut === undefined ? undefined : { keepsOut };
}

/** The first part of a path, as it is stored or as YAML names it, that is kept out of the store: nothing can be read there. */
export function unstoredPart(redact: Redact, written: readonly string[]): readonly string[] | undefined {
  const path = storedPath(written);
  const index = path.findIndex((key, at) => at > 0 && redact(key, () => path.slice(0, at)));
  return index === -1 ? undefined : path.slice(0, index + 1);
}
