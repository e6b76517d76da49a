/** A string with references in it (T1, T2). */
import { CairnError } from '../../errors.ts';
import { renderText } from '../../graph/expression-values.ts';
import { SecretReference, type SecretPart } from '../../graph/secret-reference.ts';
import { compileReference, reportError, type Compilation, type CompiledReference } from './compile-reference.ts';
import { readReference } from './expression-tokens.ts';
import { findForeignForms } from './foreign-forms.ts';
import { createMentions, namedBy } from './resolve-names.ts';
import type { Named, Names, Scope, Template, TextFault } from './template.ts';

type Piece = string | CompiledReference;

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

/** Of one text: what follows is seldom worth reading. */
const maxFaults = 100;

/** Text and references in turn; undefined if one of them has faults. */
function splitText(text: string, compilation: Compilation): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  let plain = '';
  let isFaulty = false;
  let at = 0;
  const { faults } = compilation;
  for (let next = text.indexOf('${'); next >= 0 && faults.length < maxFaults; next = text.indexOf('${', at)) {
    plain += text.slice(at, next);
    if (next > at && text[next - 1] === '$') {
      plain = `${plain.slice(0, -1)}\${`;
      at = next + 2;
      continue;
    }
    try {
      const { tokens, end } = readReference(text, next);
      const reference = compileReference(tokens, text.slice(next, end), compilation);
      if (plain !== '') pieces.push(plain);
      plain = '';
      if (reference === undefined) isFaulty = true;
      else pieces.push(reference);
      at = end;
    } catch (error) {
      reportError(faults, error);
      isFaulty = true;
      at = next + 2;
    }
  }
  plain += text.slice(at);
  if (plain !== '') pieces.push(plain);
  return isFaulty ? undefined : pieces;
}

/** A value as text. @throws CairnError EXPRESSION_FAILED it is bytes */
export function asText(value: unknown, text: string): string {
  try {
    return renderText(value);
  } catch (cause) {
    throw new CairnError('EXPRESSION_FAILED', { text, reason: (cause as Error).message }, { cause });
  }
}

function evaluatePieces(pieces: readonly Piece[], text: string, scope: Scope): unknown {
  const parts = pieces.map((piece): SecretPart => {
    if (typeof piece === 'string') return piece;
    return piece.secret === undefined ? asText(piece.evaluate(scope), text) : { secret: piece.secret };
  });
  return parts.every((part) => typeof part === 'string') ? parts.join('') : new SecretReference(parts);
}

export interface ParsedText {
  readonly template: Template;
  readonly faults: readonly TextFault[];
}

/** Parses a string of a workflow. Without `${` it costs no more than a look for one. */
export function parseText(text: string, names: Names): ParsedText {
  const faults: TextFault[] = text.includes('{{') || text.includes('{%') ? [...findForeignForms(text)] : [];
  if (!text.includes('${')) {
    return { template: faults.length > 0 ? faultyTemplate(text) : literalTemplate(text), faults };
  }
  const mentions = createMentions();
  const pieces = splitText(text, { names, mentions, faults });
  const named = namedBy(mentions);
  if (pieces === undefined || faults.some(({ severity }) => severity !== 'warning')) {
    return { template: faultyTemplate(text, named), faults };
  }
  const [only] = pieces;
  if (pieces.length === 1 && typeof only === 'object') {
    const { secret } = only;
    const evaluate = secret === undefined ? only.evaluate : () => new SecretReference([{ secret }]);
    return { template: { named, isLiteral: only.isConstant, evaluate }, faults };
  }
  if (pieces.every((piece) => typeof piece === 'string')) {
    return { template: literalTemplate(pieces.join('')), faults };
  }
  return {
    template: { named, isLiteral: false, evaluate: (scope) => evaluatePieces(pieces, text, scope) },
    faults,
  };
}
