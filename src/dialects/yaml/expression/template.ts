/** Texts with references in them: what they may name, what is wrong with them, and what they give. */
import { CairnError } from '../../../errors.ts';
import type { Redact } from '../../../state/values/admit.ts';

/** What a text may name. */
export interface Names {
  readonly inputs: readonly string[];
  readonly blocks: readonly string[];
  /** Output fields of a block; undefined: not known, so any. */
  readonly fieldsOf: (block: string) => readonly string[] | undefined;
  readonly secrets: readonly string[];
  /** The one type that a value read by name can be, as JSON Schema calls it; undefined: not known, or several. */
  readonly typeOf?: (name: string, field: string | undefined) => string | undefined;
  /** Places that are kept out of the store, so that nothing can be read there. */
  readonly redact?: Redact | undefined;
  /** Whether `each` is there. */
  readonly hasEach: boolean;
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

/** Whether a fault keeps its text from being evaluated. */
export const isError = ({ severity }: TextFault): boolean => severity !== 'warning';

/** Errors of one text: what follows is seldom worth reading. */
export const maxErrors = 100;

/** How a block stands in a scope. */
export interface BlockView {
  readonly status: 'completed' | 'failed' | 'skipped';
  /** Of a completed block; undefined: a person said that its effect happened, and not what it gave. */
  readonly output: Readonly<Record<string, unknown>> | undefined;
  readonly error: Error | undefined;
  /** How its items run, of a block that runs once for each. */
  readonly mode?: 'parallel' | 'sequential';
}

/** What references read when a text is evaluated. */
export interface Scope {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly block: (id: string) => BlockView;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly each:
    { readonly key: string; readonly value: unknown; readonly index: number; readonly count: number } | undefined;
}

/** What was found in a text. */
export interface Named {
  readonly inputs: readonly string[];
  readonly blocks: readonly string[];
  readonly secrets: readonly string[];
  readonly usesEach: boolean;
}

/** A value with references in its strings, parsed. */
export interface Template<Value = unknown> {
  readonly named: Named;
  /** No references in it: `evaluate` gives the same for every scope. */
  readonly isLiteral: boolean;
  /** @throws CairnError REFERENCE_ABSENT it reads a field of a block that was skipped or failed; EXPRESSION_FAILED */
  readonly evaluate: (scope: Scope) => Value;
}

/** A text, parsed. */
export interface ParsedTemplate<Value = unknown> {
  readonly template: Template<Value>;
  readonly faults: readonly TextFault[];
}

const nothingNamed: Named = { inputs: [], blocks: [], secrets: [], usesEach: false };

/** A template that gives one value whatever the scope. */
export function literalTemplate<Value>(value: Value): Template<Value> {
  return { named: nothingNamed, isLiteral: true, evaluate: () => value };
}

/** What a faulty text gives if it is evaluated all the same. */
export function faultyTemplate(text: string, named: Named = nothingNamed): Template<never> {
  const evaluate = (): never => {
    throw new CairnError('EXPRESSION_FAILED', { text, reason: 'it has faults' });
  };
  return { named, isLiteral: false, evaluate };
}
