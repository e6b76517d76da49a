/** Parses a text for a shell (T7, T8). The values in it become environment variables, and never shell syntax. */
import { CairnError } from '../../../errors.ts';
import { variableNames } from '../../../graph/command-variables.ts';
import type { CommandText } from '../../../graph/contracts/node-type.ts';
import { SecretReference } from '../../../graph/secret-reference.ts';
import { nearest } from '../../../graph/nearest.ts';
import { arithmetic } from './check-names.ts';
import { compileReference, reportError, type CompiledReference, asText } from '../expression/parse-text.ts';
import { readReference, TextError, type Token } from '../expression/tokens.ts';
import {
  faultyTemplate,
  isError,
  literalTemplate,
  maxErrors,
  type Names,
  type ParsedTemplate,
  type Scope,
  type TextFault,
} from '../expression/template.ts';
import { createMentions, isListed, namedBy, type Compilation } from '../expression/resolve-names.ts';
import { assignedNames, ownerOf, type Owner } from './shell-names.ts';
import { ShellScanner, type Place } from './shell-scanner.ts';

/** The most bytes of one variable's value that operating systems accept. */
const maxValueBytes = 131_000;

const refusals: Partial<Readonly<Record<Place, readonly [message: string, fix: string]>>> = {
  'literal document': [
    'a value cannot stand in a here-document with such a delimiter',
    'give the document a plain word as its delimiter, or write $${ if the text is meant',
  ],
  arithmetic,
  'dollar quotes': ["a value cannot stand within $'…'", "end the quotes before it: $'…'${x}$'…'"],
  backquotes: ['a value cannot stand in backquotes with backslashes', 'use $(…) instead of backquotes'],
  expansion: ["a value cannot stand within an expansion of the shell's", 'put it into a variable first: v=${…}'],
  delimiter: ['a value cannot be the delimiter of a here-document', 'write the delimiter out'],
  backslash: ['the backslash takes the $ of a reference', 'remove the backslash, or write \\$${ if the text is meant'],
};

/** What stands for a value in a script, by the kind of place. */
const expansions: Partial<Readonly<Record<Place, (name: string) => string>>> = {
  bare: (name) => `"\${${name}}"`,
  double: (name) => `\${${name}}`,
  single: (name) => `'"\${${name}}"'`,
  document: (name) => `\${${name}}`,
  'quoted document': (name) => `\${${name}}`,
};

interface Variable {
  readonly name: string;
  readonly reference: CompiledReference;
}

/** The tokens inside of `raw(…)`. */
function rawTokens(tokens: readonly Token[]): readonly Token[] | undefined {
  const [name, group, ...others] = tokens;
  const isRaw = name?.kind === 'word' && name.text === 'raw' && group?.kind === 'group' && group.open === '(';
  return isRaw && others.length === 0 ? group.tokens : undefined;
}

class CommandReader {
  readonly #text: string;
  readonly #compilation: Compilation;
  readonly #variables = new Map<string, Variable>();
  readonly #pieces: (string | CompiledReference)[] = [];
  readonly #variableName: (count: number) => string;
  #assigned: ReadonlySet<string> | undefined;
  #errorCount = 0;
  /** Number of faults examined so far. */
  #seen = 0;

  constructor(text: string, compilation: Compilation) {
    this.#text = text;
    this.#compilation = compilation;
    this.#variableName = variableNames(text);
  }

  read(): void {
    const { faults } = this.#compilation;
    const scanner = new ShellScanner(
      this.#text,
      (text) => this.#write(text),
      {
        substitute: (offset, place) => this.#substitute(offset, place),
        isOurs: (offset) => this.#text[offset - 1] !== '$' && this.#ownerOf(offset) === 'workflow',
      },
      faults,
    );
    try {
      scanner.scan();
    } catch (error) {
      reportError(faults, error);
    }
  }

