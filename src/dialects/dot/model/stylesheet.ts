/** The model stylesheet: rules that set the models of all stages, of a shape, of a class, or of one stage. */
import type { AttributeSyntax } from '../text/print-dot.ts';
import { durationMs } from './attributes.ts';

// The attributes of a stage, an edge or the graph: those written there, over those of the stylesheet, over defaults.

/** The value of an attribute, as text. */
export interface AttributeValue {
  readonly value: string;
  /** Offset of the value. Undefined for one that a default or the stylesheet gives. */
  readonly valueAt: number | undefined;
}

export type Values = ReadonlyMap<string, AttributeValue>;

export const noValues: Values = new Map();

/** Up to so many written attributes are looked through one by one, in the list that the parser made. More are indexed. */
const scannedMax = 12;

/** Attributes by name. Defaults and styles are shared by all that they hold for, and not copied. */
export class Attributes {
  readonly #written: readonly AttributeSyntax[];
  readonly #at: number;
  readonly #styles: Values;
  readonly #defaults: Values;
  #index: Values | undefined;

  /**
   * @param written - in the order of the file; of several with one name the last holds
   * @param at - offset of what has the attributes
   */
  constructor(written: readonly AttributeSyntax[], at: number, styles: Values = noValues, defaults: Values = noValues) {
    this.#written = written;
    this.#at = at;
    this.#styles = styles;
    this.#defaults = defaults;
  }

  /** The attribute as it is written or taken over. */
  find(name: string): AttributeValue | undefined {
    const own = this.#written.length > scannedMax ? this.#indexed(name) : findWritten(this.#written, name);
    if (own !== undefined) return own;
    const styled = this.#styles.size === 0 ? undefined : this.#styles.get(name);
    return styled ?? (this.#defaults.size === 0 ? undefined : this.#defaults.get(name));
  }
  /** Offset of the value. For one that a default or the stylesheet gives: of what has the attributes. */
  placeOf(name: string): number {
    return this.find(name)?.valueAt ?? this.#at;
  }
  has(name: string): boolean {
    return this.find(name) !== undefined;
  }
  text(name: string): string {
    return this.find(name)?.value ?? '';
  }
  flag(name: string): boolean {
    return this.find(name)?.value === 'true';
  }
  /** Undefined if it is missing, or not a number. */
  integer(name: string): number | undefined {
    const value = Number(this.find(name)?.value ?? Number.NaN);
    return Number.isSafeInteger(value) ? value : undefined;
  }
  durationMs(name: string): number | undefined {
    const value = this.find(name)?.value;
    return value === undefined ? undefined : durationMs(value);
  }
  /** The names that a value lists, separated by commas. */
  list(name: string): readonly string[] {
    return listOf(this.find(name));
  }
  /** What is written, each name once. */
  written(): readonly AttributeSyntax[] {
    return this.#written.filter((attribute) => this.find(attribute.key) === attribute);
  }
  /** Each name once: defaults, what is written, what the stylesheet adds. */
  names(): ReadonlySet<string> {
    const names = new Set(this.#defaults.keys());
    for (const { key } of this.#written) names.add(key);
    for (const name of this.#styles.keys()) names.add(name);
    return names;
  }
  entries(): readonly (readonly [string, string])[] {
    return Array.from(this.names(), (name) => [name, this.text(name)]);
  }

  #indexed(name: string): AttributeValue | undefined {
    this.#index ??= new Map(this.#written.map((attribute) => [attribute.key, attribute]));
    return this.#index.get(name);
  }
}

/** The last of several with one name. */
export function findWritten(written: readonly AttributeSyntax[], name: string): AttributeSyntax | undefined {
  for (let at = written.length - 1; at >= 0; at -= 1) {
    const attribute = written[at] as AttributeSyntax;
    // Most names differ in length already, which is cheaper to see.
    if (attribute.key.length === name.length && attribute.key === name) return attribute;
  }
  return undefined;
}

/** The names that a value lists, separated by commas. */
export function listOf(attribute: AttributeValue | undefined): readonly string[] {
  if (attribute === undefined || attribute.value === '') return none;
  return attribute.value.split(',').flatMap((piece) => piece.trim() || []);
}

const none: readonly string[] = [];

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
const styledAttributes: readonly string[] = ['llm_model', 'llm_provider', 'reasoning_effort', 'max_tokens'];

const gap = /\s*/y;
const selectorWord = /\*|[.#]?[A-Za-z_][A-Za-z0-9_-]*/y;
const property = /([a-z_]+)\s*:\s*(?:"([^"]*)"|'([^']*)'|([^\s;{}"']+))/y;

/** Parses a stylesheet. Whatever cannot be read is reported, and skipped up to the next rule. */
export function parseStylesheet(source: string): Stylesheet {
  const text = withoutComments(source);
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

interface Styled extends AttributeValue {
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

// The attributes that statements set, gathered while a file is read: defaults by `node [...]` and `edge [...]`, and those of one stage.

/** Most different attributes that `node [...]` and `edge [...]` may set. All of them hold for each stage or edge. */
export const defaultsMax = 200;

const noAttributes: readonly AttributeSyntax[] = [];

/** The defaults that hold from a statement on. Stages and edges keep those that they took: later ones are set in a copy. */
export class Defaults {
  #values: Map<string, AttributeValue>;
  #isTaken: boolean;

  constructor(outer?: Values) {
    this.#values = (outer ?? new Map<string, AttributeValue>()) as Map<string, AttributeValue>;
    this.#isTaken = outer !== undefined;
  }

  take(): Values {
    this.#isTaken = true;
    return this.#values;
  }

  /** Sets one. Returns false if there are too many. */
  set({ key, value }: AttributeSyntax): boolean {
    if (this.#values.size >= defaultsMax && !this.#values.has(key)) return false;
    if (this.#isTaken) this.#values = new Map(this.#values);
    this.#isTaken = false;
    this.#values.set(key, { value, valueAt: undefined });
    return true;
  }
}

/** The attributes written for a stage or the graph. Those of a single statement stay the list that the parser made. */
export class Written {
  #all: readonly AttributeSyntax[] = noAttributes;
  #own: AttributeSyntax[] | undefined;

  get all(): readonly AttributeSyntax[] {
    return this.#all;
  }

  add(attributes: readonly AttributeSyntax[]): void {
    if (this.#all.length === 0) this.#all = attributes;
    else {
      this.#all = this.#own ??= [...this.#all];
      for (const attribute of attributes) this.#own.push(attribute);
    }
  }
}
