/** Parses a YAML file to plain data, with the place of every part. No other file imports the YAML library. */
import {
  type Alias,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
  Composer,
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  Parser,
} from 'yaml';
import type { Violation } from '../../../graph/graph.ts';
import { shortFault } from '../../fault-limit.ts';
import { offsetInScalar } from './offset-in-scalar.ts';

/** Keys and indices from the document's root. */
export type Path = readonly (string | number)[];

export interface PlaceOptions {
  /** Whether the place of the key is wanted, and not that of its value. */
  readonly atKey?: boolean;
  /** Offset in the text at that place. */
  readonly offset?: number;
}

export interface YamlDocument {
  /** Plain data: null, booleans, numbers, texts, lists, and mappings with text keys. */
  readonly data: unknown;
  /** The place as `file:line:column`, counted from 1. If the path leads nowhere, that of the nearest existing part. */
  readonly placeOf: (path: Path, options?: PlaceOptions) => string;
  /** A scalar as written in the source: `1.0` is a number, but may be meant as text. */
  readonly sourceOf: (path: Path) => string | undefined;
}

/** The most bytes of a file. */
export const textBytesMax: number = 5 * 1024 * 1024;
/** The most values in a file, with aliases expanded. */
const valuesMax = 500_000;
/** The deepest nesting. */
const depthMax = 100;
/** The most faults of the syntax that are reported; no more are looked for. */
const faultsMax = 100;

interface Reading {
  readonly anchors: Map<string, ParsedNode>;
  aliasDepth: number;
  readonly faults: Violation[];
  readonly placeAt: (offset: number) => string;
  count: number;
}

/** Parses a text as one YAML 1.2 document that is a mapping. It never throws; without a document there are faults. */
export function readDocument(
  text: string,
  source: string,
): { readonly document: YamlDocument | undefined; readonly faults: readonly Violation[] } {
  const refuse = (message: string, fix: string): ReturnType<typeof readDocument> => ({
    document: undefined,
    faults: [fault(`${source}:1:1`, message, fix)],
  });
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > textBytesMax)
    return refuse(
      `the file has ${sizeBytes} bytes, over the limit of ${textBytesMax}`,
      'keep data in files of its own, which blocks read',
    );
  if (text.includes('\0')) return refuse('the file holds a NUL character', 'write it as text in UTF-8');
  const lines = new LineCounter();
  let documents: readonly Document.Parsed[];
  try {
    documents = parseDocuments(text.startsWith('\uFEFF') ? text.slice(1) : text, lines);
  } catch (error) {
    const isDeep = error instanceof RangeError;
    return refuse(
      isDeep ? 'the file is nested too deep to be read' : `the file cannot be read: ${(error as Error).message}`,
      `nest at most ${depthMax} deep`,
    );
  }
  const placeAt = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${source}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };
  return readParsed(documents, text, placeAt);
}

class TooManyFaults extends Error {}

/**
 * Parses the documents of a text, until it has as many faults as are reported: each takes the library as long as hundreds of values. What was
 * found until then is a document without contents.
 */
function parseDocuments(text: string, lines: LineCounter): readonly Document.Parsed[] {
  const composer = new Composer({
    version: '1.2',
    schema: 'core',
    merge: false,
    // Duplicates are searched for below, because the library compares each key with every other.
    uniqueKeys: false,
    logLevel: 'silent',
  });
  let faultCount = 0;
  const countFault = (): void => {
    faultCount += 1;
    if (faultCount >= faultsMax) throw new TooManyFaults();
  };
  // The library tells of each fault in the values by this function; its types keep it private.
  const inner = composer as unknown as { onError: (...fault: readonly unknown[]) => void };
  const { onError } = inner;
  inner.onError = (...fault) => {
    onError(...fault);
    countFault();
  };
  const documents: Document.Parsed[] = [];
  try {
    for (const token of new Parser(lines.addNewLine).parse(text)) {
      documents.push(...composer.next(token));
      if (token.type === 'error') countFault();
    }
  } catch (error) {
    if (!(error instanceof TooManyFaults)) throw error;
    const { errors } = composer.streamInfo();
    if (errors.length > 0) return [Object.assign(new Document(null), { errors }) as Document.Parsed];
  }
  documents.push(...composer.end());
  return documents;
}

