/** A string with references in it (T1, T2). */
import { CairnError } from '../../../errors.ts';
import { renderText } from '../../../graph/expression/expression-values.ts';
import { SecretReference, type SecretPart } from '../../../graph/secret-reference.ts';
import { currentBudget, withBudget } from '../../../graph/expression/expression-budget.ts';
import { payForWhole } from '../../../graph/expression/expression-meter.ts';
import { compileReference, reportError, type CompiledReference } from './compile-reference.ts';
import { readReference } from './expression-tokens.ts';
import { createMentions, namedBy, type Compilation } from './resolve-names.ts';
import {
  faultyTemplate,
  isError,
  literalTemplate,
  maxErrors,
  type Named,
  type Names,
  type ParsedTemplate,
  type Scope,
  type Template,
  type TextFault,
} from './template.ts';

type Piece = string | CompiledReference;

/** Splits a text into literal text and references. References with errors are left out. */
function splitText(text: string, compilation: Compilation): readonly Piece[] {
  const pieces: Piece[] = [];
  let plain = '';
  let faulty = 0;
  let at = 0;
  for (let next = text.indexOf('${'); next >= 0 && faulty < maxErrors; next = text.indexOf('${', at)) {
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
      if (reference === undefined) faulty += 1;
      else pieces.push(reference);
      at = end;
    } catch (error) {
      reportError(compilation.faults, error);
      faulty += 1;
      at = next + 2;
    }
  }
  plain += text.slice(at);
  if (plain !== '') pieces.push(plain);
  return pieces;
}

/** Converts a value to text and pays for it. @throws CairnError EXPRESSION_FAILED it is bytes, or too large */
export function asText(value: unknown, text: string): string {
  try {
    return withBudget(() => {
      payForWhole(value, currentBudget());
      const rendered = renderText(value);
      currentBudget().takeBytes(rendered.length);
      return rendered;
    });
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

/** The template made of pieces without faults. */
function templateOf(pieces: readonly Piece[], text: string, named: Named): Template {
  if (pieces.every((piece) => typeof piece === 'string')) return literalTemplate(pieces.join(''));
  const [only] = pieces;
  if (pieces.length > 1 || typeof only !== 'object') {
    return { named, isLiteral: false, evaluate: (scope) => evaluatePieces(pieces, text, scope) };
  }
  const { secret, isConstant } = only;
  const evaluate = secret === undefined ? only.evaluate : () => new SecretReference([{ secret }]);
  return { named, isLiteral: isConstant, evaluate };
}

/** Parses a text of a workflow. Without `${` it returns at once. */
export function parseText(text: string, names: Names): ParsedTemplate {
  if (!text.includes('${')) return { template: literalTemplate(text), faults: [] };
  const faults: TextFault[] = [];
  const mentions = createMentions();
  const pieces = splitText(text, { names, mentions, faults });
  const named = namedBy(mentions);
  return { template: faults.some(isError) ? faultyTemplate(text, named) : templateOf(pieces, text, named), faults };
}
