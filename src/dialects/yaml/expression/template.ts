/** Texts with references: which names they may use, what is wrong with them, and their values. */
import { CairnError } from '../../../errors.ts';
import type { Redact } from '../../../state/values/admit.ts';

/** The names that a text may use. */
export interface Names {
  readonly inputs: readonly string[];
  readonly blocks: readonly string[];
  /** Output fields of a block; undefined if not known, so any are allowed. */
  readonly fieldsOf: (block: string) => readonly string[] | undefined;
  readonly secrets: readonly string[];
  /** The single type of a named value, in terms of JSON Schema; undefined if not known or several. */
  readonly typeOf?: (name: string, field: string | undefined) => string | undefined;
  /** Places that are not stored, so nothing can be read there. */
  readonly redact?: Redact | undefined;
  /** Whether `each` may be used. */
  readonly hasEach: boolean;
  /** Inputs whose default names the folder of the run. */
  readonly folderInputs?: ReadonlyMap<string, string>;
  /** Takes the blocks whose `execution_time_ms` is read. */
  readonly timed?: Set<string>;
}

/** A fault in a text, at an offset in it. */
export interface TextFault {
  readonly offset: number;
  readonly rule: string;
  readonly message: string;
  readonly fix: string;
  /** Default `error`. */
  readonly severity?: 'error' | 'warning';
}

/** Whether a fault prevents evaluation. */
export const isError = ({ severity }: TextFault): boolean => severity !== 'warning';

/** The most errors reported for one text; further ones are seldom useful. */
export const maxErrors = 100;

/** The status of a block in a scope. */
export interface BlockView {
  readonly status: 'completed' | 'failed' | 'skipped';
  /** Output of a completed block; undefined if a person said that its effect happened without giving its output. */
  readonly output: Readonly<Record<string, unknown>> | undefined;
  readonly error: Error | undefined;
  /** For a block that runs once for each item: how its items run. */
  readonly mode?: 'parallel' | 'sequential';
}

/** The values that references read during evaluation. */
export interface Scope {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly block: (id: string) => BlockView;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly each:
    | { readonly key: string; readonly value: unknown; readonly index: number; readonly count: number }
    | undefined;
}

/** The names that a text uses. */
export interface Named {
  readonly inputs: readonly string[];
  readonly blocks: readonly string[];
  readonly secrets: readonly string[];
  readonly usesEach: boolean;
}

/** A parsed value with references in its strings. */
export interface Template<Value = unknown> {
  readonly named: Named;
  /** Whether it contains no references, so that it has the same value in every scope. */
  readonly isLiteral: boolean;
  /** Evaluates it. @throws CairnError REFERENCE_ABSENT it reads a field of a block that was skipped or failed; EXPRESSION_FAILED */
  readonly evaluate: (scope: Scope) => Value;
}

/** A text, parsed. */
export interface ParsedTemplate<Value = unknown> {
  readonly template: Template<Value>;
  readonly faults: readonly TextFault[];
}

const nothingNamed: Named = { inputs: [], blocks: [], secrets: [], usesEach: false };

/** A template with a constant value. */
export function literalTemplate<Value>(value: Value): Template<Value> {
  return { named: nothingNamed, isLiteral: true, evaluate: () => value };
}

/** A template for a text with faults; evaluating it throws. */
export function faultyTemplate(text: string, named: Named = nothingNamed): Template<never> {
  const evaluate = (): never => {
    throw new CairnError('EXPRESSION_FAILED', { text, reason: 'it has faults' });
  };
  return { named, isLiteral: false, evaluate };
}