function readParsed(
  documents: readonly Document.Parsed[],
  text: string,
  placeAt: (offset: number) => string,
): ReturnType<typeof readDocument> {
  const [document, second] = documents;
  const faults: Violation[] = [];
  if (document === undefined || document.contents === null) {
    faults.push(...(document === undefined ? [] : syntaxFaults(document, text, placeAt)));
    if (faults.length === 0)
      faults.push(fault(placeAt(0), 'the file is empty', 'write a workflow: name, description and blocks'));
    return { document: undefined, faults };
  }
  faults.push(...syntaxFaults(document, text, placeAt));
  if (second !== undefined) {
    const at = second.contents?.range?.[0] ?? second.range?.[0] ?? 0;
    faults.push(
      fault(placeAt(at), 'a second document in the file', 'keep one workflow in a file, without `---` lines between'),
    );
  }
  if (faults.length > 0) return { document: undefined, faults };
  const reading: Reading = { anchors: new Map(), aliasDepth: 0, faults, placeAt, count: 0 };
  const root = document.contents;
  if (!isMap(root)) {
    const found = isSeq(root)
      ? 'a list'
      : isScalar(root)
        ? `the ${typeof root.value} ${formatValue(root.value)}`
        : 'an alias';
    faults.push(
      fault(
        placeAt(root.range[0]),
        `the file is ${found}, not a mapping`,
        'begin with `name:`, `description:` and `blocks:`',
      ),
    );
    return { document: undefined, faults };
  }
  const data = readNode(reading, root, 0);
  if (faults.length > 0) return { document: undefined, faults };
  return {
    document: {
      data,
      placeOf: (path, options = {}) => placeAt(findOffset(document, text, path, options)),
      sourceOf: (path) => {
        const node = document.getIn(path, true);
        return isScalar(node) ? (typeof node.value === 'string' ? node.value : node.source) : undefined;
      },
    },
    faults,
  };
}

/** Reports errors of the syntax, and unknown tags. */
function syntaxFaults(
  document: Document.Parsed,
  text: string,
  placeAt: (offset: number) => string,
): readonly Violation[] {
  const all = [...document.errors, ...document.warnings];
  const unquoted = all.findIndex(({ pos }) => isUnquotedReference(text, pos[0]));
  // What follows such a place, and tokens after the first fault, are faults only because of it.
  const own = (unquoted < 0 ? all : all.slice(0, unquoted + 1)).filter(
    ({ message }, index) => index === 0 || !message.includes('token in YAML stream'),
  );
  return own.slice(0, faultsMax).map(({ code, message, pos }, index) => {
    if (index === unquoted) return fault(placeAt(pos[0]), ...unquotedReference);
    const line = text.slice(text.lastIndexOf('\n', pos[0] - 1) + 1, pos[1] + 1);
    const hasTab = code === 'TAB_AS_INDENT' || /^\s*\t/.test(line);
    if (hasTab) return fault(placeAt(pos[0]), 'a tab stands in the indentation', 'indent with spaces');
    // The library overflows the stack on deeply nested lists, and reports where that happened.
    if (message.startsWith('Maximum call stack'))
      return fault(placeAt(pos[0]), 'the file is nested too deep to be read', `nest at most ${depthMax} deep`);
    if (code === 'TAG_RESOLVE_FAILED')
      return fault(placeAt(pos[0]), message.split('\n')[0] ?? message, 'remove the tag; values are plain YAML');
    const fix = indentFix(text, pos[0], code) ?? fixOf(code);
    return fault(placeAt(pos[0]), (message.split('\n')[0] ?? message).slice(0, 300), fix);
  });
}

const unquotedReference = [
  'a reference stands in a text without quotes, so that its { begins a mapping',
  "put the whole text into quotes: '… ${x} …', or '{{ x }} …'",
] as const;

