/** Texts with references in them: what the readers of files hand to the language, and what they get back. */
import type { CommandText } from '../../graph/node-type.ts';

/** What a text may name. */
export interface Names {
  readonly inputs: readonly string[];
  readonly blocks: readonly string[];
  /** Output fields of a block; undefined: not known, so any. */
  readonly fieldsOf: (block: string) => readonly string[] | undefined;
  readonly secrets: readonly string[];
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

/** How a block stands in a scope. */
export interface BlockView {
  readonly status: 'completed' | 'failed' | 'skipped';
  /** Of a completed block; undefined: a person said that its effect happened, and not what it gave. */
  readonly output: Readonly<Record<string, unknown>> | undefined;
  readonly error: Error | undefined;
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

/** `parseCommand`: a string for a shell. */
export type ParseCommand = (
  text: string,
  names: Names,
) => { readonly template: Template<CommandText>; readonly faults: readonly TextFault[] };
/** `parseCondition`: `"${a.exit_code} == 0 and not ${b.confirmed}"`, or an expression without `${}`. */
export type ParseCondition = (
  text: string,
  names: Names,
) => { readonly template: Template<boolean>; readonly faults: readonly TextFault[] };