  #write(text: string): void {
    const last = this.#pieces.length - 1;
    const before = this.#pieces[last];
    if (typeof before === 'string') this.#pieces[last] = before + text;
    else this.#pieces.push(text);
  }

  /** Names of variables that the command itself sets. */
  #ownNames(): ReadonlySet<string> {
    return (this.#assigned ??= assignedNames(this.#text));
  }

  /** Whether there are too many errors to go on. Warnings are not limited. */
  #hasTooManyErrors(): boolean {
    const { faults } = this.#compilation;
    for (const fault of faults.slice(this.#seen)) if (isError(fault)) this.#errorCount += 1;
    this.#seen = faults.length;
    return this.#errorCount >= maxErrors;
  }

  #fault(offset: number, rule: string, message: string, fix: string): void {
    this.#compilation.faults.push({ offset, rule, message, fix });
  }

  #ownerOf(offset: number): Owner {
    return ownerOf(this.#text, offset, this.#compilation.names, () => this.#ownNames());
  }

  #substitute(offset: number, place: Place): { readonly end: number } | undefined {
    const { faults } = this.#compilation;
    if (this.#hasTooManyErrors()) throw new TextError(offset, 'more faults than are listed', 'correct those first');
    const owner = this.#ownerOf(offset);
    const isText = place === 'quoted document' || place === 'literal document' || place === 'backslash';
    if (owner === 'shell' || (owner === 'nobody' && isText)) return undefined;
    if (owner === 'nobody') {
      this.#reportUnknown(offset);
      return undefined;
    }
    try {
      const { tokens, end } = readReference(this.#text, offset);
      this.#place(offset, end, tokens, place);
      return { end };
    } catch (error) {
      reportError(faults, error);
      this.#nameEscape();
      return undefined;
    }
  }

  /** Adds a hint that something that is not an expression may have been meant for the shell. */
  #nameEscape(): void {
    const { faults } = this.#compilation;
    const last = faults.at(-1);
    if (last?.rule !== 'T4') return;
    faults[faults.length - 1] = { ...last, fix: `${last.fix}, or write $\${ for an expansion of the shell's` };
  }

  #reportUnknown(offset: number): void {
    const { inputs, blocks } = this.#compilation.names;
    const name = /\w+/.exec(this.#text.slice(offset + 2, offset + 200))?.[0] ?? '';
    const guess = nearest(name, inputs, blocks);
    const shells = `$\${${name}} for a variable of the shell`;
    const fix = guess === undefined ? `write ${shells}` : `write \${${guess}}, or ${shells}`;
    this.#fault(offset, 'T7', `no input ${JSON.stringify(name)}, and the command does not set it`, fix);
  }

  #place(offset: number, end: number, tokens: readonly Token[], place: Place): void {
    const raw = rawTokens(tokens);
    const text = this.#text.slice(offset, end);
    const reference = compileReference(raw ?? tokens, text, this.#compilation);
    this.#warnOfOwn(offset, tokens);
    if (reference === undefined) this.#nameEscape();
    else if (raw !== undefined) {
      if (reference.secret !== undefined) {
        this.#fault(offset, 'T10', 'raw() would write a secret into the script', 'write the reference without raw()');
      }
      this.#pieces.push(reference);
    } else {
      const refusal = refusals[place];
      if (refusal !== undefined) this.#fault(offset, 'T8', refusal[0], refusal[1]);
      else this.#write(expansions[place]?.(this.#variableOf(reference)) ?? '');
    }
  }

  /** Warns that an input has the same name as a variable that the command sets; the input wins. */
  #warnOfOwn(offset: number, tokens: readonly Token[]): void {
    const [only, ...others] = tokens;
    if (only?.kind !== 'word' || others.length > 0) return;
    if (!isListed(this.#compilation.names.inputs, only.text) || !this.#ownNames().has(only.text)) return;
    const message = `${only.text} is an input and a variable of the command; this is the input`;
    const fix = `write \${inputs.${only.text}}, or $${only.text} for the variable`;
    this.#compilation.faults.push({ offset, rule: 'T7', severity: 'warning', message, fix });
  }

  #variableOf(reference: CompiledReference): string {
    const known = this.#variables.get(reference.key);
    if (known !== undefined) return known.name;
    const name = this.#variableName(this.#variables.size + 1);
    this.#variables.set(reference.key, { name, reference });
    return name;
  }

  get isLiteral(): boolean {
    return this.#variables.size === 0 && this.#pieces.every((piece) => typeof piece === 'string');
  }

  evaluate(scope: Scope): CommandText {
    const text = this.#text;
    const script = this.#pieces.map((piece) =>
      typeof piece === 'string' ? piece : asText(piece.evaluate(scope), text),
    );
    const env: Record<string, string | SecretReference> = {};
    for (const { name, reference } of this.#variables.values()) {
      const { secret } = reference;
      env[name] = secret === undefined ? valueOf(reference, scope, text) : new SecretReference([{ secret }]);
    }
    return { script: script.join(''), env };
  }
}

/** A value as an environment variable. @throws CairnError EXPRESSION_FAILED it is not possible as one */
function valueOf(reference: CompiledReference, scope: Scope, text: string): string {
  const value = asText(reference.evaluate(scope), text);
  const refuse = (reason: string): never => {
    throw new CairnError('EXPRESSION_FAILED', { text, reason });
  };
  if (value.includes('\0')) refuse('a value for a command holds a NUL character');
  if (!value.isWellFormed()) refuse('a value for a command holds a lone surrogate, which no encoding can keep');
  const sizeBytes = Buffer.byteLength(value);
  if (sizeBytes > maxValueBytes) {
    refuse(`a value of ${sizeBytes} bytes is too large for a command (${maxValueBytes}); write it to a file first`);
  }
  return value;
}

/** Removes duplicate faults: a value may be passed to several programs. */
function distinct(faults: readonly TextFault[]): readonly TextFault[] {
  return [...new Map(faults.map((fault) => [`${fault.offset} ${fault.rule}`, fault])).values()];
}

/** Parses a command. Without `${` it returns at once. */
export function parseCommand(text: string, names: Names): ParsedTemplate<CommandText> {
  if (!text.includes('${')) return { template: literalTemplate<CommandText>({ script: text, env: {} }), faults: [] };
  const faults: TextFault[] = [];
  const mentions = createMentions();
  const reader = new CommandReader(text, { names, mentions, faults });
  reader.read();
  const named = namedBy(mentions);
  const template = faults.some(isError)
    ? faultyTemplate(text, named)
    : { named, isLiteral: reader.isLiteral, evaluate: (scope: Scope) => reader.evaluate(scope) };
  return { template, faults: distinct(faults) };
}
