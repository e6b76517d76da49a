/** The model stylesheet: rules that set the models of all stages, of a shape, of a class, or of one stage. */

import type { Given, Values } from './attribute-values.ts';

export interface StyleRule {
  readonly selector: '*' | 'shape' | 'class' | 'id';
  readonly name: string;
  readonly declarations: readonly (readonly [string, string])[];
}

export interface StyleFault {
  /** Offset in the text of the stylesheet. */
  readonly offset: number;
  readonly message: string;
}

export interface Stylesheet {
  readonly rules: readonly StyleRule[];
  readonly faults: readonly StyleFault[];
}

/** Attributes that a stylesheet may set. */
export const styledAttributes: readonly string[] = ['llm_model', 'llm_provider', 'reasoning_effort'];

const gap = /\s*/y;
const selectorWord = /\*|[.#]?[A-Za-z_][A-Za-z0-9_-]*/y;
const property = /([a-z_]+)\s*:\s*(?:"([^"]*)"|'([^']*)'|([^\s;{}"']+))/y;

/** Parses a stylesheet. Whatever cannot be read is reported, and skipped up to the next rule. */
export function parseStylesheet(given: string): Stylesheet {
  const text = withoutComments(given);
  const rules: StyleRule[] = [];
  const faults: StyleFault[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return undefined;
    at += found[0].length;
    return found;
  };
  const refuse = (message: string): void => void faults.push({ offset: at, message });
  const takeDeclarations = (): (readonly [string, string])[] => {
    const declarations: (readonly [string, string])[] = [];
    for (;;) {
      take(gap);
      if (text[at] === '}') {
        at += 1;
        return declarations;
      }
      const begun = at;
      const found = take(property);
      if (found === undefined) {
        refuse(
          at >= text.length ? 'the rule is not closed: expected }' : 'expected a property such as llm_model: name;',
        );
        at = skipTo(text, at);
        return declarations;
      }
      const [, name = '', double, single, bare] = found;
      if (styledAttributes.includes(name)) declarations.push([name, double ?? single ?? bare ?? '']);
      else
        faults.push({
          offset: begun,
          message: `${name} cannot be set by a stylesheet: it sets ${styledAttributes.join(', ')}`,
        });
      take(gap);
      if (text[at] === ';') at += 1;
    }
  };
  for (;;) {
    take(gap);
    if (at >= text.length) return { rules, faults };
    const selector = take(selectorWord)?.[0];
    take(gap);
    if (selector === undefined || text[at] !== '{') {
      refuse(selector === undefined ? 'expected *, a shape, .class or #id' : `expected { after ${selector}`);
      at = skipTo(text, at);
      continue;
    }
    at += 1;
    rules.push({ ...selectorOf(selector), declarations: takeDeclarations() });
  }
}

function skipTo(text: string, at: number): number {
  const found = text.indexOf('}', at);
  return found < 0 ? text.length : found + 1;
}

function selectorOf(word: string): Pick<StyleRule, 'selector' | 'name'> {
  if (word === '*') return { selector: '*', name: '' };
  if (word.startsWith('.')) return { selector: 'class', name: word.slice(1) };
  if (word.startsWith('#')) return { selector: 'id', name: word.slice(1) };
  return { selector: 'shape', name: word };
}

/** Replaces comments by spaces, so that all offsets stay the same. */
function withoutComments(text: string): string {
  const pieces: string[] = [];
  let at = 0;
  for (;;) {
    const begin = text.indexOf('/*', at);
    const end = begin < 0 ? -1 : text.indexOf('*/', begin + 2);
    if (end < 0) return pieces.join('') + text.slice(at);
    pieces.push(text.slice(at, begin), ' '.repeat(end + 2 - begin));
    at = end + 2;
  }
}

interface Styled extends Given {
  /** Position of its rule in the stylesheet. Among equally specific rules the later one wins. */
  readonly order: number;
}

/** The properties of a stage that rules select by. */
interface StyledStage {
  readonly id: string;
  readonly shape: string;
  readonly classes: readonly string[];
}

/** A stylesheet's rules, indexed for looking up many stages. */
export class Styles {
  readonly #found = new Map<string, Map<string, Styled>>();
  /** The values of stages with the same shape and classes, without rules for single ids. */
  readonly #shared = new Map<string, Values>();
  readonly #ids: ReadonlySet<string>;

  constructor(rules: readonly StyleRule[]) {
    for (const [order, { selector, name, declarations }] of rules.entries()) {
      const key = `${selector} ${name}`;
      const known = this.#found.get(key) ?? new Map<string, Styled>();
      this.#found.set(key, known);
      for (const [name_, value] of declarations) known.set(name_, { value, valueAt: undefined, order });
    }
    this.#ids = new Set(rules.filter(({ selector }) => selector === 'id').map(({ name }) => name));
  }

  /** The attributes that the rules give a stage. Rules for a class win over those for a shape, and rules for an id over both. */
  of({ id, shape, classes }: StyledStage): Values {
    const key = classes.length === 0 ? shape : `${shape} ${classes.join(' ')}`;
    const shared =
      this.#shared.get(key) ??
      this.#over(new Map(), [['* '], [`shape ${shape}`], classes.map((name) => `class ${name}`)]);
    this.#shared.set(key, shared);
    return this.#ids.has(id) ? this.#over(shared, [[`id ${id}`]]) : shared;
  }

  #over(below: Values, levels: readonly (readonly string[])[]): Values {
    const result = new Map(below);
    for (const keys of levels) {
      const best = new Map<string, Styled>();
      for (const key of keys)
        for (const [name, styled] of this.#found.get(key) ?? [])
          if (styled.order >= (best.get(name)?.order ?? -1)) best.set(name, styled);
      for (const [name, styled] of best) result.set(name, styled);
    }
    return result;
  }
}
