/** The block ReadFile: reads one file. It keeps the names of inputs and outputs that older workflows use. */
import { extname, join } from 'node:path';
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import {
  choiceOption,
  type Option,
  fieldsOf,
  flagOption,
  optionFaults,
  outputField,
  requireText,
  textField,
} from '../block-options.ts';
import { type IsGranted, readRegularFile } from '../../file/files.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { pathNeeds, resolveLocalPath } from '../../file/local-path.ts';

// Outlines of texts: headings in Markdown; in other files, lines that look like declarations.

interface Section {
  readonly title: string;
  /** Depth of the section, counted from 1. */
  readonly level: number;
  /** Line number, counted from 1. */
  readonly line: number;
}

/** The most characters examined of a line. */
const lineMax = 500;

export function outlineText(text: string, path: string): readonly Section[] {
  const isMarkdown = /^\.(md|mdx|markdown)$/i.test(extname(path));
  return isMarkdown ? listHeadings(text) : listDeclarations(text);
}

/** Writes one line for each section: its line number, and its title indented by its level. */
export function writeOutline(sections: readonly Section[]): string {
  return sections.map(({ title, level, line }) => `${line}: ${'  '.repeat(level - 1)}${title}`).join('\n');
}

/** Summarizes a text: its size, its first paragraph, and the outermost sections (the first level that has more than one). */
export function summarize(text: string, path: string): string {
  const sections = outlineText(text, path);
  const levels = sections.map(({ level }) => level).sort((a, b) => a - b);
  const deepest = levels.find((level, index) => levels[index + 1] === level) ?? levels.at(-1) ?? 1;
  const first = text
    .split(/\n\s*\n/)
    .map((part) => part.trim())
    .find((part) => part !== '' && !part.startsWith('---'));
  const outline = writeOutline(sections.filter(({ level }) => level <= deepest));
  return [`${countLines(text)} lines`, cut(first ?? '', 600), outline].filter((part) => part !== '').join('\n\n');
}

