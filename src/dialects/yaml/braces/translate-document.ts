/** Translates a file of the `{{ }}` form to this version (T11). Places of faults are those of the author's file. */
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import type { TextFault } from '../expression/template.ts';
import type { Faults } from '../file/faults.ts';
import type { Path, YamlDocument } from '../file/read-document.ts';
import { isMapping } from '../file/shape.ts';
import type { ValueChange } from '../file/write-document.ts';
import { checkDollars, dollarRule } from './dollar-signs.ts';
import { fileTexts } from './file-texts.ts';
import { hasBraces } from './split-braces.ts';
import { templateVariables } from './template-variables.ts';
import { translateText, type TextNames, type Translation } from './translate-text.ts';

type Data = Readonly<Record<string, unknown>>;

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
  const data = document.data as Data;
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
  const leftOut: ValueChange[] = [];
  for (const one of own) {
    const { path, text } = one;
    const isTemplate = one.kind === 'template';
    const report = (fault: TextFault, at: Path = path): void => faults.add(at, fault);
    const variables = isTemplate ? templateVariables(one.inputs, names, report, path) : names.variables;
    const translation = translateText(text, one.kind, { ...names, variables });
    for (const fault of translation.faults) report(fault);
    if (isOfBraces) for (const fault of checkDollars(one, names.known)) report(fault);
    if (isTemplate && Object.hasOwn(one.inputs, 'variables'))
      leftOut.push({ path: [...path.slice(0, -1), 'variables'], value: undefined });
    if (translation.text === text) continue;
    translations.set(JSON.stringify(path), translation);
    changes.push({ path, value: translation.text });
  }
  changes.push(...secretsOf(data, changes), ...leftOut);
  return { document: translated(document, changes, translations), changes };
}

interface FileNames extends TextNames {
  readonly known: { readonly inputs: readonly string[]; readonly blocks: readonly string[] };
}

function namesIn(data: Data, isOfBraces: boolean): FileNames {
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
    variables: new Map(),
    isDollarOurs: isOfBraces ? dollarRule : () => true,
    known,
  };
}

/** A file of the other form declares no secrets, so those that its texts name are declared. */
function secretsOf(data: Data, changes: readonly ValueChange[]): readonly ValueChange[] {
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
  const data = structuredClone(document.data) as Data;
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
