/** A string with references in it (T1, T2). */
import { CairnError } from '../../../errors.ts';
import { ExpressionError, parseExpression, type ParsedExpression } from '../../../graph/expression/expression.ts';
import type { ExpressionReference, PathStep } from '../../../graph/expression/expression-references.ts';
import { FieldReader, renderText, payForWhole } from '../../../graph/expression/expression-meter.ts';
import { nearest } from '../../../graph/nearest.ts';
import { blockFields } from './block-fields.ts';
import { TextError, type Token, readReference } from './tokens.ts';
import {
  isError,
  type Names,
  type Scope,
  type TextFault,
  faultyTemplate,
  literalTemplate,
  maxErrors,
  type Named,
  type ParsedTemplate,
  type Template,
} from './template.ts';
import {
  isListed,
  nameOf,
  pathText,
  resolveReference,
  type Compilation,
  createMentions,
  namedBy,
} from './resolve-names.ts';
import { rewriteExpression, variablePrefix, type IsName } from './rewrite-expression.ts';
import { SecretReference, type SecretPart } from '../../../graph/secret-reference.ts';
import { currentBudget, withBudget } from '../../../graph/expression/expression-budget.ts';

// Compiles one expression of a text: its tokens, checked against the names that exist, and its value in a scope (T3, T4, T6).

export interface CompiledReference {
  /** Equal for two expressions with the same meaning. */
  readonly key: string;
  /** The type of its result, as far as known: `bool`, `string`, …, `dyn`. */
  readonly type: string;
  /** The name of the secret, if the expression is nothing but a secret. */
  readonly secret: string | undefined;
  /** The reference, if the expression is known to be nothing but one. */
  readonly whole: ExpressionReference | undefined;
  /** Whether it refers to nothing, so that it has the same value in every scope. */
  readonly isConstant: boolean;
  /** @throws CairnError REFERENCE_ABSENT, EXPRESSION_FAILED */
  readonly evaluate: (scope: Scope) => unknown;
}

/** Adds a fault for a text that cannot be read. @throws any other error */
export function reportError(faults: TextFault[], error: unknown): void {
  if (!(error instanceof TextError)) throw error;
  faults.push({ offset: error.offset, rule: 'T4', message: error.message, fix: error.fix });
}

/** The values of an expression's variables, each read on demand. */
function valuesOf(references: readonly ExpressionReference[], names: Names, scope: Scope): Record<string, unknown> {
  const inputOf = (name: string | number): unknown =>
    isListed(names.inputs, String(name)) ? (scope.inputs[name] ?? null) : undefined;
  const blockOf = (id: string | number): unknown =>
    isListed(names.blocks, String(id)) ? blockFields(scope.block(String(id))) : undefined;
  const valueOf = (name: string): unknown => {
    if (name === 'inputs') return new FieldReader(inputOf, () => scope.inputs);
    if (name === 'blocks') return new FieldReader(blockOf, () => null);
    if (name === 'metadata') return scope.metadata;
    if (name === 'each') return scope.each ?? null;
    return isListed(names.inputs, name) ? inputOf(name) : blockOf(name);
  };
  const values: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const reference of references) values[reference.name] ??= valueOf(nameOf(reference));
  return values;
}

/** Follows a path as far as there are values. */
function follow(value: unknown, path: readonly PathStep[]): unknown {
  let at = value;
  for (const { key } of path) {
    if (typeof at !== 'object' || at === null || key === undefined) return undefined;
    at = at instanceof Map ? (at.get(key) as unknown) : (at as Record<string | number, unknown>)[key];
  }
  return at;
}

function keysOf(value: unknown): readonly string[] {
  const plain = value instanceof FieldReader ? value.plain() : value;
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) return [];
  return plain instanceof Map ? [...plain.keys()].map(String) : Object.keys(plain);
}

/** Why a block, or one of its items, has no fields; undefined if it has. */
function absenceOf(owner: FieldReader): string | undefined {
  // A block of which only some items failed reports failure, but has fields.
  if (owner.get('outputs') !== undefined) return undefined;
  const status: unknown = owner.get('status');
  if (status === 'failed') return 'failed';
  if (status === 'skipped') return 'was skipped';
  return status === 'completed' ? 'happened without an output' : undefined;
}

