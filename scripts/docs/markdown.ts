/** What of a Markdown page links need: its headings, with the anchors they get, and its links. Code is passed over. */
import { dirname, join } from 'node:path';

export interface Heading {
  readonly level: number;
  /** Without marks. */
  readonly title: string;
  /** As GitHub and the site name it: `what-came-of-it`, `what-came-of-it-1`. */
  readonly anchor: string;
}

export interface Link {
  readonly target: string;
  /** From 1. */
  readonly line: number;
}

/** The lines of a page, those of code blocks empty. */
export function proseLines(text: string): readonly string[] {
  let fence: string | undefined;
  return text.split('\n').map((line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined && mark === undefined) return line;
    if (fence === undefined) fence = mark;
    else if (mark !== undefined && mark.startsWith(fence)) fence = undefined;
    return '';
  });
}

/** A heading's text as its anchor. */
export function slugOf(title: string): string {
  return title
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

function withoutMarks(text: string): string {
  return text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')
    .trim();
}

export function headingsOf(text: string): readonly Heading[] {
  const seen = new Map<string, number>();
  return proseLines(text).flatMap((line) => {
    const [, marks, rest] = /^(#{1,6}) +(.*?)(?: +#+)?$/.exec(line) ?? [];
    if (marks === undefined || rest === undefined) return [];
    const title = withoutMarks(rest);
    const slug = slugOf(title);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return [{ level: marks.length, title, anchor: count === 0 ? slug : `${slug}-${count}` }];
  });
}

/** Links and images, `[text](target)`; what stands in code is none. */
export function linksOf(text: string): readonly Link[] {
  return proseLines(text).flatMap((line, index) =>
    [...line.replace(/(`+)(?:.*?)\1/g, (code) => ' '.repeat(code.length)).matchAll(/\]\(([^)\s]+)\)/g)].map(
      ([, target = '']) => ({ target, line: index + 1 }),
    ),
  );
}

/** Where the files of the project can be looked at by who has the package alone. */
export const filesUrl = 'https://github.com/cairn-workflows/cairn/blob/main';

/**
 * The file of the project that a link leads to: by its path from the page's folder, or, from pages that are packed to files that are not,
 * by its address.
 *
 * @param page - path from the root
 * @returns the path from the root, and the heading; undefined: a link to the web
 */
export function fileOfLink(
  page: string,
  target: string,
): { readonly file: string; readonly anchor: string | undefined } | undefined {
  const isHere = target.startsWith(`${filesUrl}/`);
  if (!isHere && /^[a-z][a-z0-9+.-]*:/i.test(target)) return undefined;
  const [path = '', anchor] = decodeURI(isHere ? target.slice(filesUrl.length + 1) : target).split('#');
  if (path === '') return { file: page, anchor };
  return { file: isHere ? path : join(dirname(page), path), anchor };
}
