/** Outlines of texts: headings in Markdown; in other files, lines that look like declarations. */
import { extname } from 'node:path';

export interface Section {
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
