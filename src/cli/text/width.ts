/** How many columns a text takes on a terminal, and how to make it fit. */
import widthOfText from 'fast-string-width';

let segmenter: Intl.Segmenter | undefined;

/** The characters of a text as a reader counts them: an emoji of several code points is one. */
function charactersOf(text: string): readonly string[] {
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Columns of a printable text; its colours take none. */
export function widthOf(text: string): number {
  return widthOfText(text);
}

/** Cuts a text without colours to a width, with `…` where something is missing. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  return width > 0 ? `${cut(text, width - 1)[0] ?? ''}…` : '';
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** Cuts a text into pieces of at most a width; the first is empty where not even one character has room. */
function cut(text: string, width: number): readonly string[] {
  if (widthOf(text) <= width) return [text];
  const pieces = [''];
  let used = 0;
  for (const character of charactersOf(text)) {
    const size = widthOf(character);
    used += size;
    if (used > width) {
      pieces.push('');
      used = size;
    }
    pieces[pieces.length - 1] += character;
  }
  return pieces;
}

/** Columns that remain for the text of a line, however far it is indented. */
const leastText = 8;

/** Breaks a text into lines of at most a width, between words where it can. What a line is indented by, its parts are too. */
export function wrap(text: string, width: number): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const bare = line.trimStart();
    const indent = line.slice(0, Math.max(0, Math.min(line.length - bare.length, width - leastText)));
    return wrapLine(bare, width - indent.length).map((part) => `${indent}${part}`);
  });
}

function wrapLine(line: string, width: number): readonly string[] {
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(' ').flatMap((part) => cut(part, width))) {
    const longer = current === '' ? word : `${current} ${word}`;
    if (current !== '' && widthOf(longer) > width) lines.push(current);
    current = current !== '' && widthOf(longer) > width ? word : longer;
  }
  return [...lines, current];
}