/** The error for a path that leads to nothing: the block did not complete, or has no such field. */
function absenceError(
  text: string,
  absent: ExpressionReference,
  names: Names,
  values: Record<string, unknown>,
): CairnError {
  const name = nameOf(absent);
  const isFlat = name !== 'blocks' && !isListed(names.inputs, name) && isListed(names.blocks, name);
  const base = isFlat ? [] : absent.path.slice(0, 1);
  const within = absent.path.slice(base.length);
  if (name === 'blocks' || isFlat) {
    const block = isFlat ? name : String(base[0]?.key);
    for (let length = 0; length < within.length; length += 1) {
      const owner = follow(values[absent.name], [...base, ...within.slice(0, length)]);
      const status = owner instanceof FieldReader ? absenceOf(owner) : undefined;
      if (status === undefined) continue;
      const field = pathText('', within).replace(/^\./, '');
      return new CairnError('REFERENCE_ABSENT', { text, block, field, status });
    }
  }
  const parent = absent.path.slice(0, -1);
  const missing = absent.path.at(-1)?.key;
  const keys = keysOf(follow(values[absent.name], parent));
  const guess = nearest(String(missing), keys);
  const there = keys.length === 0 ? '' : `; it has ${keys.slice(0, 20).join(', ')}`;
  const meant = guess === undefined ? '' : `, perhaps ${guess} is meant`;
  const reason = `${pathText(name, parent)} has no ${missing === undefined ? 'such field' : JSON.stringify(missing)}${there}${meant}`;
  return new CairnError('EXPRESSION_FAILED', { text, reason });
}

/** The reason, with names as the author wrote them. */
function reasonOf({ message }: ExpressionError): string {
  return message.replaceAll(new RegExp(`\\b${variablePrefix}(?=\\w)`, 'g'), '');
}

function evaluationOf(text: string, parsed: ParsedExpression, names: Names): CompiledReference['evaluate'] {
  return (scope) => {
    const values = valuesOf(parsed.references, names, scope);
    try {
      return parsed.evaluate(values);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      const isOurs = error.absent?.name.startsWith(variablePrefix) === true && error.absent.name in values;
      if (error.absent !== undefined && isOurs) throw absenceError(text, error.absent, names, values);
      throw new CairnError('EXPRESSION_FAILED', { text, reason: reasonOf(error) }, { cause: error });
    }
  };
}

/** `secrets.NAME`, `secrets["NAME"]`. */
function secretOf({ references: [reference, ...others] }: ParsedExpression, length: number): string | undefined {
  if (reference === undefined || others.length > 0 || nameOf(reference) !== 'secrets') return undefined;
  const [step, ...deeper] = reference.path;
  const isWhole = reference.start === 0 && reference.end === length;
  return isWhole && deeper.length === 0 && typeof step?.key === 'string' ? step.key : undefined;
}

/**
 * Compiles an expression from its tokens; undefined if it has faults.
 * @param text - the expression as written, for messages
 */
export function compileReference(
  tokens: readonly Token[],
  text: string,
  compilation: Compilation,
): CompiledReference | undefined {
  const { names, faults } = compilation;
  const isName: IsName = (kind, name) => isListed(names[`${kind}s`], name);
  const before = faults.length;
  try {
    const rewritten = rewriteExpression(tokens, isName);
    const parsed = parseAt(rewritten.text, rewritten.offsetOf);
    const secret = secretOf(parsed, rewritten.text.length);
    if (secret === undefined) {
      const resolution = { ...compilation, offsetOf: rewritten.offsetOf };
      for (const reference of parsed.references) resolveReference(resolution, reference);
    } else resolveSecret(secret, tokens[0]?.start ?? 0, compilation);
    if (faults.slice(before).some(isError)) return undefined;
    const isConstant = parsed.references.length === 0;
    const [bare = ''] = /[^()].*[^()]/s.exec(rewritten.text) ?? [];
    const whole = parsed.references.find(({ start, end }) => rewritten.text.slice(start, end) === bare);
    return {
      key: rewritten.text,
      type: parsed.type,
      secret,
      whole,
      isConstant,
      evaluate: evaluationOf(text, parsed, names),
    };
  } catch (error) {
    reportError(faults, error);
    return undefined;
  }
}

function resolveSecret(name: string, offset: number, { names, mentions, faults }: Compilation): void {
  mentions.secrets.add(name);
  if (isListed(names.secrets, name)) return;
  const guess = nearest(name, names.secrets);
  const fix = guess === undefined ? `list it under secrets:` : `write \${secrets.${guess}}, or list it under secrets:`;
  faults.push({ offset, rule: 'T10', message: `secret ${JSON.stringify(name)} is not declared`, fix });
}

/** Parses the rewritten expression. Faults refer to the author's text. @throws TextError */
function parseAt(text: string, offsetOf: (offset: number) => number): ParsedExpression {
  try {
    return parseExpression(text);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const reason = reasonOf(error);
    throw new TextError(offsetOf(error.offset), `the expression cannot be read: ${reason}`, fixOf(reason));
  }
}

function fixOf(reason: string): string {
  if (reason.includes('overload'))
    return 'convert the value, with string(…), int(…) or double(…), or give what the operator or function takes';
  return reason.endsWith('EOF') ? 'write the value that is missing at the end' : 'write a value there, or remove it';
}

type Piece = string | CompiledReference;

/** Splits a text into literal text and references. References with errors are omitted. */
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
