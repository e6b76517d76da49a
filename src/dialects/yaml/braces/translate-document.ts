/** Translates a file of the `{{ }}` form to this version (T11). Places of faults are those of the author's file. */
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import type { Path, YamlDocument } from '../file/read-document.ts';
import { isMapping } from '../file/shape.ts';
import type { Faults } from '../file/faults.ts';
import type { ValueChange } from '../file/write-document.ts';
import { type TextKind, translateText, type TextNames, type Translation } from './translate-text.ts';
import { assignedNames } from '../shell/shell-names.ts';
import { namespaces } from '../expression/resolve-names.ts';
import type { TextFault } from '../expression/template.ts';
import { hasBraces } from './split-braces.ts';
import { quoted } from './quoted.ts';

// Finds the texts of a file that may contain references, with their places and purposes.

type Data = Readonly<Record<string, unknown>>;

export interface FileText {
  readonly path: Path;
  readonly text: string;
  readonly kind: TextKind;
  /** The inputs of the block that contains the text. */
  readonly inputs: Data;
}

/** Goes through the texts of a file's blocks and outputs. */
function* fileTexts(data: Data, types: ReadonlyMap<string, NodeType>): Generator<FileText> {
  const blocks = Array.isArray(data['blocks']) ? (data['blocks'] as readonly unknown[]) : [];
  for (const [index, block] of blocks.entries())
    if (isMapping(block)) yield* blockTexts(block, ['blocks', index], types);
  yield* textsIn(data['outputs'], ['outputs'], 'text', {});
  yield* textsIn(data['title'], ['title'], 'text', {});
}

function* blockTexts(block: Data, at: Path, types: ReadonlyMap<string, NodeType>): Generator<FileText> {
  const inputs = isMapping(block['inputs']) ? block['inputs'] : {};
  const type = block['type'];
  const fields = (typeof type === 'string' ? types.get(type)?.inputs : undefined) ?? {};
  for (const [name, value] of Object.entries(inputs)) {
    const kind = Object.hasOwn(fields, name) ? fields[name]?.kind : undefined;
    yield* textsIn(value, [...at, 'inputs', name], kind === 'command' || kind === 'template' ? kind : 'text', inputs);
  }
  yield* textsIn(block['condition'], [...at, 'condition'], 'condition', inputs);
  yield* textsIn(block['for_each'], [...at, 'for_each'], 'text', inputs);
  yield* textsIn(block['outputs'], [...at, 'outputs'], 'text', inputs);
}

function* textsIn(value: unknown, path: Path, kind: TextKind, inputs: Data): Generator<FileText> {
  if (typeof value === 'string') yield { path, text: value, kind, inputs };
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* textsIn(item, [...path, index], kind, inputs);
  else if (isMapping(value))
    for (const [key, item] of Object.entries(value)) yield* textsIn(item, [...path, key], kind, inputs);
}

// Decides what `${` means in a file of the `{{ }}` form: text or shell syntax, unless a namespace follows it.