function countLines(text: string): number {
  return text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** Headings that begin with `#`. Lines inside code fences do not count. */
function listHeadings(text: string): readonly Section[] {
  const sections: Section[] = [];
  let fence = '';
  for (const [index, line] of text.split('\n').entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence === '') fence = mark;
    else if (mark.startsWith(fence)) fence = '';
    const [, marks, rest] = (fence === '' && /^ {0,3}(#{1,6})[ \t]+(.+)$/.exec(line.slice(0, lineMax))) || [];
    const title =
      rest
        ?.trim()
        .replace(/(^|[ \t])#+$/, '')
        .trim() ?? '';
    if (marks !== undefined && title !== '') sections.push({ title, level: marks.length, line: index + 1 });
  }
  return sections;
}

const modifiers =
  'export|default|declare|public|private|protected|internal|static|async|abstract|final|override|sealed|unsafe|inline|pub(?:\\([^)]*\\))?';
const keywords =
  'class|interface|enum|struct|trait|impl|namespace|module|mod|protocol|extension|object|record|def|fn|func|fun|function|sub|type|macro_rules!';
const declaration = new RegExp(`^(\\s*)(?:(?:${modifiers})\\s+)*(?:${keywords})\\b\\*?\\s*\\S`, 'i');
/** Matches declarations of values. They count only if they are not indented. */
const value = /^(?:export\s+)?(?:const|let|var|static|val)\s+\w/;

/**
 * Lines that look like declarations. The level follows from the indentation: a line indented further than the declaration before it belongs
 * to that.
 */
function listDeclarations(text: string): readonly Section[] {
  const sections: Section[] = [];
  const open: number[] = [];
  for (const [index, whole] of text.split('\n').entries()) {
    const line = whole.slice(0, lineMax);
    const indent = declaration.exec(line)?.[1] ?? (value.test(line) ? '' : undefined);
    if (indent === undefined) continue;
    const width = indent.replaceAll('\t', '    ').length;
    while (open.length > 0 && (open.at(-1) ?? 0) >= width) open.pop();
    open.push(width);
    sections.push({ title: cut(line.trim().replace(/\s*[{:(]\s*$/, ''), 120), level: open.length, line: index + 1 });
  }
  return sections;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

// Encodings of text files.

const encodings = ['utf-8', 'utf8', 'utf-16le', 'latin1', 'ascii'] as const;
export type Encoding = (typeof encodings)[number];

export const encodingOption: Option<Encoding> = choiceOption('encoding', 'How text stands in the file.', encodings);

/** The most bytes of one file that a block reads into memory. */
export const fileLimitBytes: number = 32 * 1024 * 1024;

/** Encodes a text. @throws NodeFailure ENCODING a character does not exist in the encoding */
export function encodeText(text: string, encoding: Encoding): Buffer {
  const bytes = Buffer.from(text, encoding);
  const isLossy = encoding === 'ascii' ? /[^\0-\x7f]/.test(text) : bytes.toString(encoding) !== text;
  if (isLossy) refuse(`the text cannot be written as ${encoding}`);
  return bytes;
}

/** Decodes bytes. @throws NodeFailure ENCODING the bytes are not valid in the encoding */
export function decodeBytes(bytes: Buffer, encoding: Encoding): string {
  const text = bytes.toString(encoding);
  const isLossy = encoding === 'ascii' ? bytes.some((byte) => byte > 127) : !Buffer.from(text, encoding).equals(bytes);
  if (isLossy) refuse(`the file is no ${encoding}`);
  return text;
}

function refuse(reason: string): never {
  throw new NodeFailure(reason, { code: 'ENCODING', applied: 'no' });
}

// What ReadFiles returns: the text of each file, and all of them together.

export interface LineRange {
  /** A range of lines, counted from 1; both ends are included. */
  readonly first: number;
  readonly last: number;
}

/** Options of reading. */
export interface Reading {
  readonly mode: 'full' | 'outline' | 'summary';
  /** The most bytes of one file. */
  readonly limitBytes: number;
  readonly encoding: Encoding;
  readonly lines: LineRange | undefined;
  readonly isGranted: IsGranted;
}

interface FileEntry {
  readonly path: string;
  readonly content: string;
  readonly size_bytes: number;
  readonly encoding?: 'base64';
  /** Sections of the file; only in mode `outline`. */
  readonly sections?: readonly Section[];
}

interface SkippedFile {
  readonly path: string;
  readonly reason: string;
  readonly details: string;
}

const reasons: Readonly<Record<string, string>> = { FILE_TOO_LARGE: 'too_large', ENCODING: 'binary' };
const media = /^\.(png|jpe?g|gif|webp|bmp|ico|tiff?|avif|pdf|mp3|wav|ogg|flac|m4a|mp4|webm|mov|avi|mkv)$/i;

/** Reads one file. @throws NodeFailure FILE_TOO_LARGE, NOT_A_FILE, ENCODING, or the code of the operating system */
export async function readEntry(path: string, full: string, reading: Reading): Promise<FileEntry> {
  const bytes = await readRegularFile(full, { limitBytes: reading.limitBytes, isGranted: reading.isGranted });
  const size = { path, size_bytes: bytes.length };
  if (media.test(extname(path))) return { ...size, content: bytes.toString('base64'), encoding: 'base64' };
  const text = decodeBytes(bytes, reading.encoding);
  if (text.includes('\0')) throw new NodeFailure(`${path} is no text`, { code: 'ENCODING', data: { path } });
  if (reading.mode === 'full') return { ...size, content: cutLines(text, reading.lines) };
  if (reading.mode === 'summary') return { ...size, content: summarize(text, path) };
  const sections = outlineText(text, path);
  return { ...size, content: writeOutline(sections), sections };
}

/** Reads several files, up to a maximum number. Files that cannot be read are listed with the reason. */
export async function readEntries(
  folder: string,
  paths: readonly string[],
  countMax: number,
  reading: Reading,
  signal: AbortSignal,
): Promise<{ readonly entries: readonly FileEntry[]; readonly skipped: readonly SkippedFile[] }> {
  const entries: FileEntry[] = [];
  const skipped: SkippedFile[] = [];
  for (const path of paths.slice(0, countMax)) {
    signal.throwIfAborted();
    try {
      entries.push(await readEntry(path, join(folder, path), reading));
    } catch (error) {
      if (!(error instanceof NodeFailure)) throw error;
      skipped.push({ path, reason: reasons[error.code] ?? 'unreadable', details: error.message });
    }
  }
  const [next] = paths.slice(countMax);
  if (next !== undefined)
    skipped.push({ path: next, reason: 'max_files', details: `this and ${paths.length - countMax - 1} more` });
  return { entries, skipped };
}

/** Makes the output of ReadFiles. */
export function describeEntries(
  entries: readonly FileEntry[],
  skipped: readonly SkippedFile[],
  matched: number,
  mode: Reading['mode'],
): object {
  const [first, second] = entries;
  const totalBytes = entries.reduce((sum, entry) => sum + entry.size_bytes, 0);
  const sections = mode === 'outline' && second === undefined ? (first?.sections ?? []) : undefined;
  return {
    content: second === undefined ? (first?.content ?? '') : writeYamlListing(entries),
    files: entries.map(({ sections: _sections, ...entry }) => entry),
    total_files: entries.length,
    total_size_kb: Math.round((totalBytes / 1024) * 100) / 100,
    skipped_files: skipped,
    patterns_matched: matched,
    ...(sections && {
      sections,
      total_sections: sections.length,
      max_depth: Math.max(0, ...sections.map(({ level }) => level)),
    }),
  };
}

function cutLines(text: string, lines: LineRange | undefined): string {
  if (lines === undefined) return text;
  return text
    .split(/(?<=\n)/)
    .slice(lines.first - 1, lines.last)
    .join('');
}

const required = flagOption('required', 'Fail with ENOENT if it is not there.', true);
const options = [encodingOption, required];

/** The `ReadFile` of docs/spec/blocks.md. */
export const readFile: NodeType = {
  name: 'ReadFile',
  description: 'Reads one file. ReadFiles does more.',
  inputs: { path: textField('The file; `~/` is the home folder.', { isRequired: true }), ...fieldsOf(options) },
  outputs: {
    content: outputField('string', 'Its text; empty if it is not there.'),
    path: outputField('string', 'Absolute.'),
    size_bytes: outputField('integer', 'Bytes of the file.'),
    found: outputField('boolean', 'Whether the file is there.'),
  },
  effect: 'read',
  needs: ({ path }) => pathNeeds(path),
  check: (inputs) => optionFaults(options, inputs),
  run: async ({ inputs, signal, isGranted }) => {
    signal.throwIfAborted();
    const path = resolveLocalPath(requireText(inputs, 'path'));
    const isRequired = required.read(inputs);
    const encoding = encodingOption.read(inputs);
    try {
      const reading = { mode: 'full', limitBytes: fileLimitBytes, encoding, lines: undefined, isGranted } as const;
      const { content, size_bytes: sizeBytes } = await readEntry(path, path, reading);
      return { content, path, size_bytes: sizeBytes, found: true };
    } catch (error) {
      if (isRequired || (error as { readonly code?: unknown }).code !== 'ENOENT') throw error;
      return { content: '', path, size_bytes: 0, found: false };
    }
  },
};

// Writes several files as one YAML text: a list `files` of `path` and `content`.

export function writeYamlListing(entries: readonly { readonly path: string; readonly content: string }[]): string {
  const items = entries.map(
    ({ path, content }) => `  - path: ${JSON.stringify(path)}\n    content: ${writeScalar(content)}\n`,
  );
  return `files:\n${items.join('')}`;
}

/** Writes a text as a literal block if YAML can hold it that way; otherwise quoted. */
function writeScalar(text: string): string {
  // A literal block cannot hold control characters, line ends other than `\n`, or lone surrogates.
  const isPlain = !/[^\P{Cc}\n\t]|[\u2028\u2029\ufeff\ufffe\uffff]/u.test(text) && text.isWellFormed();
  if (!isPlain || text.trim() === '') return JSON.stringify(text);
  const isEnded = text.endsWith('\n');
  const chomping = text.endsWith('\n\n') ? '+' : isEnded ? '' : '-';
  const lines = (isEnded ? text.slice(0, -1) : text).split('\n');
  return [`|2${chomping}`, ...lines.map((line) => (line === '' ? '' : `      ${line}`))].join('\n');
}