/** Whether a fault of the syntax is in a text with `${x}`, `{{ x }}` or `{% if x %}` that is not quoted. */
function isUnquotedReference(text: string, at: number): boolean {
  const before = text.slice(Math.max(text.lastIndexOf('\n', at - 1) + 1, at - 200), at);
  const [previous, here, next] = [text[at - 1], text[at], text[at + 1]];
  if (here === '{') return previous === '$' || next === '{' || next === '%';
  return (here === '%' && previous === '{') || /\{\{[^{}'"]*\}\}[ \t]*$/.test(before);
}

/** What to say if the indentation is wrong and not the content. */
function indentFix(text: string, at: number, code: string): string | undefined {
  const before = text.slice(0, text.lastIndexOf('\n', at - 1) + 1).trimEnd();
  const last = before.slice(before.lastIndexOf('\n') + 1);
  if (/[|>][-+0-9]*\s*(?:#.*)?$/.test(last) && /:|-/.test(last))
    return 'indent the text below `|` or `>` deeper than its key';
  const isItemPart = code === 'MISSING_CHAR' && /^\s*- /.test(last);
  return isItemPart ? 'indent the line like the first key of its item: two columns behind the `-`' : undefined;
}

function fixOf(code: string): string {
  if (code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'MULTILINE_IMPLICIT_KEY' || code === 'MISSING_CHAR')
    return 'put texts with `: `, `#`, quotes or braces into quotes';
  if (code === 'BAD_INDENT') return 'line up the keys of one mapping';
  if (code === 'BAD_ALIAS') return 'name an anchor that was set before, or put the text into quotes';
  return 'correct the YAML there';
}

function fault(place: string, message: string, fix: string): Violation {
  return shortFault({ rule: 'Y1', severity: 'error', place, message, fix });
}

function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function addFault({ faults, placeAt }: Reading, node: ParsedNode | null, message: string, fix: string): void {
  // Report each place once: the content of an anchor is read again at each alias.
  const found = fault(placeAt(node?.range[0] ?? 0), message, fix);
  if (faults.length < faultsMax && !faults.some(({ place }) => place === found.place)) faults.push(found);
}

function readNode(reading: Reading, node: ParsedNode | null, depth: number): unknown {
  reading.count += 1;
  if (reading.count > valuesMax) {
    if (reading.count === valuesMax + 1)
      addFault(
        reading,
        node,
        `the file has more than ${valuesMax} values once its aliases are written out`,
        'write it without aliases of aliases',
      );
    return null;
  }
  if (depth > depthMax) {
    addFault(reading, node, `nested deeper than ${depthMax}`, 'nest less deep');
    return null;
  }
  if (node === null) return null;
  if (isAlias(node)) return readAlias(reading, node, depth);
  if (node.anchor !== undefined && reading.aliasDepth === 0) reading.anchors.set(node.anchor, node);
  if (isScalar(node)) return readScalar(reading, node);
  if (isSeq(node)) return node.items.map((item) => readNode(reading, item, depth + 1));
  return readMap(reading, node, depth);
}

/** Reads an alias. The anchor's content was read before, so anchors inside of it are not set again. */
function readAlias(reading: Reading, node: Alias.Parsed, depth: number): unknown {
  const target = reading.anchors.get(node.source);
  if (target === undefined) {
    addFault(reading, node, `there is no anchor &${node.source} before`, 'set the anchor first');
    return null;
  }
  reading.aliasDepth += 1;
  const value = readNode(reading, target, depth + 1);
  reading.aliasDepth -= 1;
  return value;
}

function readScalar(reading: Reading, node: Scalar.Parsed): unknown {
  const { value } = node;
  if (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value) &&
    /^[-+]?\d+$/.test(node.source ?? '')
  )
    addFault(reading, node, `the number ${node.source} is too large to be kept exactly`, 'put it into quotes');
  if (typeof value === 'string' && !value.isWellFormed())
    addFault(reading, node, 'the text holds a lone surrogate', 'write whole characters');
  return value;
}

function readMap(reading: Reading, map: YAMLMap.Parsed, depth: number): unknown {
  const entries = new Map<string, unknown>();
  for (const { key, value } of map.items) {
    const name = isScalar(key) ? key.value : undefined;
    if (isMap(key) && key.flow === true && key.range[0] === map.range[0] + 1)
      addFault(reading, map, ...unquotedReference);
    else if (typeof name !== 'string') {
      const what = isScalar(key)
        ? `${formatValue(name)} (${name === null ? 'null' : typeof name})`
        : 'a collection or alias';
      addFault(reading, key, `a key is ${what}, not text`, 'put the key into quotes');
    } else if (name === '<<')
      addFault(
        reading,
        key,
        'merge keys (`<<`) are not part of YAML 1.2',
        'write the keys out, or use an alias for the whole value',
      );
    else if (name === '__proto__') addFault(reading, key, 'the key `__proto__` cannot be used', 'give it another name');
    else if (entries.has(name))
      addFault(reading, key, `the key ${formatValue(name)} stands here a second time`, 'keep one of the two');
    else entries.set(name, readNode(reading, value, depth + 1));
  }
  return Object.fromEntries(entries);
}

type Pair = YAMLMap.Parsed['items'][number];

/** Pairs by key, cached for each mapping, because there may be a fault for each of very many keys. */
const knownPairs = new WeakMap<YAMLMap.Parsed, ReadonlyMap<unknown, Pair>>();

function pairsOf(map: YAMLMap.Parsed): ReadonlyMap<unknown, Pair> {
  const known = knownPairs.get(map);
  if (known !== undefined) return known;
  const pairs = new Map<unknown, Pair>();
  for (const pair of map.items) {
    const name = isScalar(pair.key) ? pair.key.value : undefined;
    if (name !== undefined && !pairs.has(name)) pairs.set(name, pair);
  }
  knownPairs.set(map, pairs);
  return pairs;
}

/** Walks the parsed nodes along a path. Faults are rare, so places are computed only when one is reported. */
function findOffset(
  document: Document.Parsed,
  text: string,
  path: Path,
  { atKey = false, offset }: PlaceOptions,
): number {
  let node: ParsedNode | null = document.contents;
  let at = node?.range[0] ?? 0;
  for (const [depth, step] of path.entries()) {
    const inside: ParsedNode | null = isAlias(node)
      ? ((node.resolve(document) as ParsedNode | undefined) ?? null)
      : node;
    if (isMap(inside)) {
      const pair = pairsOf(inside).get(step);
      if (pair === undefined) return at;
      if (atKey && depth === path.length - 1) return pair.key.range[0];
      at = (pair.value ?? pair.key).range[0];
      node = pair.value;
    } else if (isSeq(inside)) {
      const item = inside.items[Number(step)];
      if (item === undefined) return at;
      at = item.range[0];
      node = item;
    } else return at;
  }
  if (offset === undefined || !isScalar(node)) return at;
  return offsetInScalar(text, node, offset);
}