const namespaced = new RegExp(`\\$\\{\\s*(?:${namespaces.join('|')})\\s*[.[]`, 'y');
const reference = /(?<!\$)\$\{\s*([A-Za-z_]\w*)\s*([}.[])/g;

/** Whether a `${` is a reference anyway, because no shell variable can have such a name. */
export function dollarRule(text: string, offset: number): boolean {
  namespaced.lastIndex = offset;
  return namespaced.test(text);
}

/** Warns where `${name}` might be meant as a reference in a file whose references are `{{ }}`. */
function checkDollars(
  { text, kind, inputs }: FileText,
  known: { readonly inputs: readonly string[]; readonly blocks: readonly string[] },
): readonly TextFault[] {
  if (!text.includes('${')) return [];
  const env = isMapping(inputs['env']) ? inputs['env'] : {};
  const isCommand = kind === 'command';
  const assigned = isCommand ? assignedNames(text) : new Set<string>();
  const faults: TextFault[] = [];
  for (const { 1: name = '', 2: next = '', index } of text.matchAll(reference)) {
    if (dollarRule(text, index) || assigned.has(name) || (isCommand && Object.hasOwn(env, name))) continue;
    const isInput = known.inputs.includes(name);
    if (!isInput && !(known.blocks.includes(name) && next === '.')) continue;
    const form = isInput ? `inputs.${name}` : `blocks.${name}.FIELD`;
    faults.push({
      offset: index,
      rule: 'T11',
      severity: isCommand ? 'warning' : 'error',
      message: `\${${name}} is ${isCommand ? "a variable of the shell's" : 'text'} in a file whose references are {{ }}`,
      fix: `write {{ ${form} }}${isCommand ? `, or $${name} for the variable` : ''}, or convert the file as a whole`,
    });
  }
  return faults;
}

// The variables of a template: the values of the input `variables`, as expressions.

type Report = (fault: TextFault, at: Path) => void;

/** The expression of each variable, by name. Faults in their texts are reported at their places. */
function templateVariables(
  inputs: Readonly<Record<string, unknown>>,
  names: TextNames,
  report: Report,
  templatePath: Path,
): ReadonlyMap<string, string> {
  const { variables } = inputs;
  const at: Path = [...templatePath.slice(0, -1), 'variables'];
  if (variables === undefined || variables === null) return new Map();
  if (!isMapping(variables)) {
    report({ offset: 0, rule: 'T11', message: 'variables is no mapping', fix: 'write `name: value`' }, at);
    return new Map();
  }
  return new Map(
    Object.entries(variables).map(([name, value]) => [name, expressionOf(value, names, [...at, name], report)]),
  );
}

function expressionOf(value: unknown, names: TextNames, at: Path, report: Report): string {
  if (typeof value !== 'string') {
    const text = JSON.stringify(value);
    if (/\$\{|\{\{/.test(text)) {
      const fix = 'give each reference a variable of its own';
      report({ offset: 0, rule: 'T11', message: 'a variable is a list or a mapping with references in it', fix }, at);
    }
    return text;
  }
  const { text, faults } = hasBraces(value)
    ? translateText(value, 'text', names)
    : { text: value, faults: [] as readonly TextFault[] };
  for (const fault of faults) report(fault, at);
  const [, only] = /^\$\{([^{}]*)\}$/.exec(text) ?? [];
  if (only !== undefined) return `(${only})`;
  // A text with references becomes a string literal with references; other characters are escaped.
  const pieces = text.split(/(\$\{[^{}]*\})/);
  return `'${pieces.map((piece, index) => (index % 2 === 1 ? piece : quoted(piece).slice(1, -1))).join('')}'`;
}

type Data2 = Readonly<Record<string, unknown>>;

export interface TranslatedDocument {
  readonly document: YamlDocument;
  readonly changes: readonly ValueChange[];
}

/** Translates all values of the other form, and reports what has no counterpart. A file without any is returned unchanged. */
export function translateDocument(
  document: YamlDocument,
  types: ReadonlyMap<string, NodeType>,
  faults: Faults,
): TranslatedDocument {
  const data = document.data as Data2;
  const texts = [...fileTexts(data, types)];
  const isOfBraces = texts.some(
    ({ text, kind }) => kind !== 'template' && (hasBraces(text) || (kind === 'condition' && text.includes('{{'))),
  );
  const own = texts.filter(({ kind }) => isOfBraces || kind === 'template');
  if (own.length === 0) return { document, changes: [] };
  const names = namesIn(data, isOfBraces);
  const translations = new Map<string, Translation>();
  const changes: ValueChange[] = [];
  /** Values to remove at the end; until then they are translated too. */
  const removed: ValueChange[] = [];
  for (const one of own) {
    const { path, text } = one;
    const isTemplate = one.kind === 'template';
    const report = (fault: TextFault, at: Path = path): void => faults.add(at, fault);
    const variables = isTemplate ? templateVariables(one.inputs, names, report, path) : names.variables;
    const translation = translateText(text, one.kind, { ...names, variables });
    for (const fault of translation.faults) report(fault);
    if (isOfBraces) for (const fault of checkDollars(one, names.known)) report(fault);
    if (isTemplate && Object.hasOwn(one.inputs, 'variables'))
      removed.push({ path: [...path.slice(0, -1), 'variables'], value: undefined });
    if (translation.text === text) continue;
    translations.set(JSON.stringify(path), translation);
    changes.push({ path, value: translation.text });
  }
  changes.push(...secretsOf(data, changes), ...removed);
  return { document: translated(document, changes, translations), changes };
}

interface FileNames extends TextNames {
  readonly known: { readonly inputs: readonly string[]; readonly blocks: readonly string[] };
}

function namesIn(data: Data2, isOfBraces: boolean): FileNames {
  const inputs = isMapping(data['inputs']) ? data['inputs'] : {};
  const blocks = Array.isArray(data['blocks']) ? (data['blocks'] as readonly unknown[]) : [];
  const known = {
    inputs: Object.keys(inputs),
    blocks: blocks.flatMap((block) => (isMapping(block) && typeof block['id'] === 'string' ? [block['id']] : [])),
  };
  return {
    typeOf: (name) => {
      const declared = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
      return isMapping(declared) && typeof declared['type'] === 'string' ? declared['type'] : undefined;
    },
    isInput: (name) => Object.hasOwn(inputs, name),
    variables: new Map(),
    isDollarOurs: isOfBraces ? dollarRule : () => true,
    known,
  };
}

/** A file of the other form declares no secrets, so those that its texts name are declared. */
function secretsOf(data: Data2, changes: readonly ValueChange[]): readonly ValueChange[] {
  if (Object.hasOwn(data, 'secrets')) return [];
  const found = new Set<string>();
  for (const { value } of changes) {
    if (typeof value !== 'string') continue;
    for (const [, dotted, bracketed] of value.matchAll(/\$\{\s*secrets(?:\.([A-Za-z_]\w*)|\["([A-Za-z_]\w*)"\])/g))
      found.add(dotted ?? bracketed ?? '');
  }
  return found.size === 0 ? [] : [{ path: ['secrets'], value: [...found] }];
}

function translated(
  document: YamlDocument,
  changes: readonly ValueChange[],
  translations: ReadonlyMap<string, Translation>,
): YamlDocument {
  const data = structuredClone(document.data) as Data2;
  for (const { path, value } of changes) setValue(data, path, value);
  return {
    data,
    sourceOf: document.sourceOf,
    placeOf: (path, options = {}) => {
      const { offset } = options;
      const translation = offset === undefined ? undefined : translations.get(JSON.stringify(path));
      if (offset === undefined || translation === undefined) return document.placeOf(path, options);
      return document.placeOf(path, { ...options, offset: translation.offsetOf(offset) });
    },
  };
}

function setValue(data: unknown, path: Path, value: unknown): void {
  const owner = path.slice(0, -1).reduce<unknown>((at, step) => (at as Record<string | number, unknown>)[step], data);
  const last = path.at(-1) ?? '';
  if (value === undefined) Reflect.deleteProperty(owner as object, last);
  else (owner as Record<string | number, unknown>)[last] = value;
}
