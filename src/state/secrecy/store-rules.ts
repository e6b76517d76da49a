/** Compiles rules about values that must not be stored: `redact: { store: ['pin', 'input.card.number', 'outputs.login'] }`. */
import type { Intake, Redact } from '../values/admit.ts';
import { plainKey } from './shown-text.ts';

/**
 * Converts a path in the notation of YAML files to the stored one: `inputs.pin` to `input.pin`, `blocks.login.outputs.code` to
 * `outputs.login.code`.
 */
function storedPath(written: readonly string[]): readonly string[] {
  const [first, second, third, ...rest] = written;
  if (first === 'inputs') return ['input', ...written.slice(1)];
  return first === 'blocks' && second !== undefined && third === 'outputs' ? ['outputs', second, ...rest] : written;
}

function fits(rule: readonly string[], path: readonly string[]): boolean {
  return rule.length === path.length && rule.every((key, index) => key === '*' || key === path[index]);
}

/**
 * Compiles rules. A rule without a dot names a key at any depth, ignoring letter case, `-` and `_`. A rule with dots is a path from a
 * partition: `input`, `outputs.NODE`, `scratch` …; `*` matches any one key.
 * @returns undefined if there are no rules
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

/** The intake for an engine with these rules; undefined if there are none. */
export function intakeOf(rules: readonly string[] | undefined): Intake | undefined {
  const keepsOut = compileStoreRules(rules);
  return keepsOut === undefined ? undefined : { keepsOut };
}

/** What the rules mean for what nodes stream while they work, before anything of it is recorded. */
export interface LiveRules {
  /** Whether a rule is about the output of a node, so that nothing of the node is streamed. */
  hides(node: readonly string[]): boolean;
  /** Whether values under this key are omitted. */
  keepsOut(key: string): boolean;
}

/** @returns undefined if there are no rules */
export function liveRulesOf(rules: readonly string[] = []): LiveRules | undefined {
  if (rules.length === 0) return undefined;
  const names = new Set(rules.filter((rule) => !rule.includes('.')).map(plainKey));
  const hidden = rules
    .filter((rule) => rule.includes('.'))
    .map((rule) => storedPath(rule.split('.')))
    .flatMap(([first, node = '']) => (first === 'outputs' || first === 'artifacts' ? [node] : []));
  return {
    hides: (node) => hidden.includes('*') || node.some((id) => hidden.includes(id)),
    keepsOut: (key) => names.has(plainKey(key)),
  };
}

/** The first prefix of a path that is not stored, so that nothing can be read there. The path may be in stored or YAML notation. */
export function unstoredPart(redact: Redact, written: readonly string[]): readonly string[] | undefined {
  const path = storedPath(written);
  const index = path.findIndex((key, at) => at > 0 && redact(key, () => path.slice(0, at)));
  return index === -1 ? undefined : path.slice(0, index + 1);
}
